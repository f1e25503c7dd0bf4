"""Rows that wait on disk, and rows taken by position."""

import gc
import os
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.errors import StorageError
from pyhudi.logfile.merge.row_file import BATCH_ROWS, RowFile, in_large_batches, rows_at

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string()), ("list", pa.list_(pa.int32()))])


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    values = [[n if n % 7 else None for n in numbers], [f"row {n}" for n in numbers]]
    return pa.Table.from_arrays(
        [*map(pa.array, values), pa.array([[n] * (n % 3) for n in numbers], pa.list_(pa.int32()))],
        schema=SCHEMA,
    )


def open_files() -> list[str]:
    return [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    first, second = rows(0, 10), rows(10, 3)
    with RowFile(SCHEMA, str(tmp_path)) as file:
        assert file.append(first) == range(1)
        assert file.append(SCHEMA.empty_table()) == range(1, 1)
        assert file.append(pa.concat_tables([second, first])) == range(1, 2)
        batches = file.mapped()
    assert pa.Table.from_batches(batches[:1]) == first
    assert pa.Table.from_batches(batches[1:]) == pa.concat_tables([second, first])


def test_many_rows_are_cut_into_batches(tmp_path: Path) -> None:
    numbers = pa.table({"n": np.arange(2 * BATCH_ROWS + 1)})
    with RowFile(numbers.schema, str(tmp_path)) as file:
        assert file.append(numbers) == range(3)
        assert [batch.num_rows for batch in file.mapped()] == [BATCH_ROWS, BATCH_ROWS, 1]


def test_a_file_without_rows_has_no_batches(tmp_path: Path) -> None:
    with RowFile(SCHEMA, str(tmp_path)) as file:
        assert file.mapped() == ()


def test_the_folder_shows_nothing_and_the_disk_is_given_back(tmp_path: Path) -> None:
    with RowFile(SCHEMA, str(tmp_path)) as file:
        file.append(rows(0, 100))
        batches = file.mapped()
        assert list(tmp_path.iterdir()) == []
    assert batches[0].num_rows == 100
    del file, batches
    gc.collect()
    assert not any(str(tmp_path) in name for name in open_files())
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_values_are_pages_of_the_file_and_not_copied(tmp_path: Path) -> None:
    with RowFile(SCHEMA, str(tmp_path)) as file:
        file.append(rows(0, 50_000))
        before = pa.total_allocated_bytes()
        batches = file.mapped()
        assert pa.total_allocated_bytes() - before < 10_000
        rows_at(pa.Table.from_batches(batches), np.array([1, 49_999]))
        assert pa.total_allocated_bytes() - before < 10_000


def test_a_folder_that_is_not_there_is_told_with_the_options(tmp_path: Path) -> None:
    match = r"cannot be put aside in .*/no: .*hoodie\.memory\.spillable\.map\.path, or .*merge\.max"
    with pytest.raises(StorageError, match=match):
        RowFile(SCHEMA, str(tmp_path / "no"))


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RowFile(SCHEMA, str(tmp_path)) as file:

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(
            file, "_writer", type("Full", (), {"write_batch": fail, "close": fail})()
        )
        with pytest.raises(StorageError, match="No space left"):
            file.append(rows(0, 1))
        with pytest.raises(StorageError, match="No space left"):
            file.mapped()


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_taken_from_many_batches_as_from_one(seed: int) -> None:
    chance = random.Random(seed)
    sizes = [chance.choice([0, 1, 5, 30]) for _ in range(chance.randint(1, 8))]
    starts = np.cumsum([0, *sizes])
    table = pa.concat_tables(
        [SCHEMA.empty_table(), *(rows(int(s), n) for s, n in zip(starts, sizes, strict=False))]
    )
    count = chance.randint(0, 40) if table.num_rows else 0
    positions = np.array([chance.randrange(table.num_rows) for _ in range(count)], dtype=np.int64)
    if chance.random() < 0.5:
        positions = np.sort(positions)
    assert rows_at(table, positions) == table.take(pa.array(positions, pa.int64()))


def test_small_batches_are_put_together_and_large_ones_left() -> None:
    small = pa.concat_tables([rows(n, 1) for n in range(10)])
    found = in_large_batches(small)
    assert (found, found.column("n").num_chunks) == (small, 1)
    large = pa.concat_tables([rows(0, 5_000), rows(5_000, 5_000)])
    assert in_large_batches(large) is large
    assert in_large_batches(pa.schema([]).empty_table()).num_columns == 0
