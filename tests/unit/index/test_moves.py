"""What becomes of records whose partition changed, rule by rule."""

from typing import Any

import pyarrow as pa
import pytest

from pyhudi.basefile.parquet import BATCH_ROWS
from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.moves import RelocationContext, relocate_stored
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import PARTITION_PATH, RECORD_KEY, with_meta, with_meta_avro
from pyhudi.write.files.create import create_files
from tests.support.memory import MemoryStorage
from tests.support.tasks import COMMIT_TIME, EVENT_TIME, PARTIAL, job_on, task

DATA = pa.schema(
    {"id": pa.string(), "part": pa.string(), "ts": pa.int64(), "a": pa.string(), "b": pa.string()}
)
AVRO = with_meta_avro(arrow_to_avro(DATA, "moves"))
GENERATOR = KeyGenerator(
    record_key_fields=("id",),
    partition_fields=("part",),
    key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
)

Line = tuple[str, str, int, str | None, str | None]


def rows(*lines: Line) -> pa.Table:
    columns = list(zip(*lines, strict=True)) if lines else [[]] * len(DATA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, DATA, strict=True)]
    return pa.Table.from_arrays([arrays[0], *arrays], names=[RECORD_KEY, *DATA.names])


def incoming(*lines: Line) -> pa.Table:
    table = rows(*lines)
    return table.append_column(PARTITION_PATH, table.column("part"))


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def file(storage: MemoryStorage) -> BaseFile:
    stored = [(f"k{n}", "old", 5, "stored", f"b{n}") for n in range(6)]
    return file_with(storage, *stored)


def file_with(storage: MemoryStorage, *stored: Line, **more: Any) -> BaseFile:
    columns = {"schema": with_meta(DATA), "avro_schema": AVRO}
    job = job_on(storage, "20260102030405678", **columns, **more)
    (stat,) = create_files(job, task(), partition="old", file_id="f-0", rows=rows(*stored))
    found = BaseFile.of("old", (stat.path or "").rpartition("/")[2], 1)
    assert found is not None
    return found


def moving(storage: MemoryStorage, rule: MergeRule) -> RelocationContext:
    fixed = {"schema": with_meta(DATA), "generator": GENERATOR, "is_combining": True}
    return RelocationContext(storage=storage, rule=rule, **fixed)


def lines(table: pa.Table) -> list[Line]:
    return [tuple(row.values()) for row in table.select(DATA.names).to_pylist()]  # type: ignore[misc]


def test_rows_of_the_files_own_partition_are_updates_as_ever(storage, file) -> None:
    batch = incoming(("k2", "old", 1, "x", None), ("k0", "new", 9, "x", None))
    found = relocate_stored(moving(storage, EVENT_TIME), file, batch)
    assert lines(found.updates) == [("k2", "old", 1, "x", None)]
    assert found.moved_keys.to_pylist() == ["k0"]


def test_of_a_key_in_several_partitions_the_newest_row_counts(storage, file) -> None:
    batch = incoming(
        ("k0", "new", 7, "x", None),
        ("k0", "old", 8, "y", None),
        ("k1", "old", 7, "x", None),
        ("k1", "new", 8, "y", None),
    )
    found = relocate_stored(moving(storage, EVENT_TIME), file, batch)
    assert lines(found.updates) == [("k0", "old", 8, "y", None)]
    assert found.moved_keys.to_pylist() == ["k1"]
    assert lines(found.inserts) == [("k1", "new", 8, "y", None)]


def test_without_an_ordering_every_record_moves_and_no_file_is_read(storage, file) -> None:
    storage.files.clear()
    found = relocate_stored(moving(storage, COMMIT_TIME), file, incoming(("k0", "n", 1, "x", None)))
    assert found.moved_keys.to_pylist() == ["k0"]
    assert lines(found.inserts) == [("k0", "n", 1, "x", None)]


def test_a_merged_row_takes_what_it_lacks_along(storage, file) -> None:
    batch = incoming(("k0", "new", 9, "x", None), ("k1", "new", 1, "x", "late"))
    found = relocate_stored(moving(storage, PARTIAL), file, batch)
    assert lines(found.inserts) == [("k0", "new", 9, "x", "b0")]
    # The stored row is the newer one: its partition is that of the merged row, which replaces it.
    assert lines(found.updates) == [("k1", "old", 5, "stored", "b1")]
    assert sorted(found.moved_keys.to_pylist()) == ["k0", "k1"]


def test_of_a_key_that_is_stored_twice_the_first_row_counts(storage) -> None:
    """In one batch of stored rows, and in two."""
    first, second = (("k0", "old", 5, "stored", text) for text in ("b0", "second"))
    others = [(f"m{n}", "old", 5, None, None) for n in range(BATCH_ROWS)]
    for stored in ((first, second), (first, *others, second)):
        storage.files.clear()
        twice = file_with(storage, *stored, combine_batch=False, max_file_size_bytes=1 << 30)
        batch = incoming(("k0", "new", 9, "x", None), ("k1", "new", 9, "x", None))
        found = relocate_stored(moving(storage, PARTIAL), twice, batch)
        assert lines(found.inserts)[0] == ("k0", "new", 9, "x", "b0")
        assert found.moved_keys.to_pylist().count("k0") == 1


def test_a_delete_goes_where_the_record_is(storage, file) -> None:
    batch = incoming(("k0", "new", 9, "x", None))
    batch = batch.append_column("_hoodie_is_deleted", pa.array([True]))
    found = relocate_stored(moving(storage, EVENT_TIME), file, batch)
    assert (found.updates.num_rows, found.inserts.num_rows, len(found.moved_keys)) == (1, 0, 0)
