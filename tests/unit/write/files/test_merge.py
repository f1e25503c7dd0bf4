"""The next version of a file, held against a plain statement of what it must hold."""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.keys import key_positions as key_places
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import RECORD_KEY, with_meta, with_meta_avro
from pyhudi.write.files import merge
from pyhudi.write.files.merge import merge_file
from tests.support import merging_memory
from tests.support.memory import MemoryStorage
from tests.support.source_tree import run_python
from tests.support.tasks import (
    COMMIT_TIME,
    DATA,
    EVENT_TIME,
    create_file,
    file_of,
    job_on,
    stored,
    task,
)

OLD_INSTANT, NEW_INSTANT = "20260101000000000", "20260102000000000"
MARKED = DATA.append(pa.field("_hoodie_is_deleted", pa.bool_()))


class Row(NamedTuple):
    """One row; ``gone`` marks it deleted."""

    key: str
    ts: int
    value: str
    gone: bool | None = None


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "BATCH_ROWS", 3)
    monkeypatch.setattr(key_places, "MANY_KEYS", 3)


def table_of(rows: list[Row]) -> pa.Table:
    keys = pa.array([row.key for row in rows], pa.string())
    columns = [
        keys,
        keys,
        pa.array([row.ts for row in rows], pa.int64()),
        pa.array([row.value for row in rows], pa.string()),
        pa.array([row.gone for row in rows], pa.bool_()),
    ]
    return pa.Table.from_arrays(columns, names=[RECORD_KEY, *MARKED.names])


def settings_of(**more: object) -> dict[str, object]:
    return {
        "schema": with_meta(MARKED),
        "avro_schema": with_meta_avro(arrow_to_avro(MARKED, "plain")),
        **more,
    }


def written(storage: MemoryStorage, rows: list[Row]) -> BaseFile:
    job = job_on(storage, OLD_INSTANT, **settings_of(combine_batch=False))
    return file_of(create_file(job, table_of(rows)))


def merged(
    old: list[Row], new: list[Row], moved_keys: pa.Array | None = None, **more: object
) -> tuple[WriteStat, list[dict[str, object]]]:
    """Rows merged with those of a file: what is said of it, and what is in the next file."""
    storage = MemoryStorage()
    base = written(storage, old)
    job = job_on(storage, NEW_INSTANT, **settings_of(**more))
    stat = merge_file(job, task(), base, table_of(new), moved_keys)
    return stat, rows_in(storage, stat.path)


def rows_in(storage: MemoryStorage, path: str | None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = stored(storage, path).to_pylist()
    return found


def survivors(batch: list[Row], *, by_time: bool) -> dict[str, Row]:
    best: dict[str, Row] = {}
    for row in batch:
        if row.key not in best or not by_time or row.ts >= best[row.key].ts:
            best.pop(row.key, None)
            best[row.key] = row
    return best


KEYS = st.sampled_from("abcdefghij")
OLD_ROWS = st.lists(
    st.builds(Row, KEYS, st.integers(0, 3), st.just("old"), st.none()),
    min_size=1,
    max_size=10,
    unique_by=lambda row: row.key,
)
FLAGS = st.sampled_from([None, False, True])
BATCH = st.lists(st.builds(Row, KEYS, st.integers(0, 3), st.text(max_size=2), FLAGS), min_size=1)


@settings(max_examples=60)
@given(OLD_ROWS, BATCH, st.booleans(), st.booleans())
def test_a_merge_agrees_with_a_plain_statement_of_the_rules(old, batch, by_time, combines):
    rule = EVENT_TIME if by_time else COMMIT_TIME
    stat, found = merged(old, batch, rule=rule, combine_batch=combines)
    stored = {row.key: row for row in old}
    counts = {"updated": 0, "inserted": 0, "deleted": 0, "ignored": 0}
    expected = dict(stored)
    for key, row in survivors(batch, by_time=by_time).items():
        if key in stored and by_time and row.ts < stored[key].ts:
            counts["ignored"] += 1
            continue
        is_known = key in stored
        if row.gone:
            counts["deleted"] += 1
            expected.pop(key, None)
        else:
            counts["updated" if is_known else "inserted"] += 1
            expected[key] = row
    assert {row["id"]: (row["ts"], row["value"]) for row in found} == {
        key: (row.ts, row.value) for key, row in expected.items()
    }
    assert len(found) == len(expected) == stat.num_writes
    told = (stat.num_update_writes, stat.num_inserts, stat.num_deletes, stat.num_ignored)
    assert told == tuple(counts.values())
    check_meta_columns(found, stored, expected, stat.path or "")


def check_meta_columns(found, stored, expected, path: str) -> None:
    for row in found:
        is_kept = expected[row["id"]] is stored.get(row["id"])
        assert row["_hoodie_commit_time"] == (OLD_INSTANT if is_kept else NEW_INSTANT)
        assert row["_hoodie_commit_seqno"].startswith(row["_hoodie_commit_time"])
        assert row["_hoodie_file_name"] == path.split("/")[-1]
        assert (row["_hoodie_record_key"], row["_hoodie_partition_path"]) == (row["id"], "p")
    numbers = [row["_hoodie_commit_seqno"] for row in found]
    assert len(set(numbers)) == len(numbers)


@settings(max_examples=30)
@given(OLD_ROWS, st.lists(KEYS, min_size=1))
def test_a_delete_takes_its_keys_and_nothing_else(old, keys):
    storage = MemoryStorage()
    base = written(storage, old)
    job = job_on(storage, NEW_INSTANT, **settings_of(is_deleting=True))
    stat = merge_file(job, task(), base, pa.table({RECORD_KEY: pa.array(keys)}))
    kept = [row.key for row in old if row.key not in keys]
    assert [row["id"] for row in rows_in(storage, stat.path)] == kept
    assert stat.num_deletes == len(old) - len(kept)
    assert (stat.num_inserts, stat.num_update_writes) == (0, 0)


def test_old_rows_keep_their_order_and_new_ones_come_last():
    old = [Row(key, 1, "old") for key in "gfedcba"]
    _, found = merged(old, [Row("z", 1, "n"), Row("f", 2, "n"), Row("y", 1, "n")])
    # By batches of three: what is kept of it, then what is replaced in it.
    assert [row["id"] for row in found] == ["g", "e", "f", "d", "c", "b", "a", "z", "y"]


def test_an_insert_may_lie_beside_a_row_of_its_key():
    new = [Row("a", 0, "1"), Row("a", 0, "2")]
    stat, found = merged([Row("a", 1, "old")], new, is_concatenating=True, combine_batch=False)
    assert [row["value"] for row in found] == ["old", "1", "2"]
    assert (stat.num_inserts, stat.num_update_writes) == (2, 0)


def test_the_statistics_and_the_footer_are_those_of_the_file():
    storage = MemoryStorage()
    base = written(storage, [Row("b", 1, "old"), Row("c", 1, "old")])
    job = job_on(storage, NEW_INSTANT, **settings_of())
    stat = merge_file(job, task(4), base, table_of([Row("a", 1, "n"), Row("c", 2, "n")]))
    assert stat.path == f"p/f-0_4-1-0_{NEW_INSTANT}.parquet"
    assert (stat.prev_commit, stat.file_id, stat.partition_path) == (OLD_INSTANT, "f-0", "p")
    assert stat.file_size_bytes == len(storage.files[stat.path]) == stat.total_write_bytes
    with storage.open_input(stat.path) as source:
        footer = ParquetReader(source).footer
    assert (footer.min_key, footer.max_key) == ("a", "c")
    bloom = footer.bloom_filter()
    assert bloom is not None
    is_in = bloom.contains(pa.array(["a", "b", "c", "nothing"])).to_pylist()
    assert is_in == [True, True, True, False]
    assert f".hoodie/.temp/{NEW_INSTANT}/{stat.path}.marker.MERGE" in storage.files


def test_a_file_that_cannot_be_read_is_named_and_nothing_is_left():
    storage = MemoryStorage()
    base = written(storage, [Row("a", 1, "old")])
    storage.put(base.path, b"no parquet file")
    job = job_on(storage, NEW_INSTANT, **settings_of())
    with pytest.raises(CorruptTableError, match=base.path):
        merge_file(job, task(), base, table_of([Row("a", 2, "n")]))
    assert [path for path in storage.files if NEW_INSTANT in path] == []


def test_rows_of_an_older_schema_get_nulls_for_what_they_lack():
    storage = MemoryStorage()
    job = job_on(storage, OLD_INSTANT)
    narrow = table_of([Row("a", 1, "old"), Row("b", 1, "old")]).drop_columns(["_hoodie_is_deleted"])
    base = file_of(create_file(job, narrow))
    job = job_on(storage, NEW_INSTANT, **settings_of())
    stat = merge_file(job, task(), base, table_of([Row("a", 2, "new", False)]))
    found = rows_in(storage, stat.path)
    assert [(row["id"], row["_hoodie_is_deleted"]) for row in found] == [("b", None), ("a", False)]


def test_rows_that_leave_are_counted_as_deleted():
    moved_keys = pa.array(["a", "c", "elsewhere"])
    stat, found = merged([Row(key, 0, "old") for key in "abc"], [Row("b", 1, "new")], moved_keys)
    assert {row["id"]: row["value"] for row in found} == {"b": "new"}
    assert (stat.num_deletes, stat.num_update_writes, stat.num_writes) == (2, 1, 1)


def test_memory_does_not_grow_with_the_file_that_is_merged(tmp_path: Path) -> None:
    sizes, peaks = [], []
    for row_groups in (8, 40):
        path = str(tmp_path / f"{row_groups}")
        sizes.append(merging_memory.make_table(path, row_groups))
        done = run_python("-m", "tests.support.merging_memory", path)
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.1 * peaks[0] < sizes[1] / 4
