"""What a write leaves in the log of a file group."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.logs import LogConfig, LogDataFormat
from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.slices import AppendTarget
from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.deletes.blocks import Deletes
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.transaction.markers import MarkerType, delete_strays, read_markers
from pyhudi.write.files import append
from pyhudi.write.files.append import append_rows
from tests.support.memory import MemoryStorage
from tests.support.record_positions import base_instant_of, positions_in
from tests.support.tasks import COMMIT_TIME, EVENT_TIME, incoming, job_on, task

AT = "20260102000000000"
PLACE = AppendTarget(
    partition="p",
    file_id="f-0",
    base_instant="20260101000000000",
    next_version=3,
    base_file="f-0_0-1-2_20260101000000000.parquet",
    log_files=(".f-0_20260101000000000.log.2_0-5-6",),
)
NEW_PLACE = AppendTarget(partition="p", file_id="f-0", base_instant="")
NAME = ".f-0_20260101000000000.log.{}_0-1-0"


def appended(rows: pa.Table, **settings: Any) -> tuple[MemoryStorage, WriteStat]:
    """A storage after a task that wrote one log file, and what it says of that."""
    storage = MemoryStorage()
    (stat,) = append_rows(job_on(storage, AT, **settings), task(), PLACE, rows)
    return storage, stat


def batch(count: int, value: str = "v") -> pa.Table:
    return incoming({f"k{number:05d}": (number, value) for number in range(count)})


def marked(*rows: tuple[str, int, bool]) -> pa.Table:
    keys, times, gone = zip(*rows, strict=True)
    found = incoming({key: (ts, "v") for key, ts in zip(keys, times, strict=True)})
    return found.append_column("_hoodie_is_deleted", pa.array(gone))


def blocks_in(storage: MemoryStorage, path: str) -> list[tuple[Block, bytes]]:
    source = pa.BufferReader(storage.files[path])
    return [(block, block.read(source)) for block in iter_blocks(source, path)]


def rows_in(storage: MemoryStorage, path: str) -> list[dict]:
    source = pa.BufferReader(storage.files[path])
    blocks = [each for each in iter_blocks(source, path) if each.kind is not BlockKind.DELETE]
    found = [rows for block in blocks for rows in iter_rows(block, source)]
    return [row for rows in found for row in rows.to_pylist()]


def deletes_in(storage: MemoryStorage, stat: WriteStat) -> Deletes:
    source = pa.BufferReader(storage.files[stat.path or ""])
    (block,) = iter_blocks(source, "log")
    return read_deletes(block, source)


@pytest.mark.parametrize("kind", list(LogDataFormat))
def test_rows_lie_in_the_next_log_file_with_their_meta_columns(kind: LogDataFormat) -> None:
    storage, stat = appended(batch(3), logs=LogConfig(data_format=kind))
    assert stat.path == f"p/{NAME.format(3)}"
    found = rows_in(storage, stat.path)
    own = [(row["id"], row["ts"], row["value"]) for row in found]
    assert own == [(f"k{n:05d}", n, "v") for n in range(3)]
    assert [row["_hoodie_commit_seqno"] for row in found] == [f"{AT}_0_{n}" for n in range(3)]
    names = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name")
    assert {tuple(row[name] for name in names) for row in found} == {(AT, "p", "f-0")}


def test_statistics_say_what_was_appended_and_to_what() -> None:
    storage, stat = appended(batch(3))
    size = len(storage.files[stat.path or ""])
    counts = stat.num_writes, stat.num_update_writes, stat.num_inserts, stat.num_deletes
    assert counts == (3, 3, 0, 0)
    assert (stat.file_size_bytes, stat.total_write_bytes) == (size, size)
    assert (stat.prev_commit, stat.base_file) == (PLACE.base_instant, PLACE.base_file)
    assert stat.log_version == 3
    assert stat.log_files == (*PLACE.log_files, NAME.format(3))
    assert stat.to_json()["logFiles"] == list(stat.log_files)


def test_each_log_file_is_marked_before_it_is_made() -> None:
    storage, _ = appended(batch(1))
    (marker,) = read_markers(storage, AT)
    assert (marker.path, marker.kind) == (f"p/{NAME.format(3)}", MarkerType.APPEND)


def test_blocks_end_at_their_size_and_deletes_come_last() -> None:
    rows = marked(*((f"k{number:03d}", number, number % 10 == 0) for number in range(100)))
    storage, stat = appended(rows, logs=LogConfig(block_size=2_000))
    found = blocks_in(storage, stat.path or "")
    kinds = [block.kind for block, _ in found]
    assert kinds == [BlockKind.AVRO] * (len(kinds) - 1) + [BlockKind.DELETE]
    sizes = [len(content) for block, content in found if block.kind is BlockKind.AVRO]
    assert len(sizes) > 3
    assert all(1_500 < size < 2_500 for size in sizes[:-1])
    assert {block.instant for block, _ in found} == {AT}
    assert (stat.num_writes, stat.num_deletes) == (90, 10)


def test_rows_are_numbered_on_from_chunk_to_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "_CHUNK_ROWS", 2)
    storage, stat = appended(batch(5))
    found = rows_in(storage, stat.path or "")
    assert [row["_hoodie_commit_seqno"] for row in found] == [f"{AT}_0_{n}" for n in range(5)]


def test_blocks_get_fewer_rows_when_rows_get_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "_CHUNK_ROWS", 10)
    size = 20_000
    rows = incoming({f"k{n:05d}": (n, "v" * (1 if n < 100 else 1_000)) for n in range(400)})
    storage, stat = appended(rows, logs=LogConfig(block_size=size))
    sizes = [len(content) for _, content in blocks_in(storage, stat.path or "")]
    # The average follows within some chunks; by the first rows alone a block would take 180 KB.
    assert max(sizes) < 4 * size
    assert max(sizes[3:]) < 1.5 * size


def test_a_log_file_that_is_full_is_followed_by_another() -> None:
    storage = MemoryStorage()
    job = job_on(storage, AT, logs=LogConfig(block_size=1_000, file_size=3_000))
    stats = append_rows(job, task(), PLACE, batch(200))
    assert [stat.log_version for stat in stats] == list(range(3, 3 + len(stats)))
    assert len(stats) > 2
    assert sum(stat.num_writes for stat in stats) == 200
    assert all(stat.file_size_bytes > 3_000 for stat in stats[:-1])
    keys = [row["id"] for stat in stats for row in rows_in(storage, stat.path or "")]
    assert keys == [f"k{number:05d}" for number in range(200)]
    names = tuple(NAME.format(stat.log_version) for stat in stats)
    assert stats[-1].log_files == PLACE.log_files + names


@pytest.mark.parametrize("by_time", [True, False])
def test_deletes_keep_their_ordering_values_where_the_rule_compares_them(by_time: bool) -> None:
    rows = marked(("a", 7, True), ("b", 8, True))
    deletes = deletes_in(*appended(rows, rule=EVENT_TIME if by_time else COMMIT_TIME))
    assert (deletes.keys.to_pylist(), deletes.partitions.to_pylist()) == (["a", "b"], ["p", "p"])
    (values,) = deletes.orderings.values()
    assert values.to_pylist() == ([7, 8] if by_time else [0, 0])


def test_keys_that_leave_and_deleted_keys_go_whatever_is_stored() -> None:
    storage = MemoryStorage()
    job = job_on(storage, AT, is_deleting=True)
    gone = pa.table({RECORD_KEY: pa.array(["a", "b"])})
    (stat,) = append_rows(job, task(), PLACE, gone, moved_keys=pa.array(["z"]))
    deletes = deletes_in(storage, stat)
    assert deletes.keys.to_pylist() == ["z", "a", "b"]
    assert {kind: values.to_pylist() for kind, values in deletes.orderings.items()} == {2: [0] * 3}
    assert stat.num_deletes == 3


def test_a_write_that_fails_midway_leaves_no_log_file() -> None:
    storage = MemoryStorage()
    schema = {"type": "record", "name": "r", "fields": [{"name": "value", "type": "long"}]}
    job = job_on(storage, AT, avro_schema=schema, logs=LogConfig(block_size=1))
    bad = batch(3).set_column(3, "value", pa.array(["x", None, "y"]))
    with pytest.raises(Exception, match="value"):
        append_rows(job, task(), PLACE, bad)
    assert [path for path in storage.files if ".log." in path and ".temp" not in path] == []


@pytest.mark.parametrize("version", [TableVersion.EIGHT, TableVersion.NINE])
@pytest.mark.parametrize("place", [PLACE, NEW_PLACE], ids=["a slice", "a new slice"])
def test_in_later_versions_a_write_begins_a_log_of_its_own_name(
    version: TableVersion, place: AppendTarget
) -> None:
    storage = MemoryStorage()
    job = job_on(storage, AT, version=version, logs=LogConfig(block_size=1_000, file_size=3_000))
    stats = append_rows(job, task(), place, batch(100))
    names = [f".f-0_{AT}.log.{number}_0-1-0" for number in range(1, len(stats) + 1)]
    assert len(stats) > 1
    assert [stat.path for stat in stats] == [f"p/{name}" for name in names]
    assert {(stat.prev_commit, stat.base_file) for stat in stats} == {(AT, "")}
    assert stats[0].log_files == (names[0],)
    assert [stat.log_version for stat in stats] == list(range(1, len(stats) + 1))
    marked = read_markers(storage, AT)
    assert [(each.path, each.kind) for each in marked] == [
        (f"p/{name}", MarkerType.CREATE) for name in names
    ]
    assert storage.exists("p/.hoodie_partition_metadata") == (place is NEW_PLACE)


def test_logs_that_a_dead_attempt_of_later_versions_left_are_strays() -> None:
    storage = MemoryStorage()
    job = job_on(storage, AT, version=TableVersion.NINE)
    (first,) = append_rows(job, task(attempt=0), PLACE, batch(1))
    (second,) = append_rows(job, task(attempt=1), PLACE, batch(1))
    strays = delete_strays(storage, AT, read_markers(storage, AT), {second.path})
    assert strays == (first.path,)
    assert not storage.exists(first.path)
    assert storage.exists(second.path)


def placed(
    rows: pa.Table, stored_rows: list[int], *, moved: list[str] | None = None, **settings: Any
) -> list[tuple[BlockKind, list[str], list[int] | None]]:
    """The blocks of a write of version 9: kind, keys and positions."""
    storage = MemoryStorage()
    job = job_on(storage, AT, version=TableVersion.NINE, **settings)
    gone = None if moved is None else pa.array(moved)
    places = np.array(stored_rows, dtype=np.int64)
    stats = append_rows(job, task(), PLACE, rows, moved_keys=gone, stored_rows=places)
    found = []
    for stat in stats:
        source = pa.BufferReader(storage.files[stat.path or ""])
        for block in iter_blocks(source, "log"):
            positions = positions_in(block)
            assert base_instant_of(block) == (None if positions is None else "20260101000000000")
            if block.kind is BlockKind.DELETE:
                keys = read_deletes(block, source).keys.to_pylist()
            else:
                parts = list(iter_rows(block, source))
                keys = [key for rows in parts for key in rows.column(RECORD_KEY).to_pylist()]
            found.append((block.kind, keys, positions))
    return found


@pytest.mark.parametrize("kind", list(LogDataFormat))
def test_records_are_in_the_order_of_the_stored_rows_which_their_blocks_name(
    kind: LogDataFormat,
) -> None:
    rows = marked(("a", 1, False), ("b", 1, True), ("c", 1, False), ("d", 1, True), ("e", 1, False))
    data = BlockKind.AVRO if kind is LogDataFormat.AVRO else BlockKind.PARQUET
    assert placed(rows, [7, 6, 5, 0, 70_000], logs=LogConfig(data_format=kind)) == [
        (data, ["c", "a", "e"], [5, 7, 70_000]),
        (BlockKind.DELETE, ["d", "b"], [0, 6]),
    ]


def test_each_of_several_blocks_names_the_rows_of_its_own_records() -> None:
    count = 200
    order = [(7 * number) % count for number in range(count)]
    blocks = placed(batch(count), order, logs=LogConfig(block_size=1_000, file_size=3_000))
    assert len(blocks) > 3
    assert [place for _, _, positions in blocks for place in positions or []] == [*range(count)]
    key_of = {place: f"k{number:05d}" for number, place in enumerate(order)}
    for _, keys, positions in blocks:
        assert keys == [key_of[place] for place in positions or []]


def test_rows_of_one_key_that_become_one_have_one_position() -> None:
    rows = pa.concat_tables([batch(3), batch(3, "w")])
    ((_, keys, positions),) = placed(rows, [2, 0, 1, 2, 0, 1])
    assert (keys, positions) == (["k00001", "k00002", "k00000"], [0, 1, 2])


def test_a_block_names_no_rows_unless_each_record_has_one_of_its_own() -> None:
    unknown = placed(batch(3), [0, -2, 1])
    assert [(keys[0], positions) for _, keys, positions in unknown] == [("k00000", None)]
    twice = pa.concat_tables([batch(1), batch(1, "w")])
    ((_, keys, positions),) = placed(twice, [4, 4], combine_batch=False)
    assert (keys, positions) == (["k00000", "k00000"], None)
    rows = marked(("a", 1, False), ("b", 1, True))
    assert placed(rows, [1, 0], moved=["z"]) == [
        (BlockKind.AVRO, ["a"], [1]),
        (BlockKind.DELETE, ["z", "b"], None),
    ]


def test_deletes_keep_their_own_ordering_values_in_the_order_of_stored_rows() -> None:
    storage = MemoryStorage()
    job = job_on(storage, AT, version=TableVersion.NINE)
    rows = marked(("a", 7, True), ("b", 8, True))
    (stat,) = append_rows(job, task(), PLACE, rows, stored_rows=np.array([9, 3]))
    deletes = deletes_in(storage, stat)
    (values,) = deletes.orderings.values()
    assert (deletes.keys.to_pylist(), values.to_pylist()) == (["b", "a"], [8, 7])
