"""What each operation makes of the rows of a table."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import pyhudi
from pyhudi.errors import RecordKeyError, SchemaError
from pyhudi.jobs.result import JobResult
from tests.support.orders import (
    NO_SMALL_FILES,
    OPTIONS,
    SCHEMA,
    SMALL_FILES,
    WITHOUT_ORDERING,
    commit_of,
    many,
    marked,
    orders,
    rows_of,
    stats_of,
    tuples,
    write,
)
from tests.support.tree import data_files, tree

FILE_OF = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]


FIRST = many(range(9), 1, "old", parts=3)
NOTHING = orders()
DROPS = {"hoodie.datasource.write.insert.drop.duplicates": "true"}
COMBINED = {**OPTIONS, "hoodie.combine.before.insert": "true"}


@pytest.fixture
def written(table: Path) -> Path:
    write(table, FIRST, "insert")
    return table


def group_of(table: Path) -> dict[str, str]:
    """The file group that each record key lives in."""
    found = pyhudi.read_table(table, columns=FILE_OF).to_pylist()
    return {row["_hoodie_record_key"]: row["_hoodie_file_name"].split("_")[0] for row in found}


def assert_stats_are_true(table: Path, result: JobResult) -> None:
    """The statistics of a commit are those of the files on disk, and name all of them."""
    stats = stats_of(table, result.instant)
    assert sorted(stat["path"] for stat in stats) == data_files(table, f"_{result.instant}")
    assert result.bytes_written == sum(stat["totalWriteBytes"] for stat in stats)
    assert result.records["inserted"] == sum(stat["numInserts"] for stat in stats)
    for stat in stats:
        path = table / stat["path"]
        assert path.stat().st_size == stat["fileSizeInBytes"] == stat["totalWriteBytes"]
        assert path.parent == table / stat["partitionPath"]
        assert path.name.startswith(f"{stat['fileId']}_")
        times = pq.read_table(path, columns=["_hoodie_commit_time"]).column(0).to_pylist()
        assert len(times) == stat["numWrites"]
        assert times.count(result.instant) == stat["numInserts"] + stat["numUpdateWrites"]


def assert_meta_columns_are_hudis(table: Path, task_count: int = 8) -> None:
    """Every row says truly where it is and when it came, and no two say the same number."""
    rows = pyhudi.read_table(table).to_pylist()
    numbers = [row["_hoodie_commit_seqno"] for row in rows]
    assert len(set(numbers)) == len(numbers)
    for row in rows:
        time, task, _ = row["_hoodie_commit_seqno"].split("_")
        assert (time, row["_hoodie_record_key"]) == (row["_hoodie_commit_time"], row["id"])
        assert int(task) < task_count
        assert (table / row["_hoodie_partition_path"] / row["_hoodie_file_name"]).exists()


def test_upsert_keeps_updates_in_their_file_group(table: Path) -> None:
    first = write(table, many(range(20), 1, "old"), "insert")
    groups = group_of(table)
    second = write(table, many(range(15, 25), 2, "new"))
    assert (first.records["inserted"], second.records["inserted"]) == (20, 5)
    assert (second.records["updated"], second.files["rewritten"]) == (5, 2)
    after = group_of(table)
    assert {key: after[key] for key in groups} == groups
    # The new rows went to the small files that were there.
    assert set(after.values()) == set(groups.values())
    assert rows_of(table) == tuples(many(range(15), 1, "old"), many(range(15, 25), 2, "new"))
    assert rows_of(table, as_of=first.instant) == tuples(many(range(20), 1, "old"))
    for result in (first, second):
        assert_stats_are_true(table, result)
    assert_meta_columns_are_hudis(table)
    assert [s["prevCommit"] for s in stats_of(table, second.instant)] == [first.instant] * 2
    said = [commit_of(table, result.instant)["operationType"] for result in (first, second)]
    assert said == ["INSERT", "UPSERT"]
    times = pyhudi.read_table(table, columns=["_hoodie_commit_time"]).column(0).to_pylist()
    assert (times.count(first.instant), times.count(second.instant)) == (15, 10)


def test_inserts_fill_the_smallest_files_and_then_open_new_ones(table: Path) -> None:
    write(table, many(range(40), 1, "a" * 500, parts=1), "insert", WITHOUT_ORDERING)
    separate = {**WITHOUT_ORDERING, "hoodie.parquet.small.file.limit": "0"}
    write(table, many(range(40, 44), 1, "b", parts=1), "insert", separate)
    sizes = {name: (table / name).stat().st_size for name in data_files(table)}
    assert len(sizes) == 2, "a limit of 0 lets no file take inserts"
    small, large = sorted(sizes, key=lambda name: sizes[name])
    room = {
        **WITHOUT_ORDERING,
        "hoodie.parquet.max.file.size": str(sizes[small] + 10 * 1024),
        "hoodie.parquet.small.file.limit": str(sizes[large]),
    }
    result = write(table, many(range(44, 84), 2, "c", parts=1), "upsert", room)
    assert result.files["rewritten"] == 1
    assert result.files["created"] >= 1
    groups = Counter(group_of(table).values())
    assert groups[large.split("/")[-1].split("_")[0]] == 40
    # The hash of the key decides, so the room of ten rows is met about.
    assert 4 < groups[small.split("/")[-1].split("_")[0]] <= 4 + 20
    assert len(rows_of(table)) == 84
    assert_stats_are_true(table, result)


def test_the_highest_ordering_value_wins_and_of_equal_ones_the_later(table: Path) -> None:
    write(table, orders(("a", "x", 5, "0"), ("b", "x", 5, "0"), ("c", "x", 5, "0")))
    batch = orders(
        *(("a", "x", 4, "late"), ("b", "x", 5, "tie")),
        *(("c", "x", 9, "first"), ("c", "x", 9, "last of a tie"), ("c", "x", 7, "lower")),
        *(("d", "y", 1, "lower"), ("d", "y", 2, "higher"), ("d", "y", 1, "lower")),
    )
    result = write(table, batch)
    expected = [("a", "x", 5, "0"), ("b", "x", 5, "tie")]
    expected += [("c", "x", 9, "last of a tie"), ("d", "y", 2, "higher")]
    assert rows_of(table) == expected
    assert (result.records["updated"], result.records["inserted"]) == (2, 1)


def test_without_an_ordering_column_the_last_written_row_wins(table: Path) -> None:
    for batch in (
        orders(("a", "x", 5, "0"), ("b", "x", 5, "0")),
        orders(("a", "x", 4, "first"), ("a", "x", 9, "second"), ("a", "x", 3, "third")),
    ):
        write(table, batch, "upsert", WITHOUT_ORDERING)
    assert rows_of(table) == [("a", "x", 3, "third"), ("b", "x", 5, "0")]


_OVERWRITE = {
    "hoodie.datasource.write.payload.class": (
        "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
    )
}
_BY_NAME = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
_ARRIVING = {"hoodie.combine.before.upsert": "false"}


@pytest.mark.parametrize(
    ("first", "later", "kept"),
    [
        (_OVERWRITE, {}, "highest, last"),
        (_BY_NAME, {}, "last"),
        (_OVERWRITE, _BY_NAME, "last"),
        (_OVERWRITE, _ARRIVING, "last"),
    ],
    ids=["payload class", "mode of the table", "mode of the write", "not combined"],
)
def test_a_batch_overwrites_with_its_highest_ordering_value_unless_arrival_is_asked_for(
    table: Path, first: dict[str, str], later: dict[str, str], kept: str
) -> None:
    write(table, orders(("a", "x", 9, "stored")), "upsert", {**OPTIONS, **first})
    texts = ((5, "lower"), (7, "highest, first"), (7, "highest, last"), (6, "last"))
    batch = orders(*(("a", "x", ts, text) for ts, text in texts))
    write(table, batch, "upsert", {**OPTIONS, **later})
    assert [row[3] for row in rows_of(table)] == [kept]


def test_delete_takes_the_keys_that_are_there(table: Path) -> None:
    write(table, many(range(12), 5, "old"), "insert")
    keys = many([0, 1, 2, 3, 99], 1, "unused").select(["id", "part"])
    result = write(table, keys, "delete")
    assert result.records == {"inserted": 0, "updated": 0, "deleted": 4, "ignored": 0, "failed": 0}
    assert rows_of(table) == tuples(many(range(4, 12), 5, "old"))
    assert_stats_are_true(table, result)
    before = tree(table)
    nothing = write(table, keys, "delete")
    assert (nothing.status, nothing.instant, nothing.partitions) == ("nothing_to_do", None, ())
    assert nothing.files == {"created": 0, "rewritten": 0, "appended": 0, "replaced": 0}
    # Known keys in a partition that has none of them.
    assert write(table, many([5], 1, "", parts=1), "delete").status == "nothing_to_do"
    assert write(table, orders(("k0005", "p9", 1, "")), "delete").status == "nothing_to_do"
    assert tree(table) == before
    # A key deleted in full leaves a table that can be written again.
    write(table, many(range(4, 12), 1, "").select(["id", "part"]), "delete")
    assert rows_of(table) == []
    write(table, many(range(3), 1, "again"))
    assert rows_of(table) == tuples(many(range(3), 1, "again"))


def test_rows_marked_deleted_take_their_stored_ones_along(table: Path) -> None:
    rows = orders(("a", "x", 5, "0"), ("b", "x", 5, "0"), ("c", "x", 5, "0"))
    write(table, marked(rows, False, None, False))
    batch = orders(
        *(("a", "x", 6, "gone"), ("b", "x", 4, "too late"), ("c", "x", 5, "kept")),
        *(("new", "x", 1, "never there"), ("other", "y", 1, "never there")),
    )
    result = write(table, marked(batch, True, True, None, True, True))
    assert rows_of(table) == [("b", "x", 5, "0"), ("c", "x", 5, "kept")]
    # As Hudi counts: a delete of a key that is nowhere, among rows that are rewritten, is one too.
    counts = {"inserted": 0, "updated": 1, "deleted": 2, "ignored": 1, "failed": 0}
    assert result.records == counts


def test_a_key_in_two_file_groups_is_updated_in_both(table: Path) -> None:
    separate = {**OPTIONS, "hoodie.parquet.small.file.limit": "0"}
    for _ in range(2):
        write(table, orders(("a", "x", 1, "old"), ("b", "x", 1, "old")), "insert", separate)
    assert len(data_files(table)) == 2
    # As many rows as hits, so that a count of hits alone would leave nothing for the new row.
    batch = orders(("a", "x", 2, "new"), ("fresh", "x", 2, "new"))
    result = write(table, batch)
    kept = [("b", "x", 1, "old")] * 2
    assert rows_of(table) == [("a", "x", 2, "new")] * 2 + kept + [("fresh", "x", 2, "new")]
    assert (result.records["updated"], result.records["inserted"]) == (2, 1)
    assert write(table, batch.select(["id", "part"]), "delete").records["deleted"] == 3
    assert rows_of(table) == kept


def test_insert_keeps_rows_of_keys_that_are_there_unless_told_otherwise(table: Path) -> None:
    write(table, orders(("a", "x", 5, "0"), ("a", "x", 5, "1")), "insert")
    write(table, orders(("a", "x", 4, "2")), "insert")
    assert [row[3] for row in rows_of(table)] == ["2", "0", "1"]
    write(table, orders(("b", "x", 4, "2"), ("b", "x", 3, "3")), "insert", COMBINED)
    assert (rows_of(table)[-1], len(rows_of(table))) == (("b", "x", 4, "2"), 4)
    refusing = {**COMBINED, "hoodie.merge.allow.duplicate.on.inserts": "false"}
    write(table, orders(("b", "x", 9, "once")), "insert", refusing)
    assert (rows_of(table)[-1], len(rows_of(table))) == (("b", "x", 9, "once"), 4)


@pytest.mark.parametrize("mode", ["NONE", "GLOBAL_SORT", "PARTITION_SORT"])
def test_bulk_insert_writes_new_files_in_the_order_asked_for(table: Path, mode: str) -> None:
    rows = many([*range(1, 40, 2), *range(0, 40, 2)], 1, "v", parts=3)
    options = {**OPTIONS, "hoodie.bulkinsert.sort.mode": mode}
    write(table, rows, "bulk_insert", options)
    result = write(table, many([0, 1], 2, "twice", parts=3), "bulk_insert", options)
    assert result.files == {"created": 2, "rewritten": 0, "appended": 0, "replaced": 0}
    assert rows_of(table) == tuples(rows, many([0, 1], 2, "twice", parts=3))
    assert_stats_are_true(table, result)
    by_file = [pq.read_table(table / name).column("id").to_pylist() for name in data_files(table)]
    assert all(keys == sorted(keys) for keys in by_file) is (mode != "NONE")
    assert commit_of(table, result.instant)["operationType"] == "BULK_INSERT"


LAYOUTS = {
    "none": ("", {}, {""}),
    "one": ("part", {}, {"a/b", "c d"}),
    "hive": ("part", {"hive_style_partitioning": "true"}, {"part=a/b", "part=c d"}),
    "encoded": ("part", {"partitionpath.urlencode": "true"}, {"a%2Fb", "c d"}),
    "several": (
        "part,ts",
        {"hive_style_partitioning": "true", "partitionpath.urlencode": "true"},
        {"part=a%2Fb/ts=1", "part=c d/ts=1", "part=__HIVE_DEFAULT_PARTITION__/ts=1"},
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_lie_in_the_folders_of_their_partition(table: Path, layout: str) -> None:
    fields, style, folders = LAYOUTS[layout]
    asked = {"partitionpath.field": fields, **style}
    options = {f"hoodie.datasource.write.{key}": value for key, value in asked.items()}
    rows = orders(("1", "a/b", 1, "old"), ("2", "c d", 1, "old"))
    if layout == "several":
        rows = pa.concat_tables([rows, orders(("3", None, 1, "old"))])
    write(table, rows, "upsert", {**WITHOUT_ORDERING, **options})
    result = write(table, orders(("1", "a/b", 1, "new")), "upsert", {**SMALL_FILES})
    assert (result.records["updated"], result.records["inserted"]) == (1, 0)
    found = pyhudi.read_table(table)
    assert set(found.column("_hoodie_partition_path").to_pylist()) == folders
    assert {str(Path(name).parent) for name in data_files(table)} == {f or "." for f in folders}
    assert ("1", "a/b", 1, "new") in tuples(found.select(SCHEMA.names))
    assert found.num_rows == rows.num_rows


def test_a_commit_that_carries_the_key_is_not_made_twice(table: Path) -> None:
    options = {**OPTIONS, "pyhudi.idempotency.key": "run-7"}
    rows = many(range(5), 1, "v")
    first = write(table, rows, "insert", options)
    write(table, many(range(5, 7), 1, "w"), "insert")
    before = tree(table)
    again = write(table, rows, "insert", options)
    assert (first.status, again.status) == ("committed", "already_committed")
    assert (again.instant, again.records) == (first.instant, first.records)
    assert tree(table) == before
    assert commit_of(table, first.instant)["extraMetadata"]["pyhudi.idempotency.key"] == "run-7"


def test_rows_keep_their_order_of_arrival_however_many_pieces_they_make(table: Path) -> None:
    count, filler = 20_000, "x" * 300
    keys = [f"k{n:05d}" for n in range(count)]
    turns = [orders(*((key, "p", 1, f"{turn}{filler}") for key in keys)) for turn in "123"]
    write(table, turns[0], "upsert", OPTIONS, *turns[1:])
    assert pc.all(pc.starts_with(pyhudi.read_table(table)["value"], "3")).as_py()
    last = orders(*((key, "p", 1, "last") for key in keys))
    result = write(table, turns[0].slice(0, count // 2), "upsert", OPTIONS, *turns[1:], last)
    assert (result.records["updated"], result.records["inserted"]) == (count, 0)
    found = pyhudi.read_table(table, columns=["value"]).column(0)
    assert Counter(found.to_pylist()) == {"last": count}


@pytest.mark.parametrize("sort_mode", ["GLOBAL_SORT", "PARTITION_SORT"])
def test_a_sorted_bulk_insert_can_combine(table: Path, sort_mode: str) -> None:
    batch = orders(
        *(("b", "x", ts, f"{ts}") for ts in (2, 4, 3)),
        *(("a", "x", 1, "tie"), ("a", "x", 1, "last of a tie"), ("b", "y", 1, "elsewhere")),
    )
    options = {**COMBINED, "hoodie.bulkinsert.sort.mode": sort_mode}
    result = write(table, batch, "bulk_insert", options)
    wanted = [("a", "x", 1, "last of a tie"), ("b", "x", 4, "4"), ("b", "y", 1, "elsewhere")]
    assert rows_of(table) == wanted
    assert result.records["inserted"] == 3


@pytest.mark.parametrize("operation", ["insert", "upsert", "bulk_insert"])
def test_rows_whose_key_is_known_are_left_out(operation: str, written: Path) -> None:
    batch = orders(("k0000", "p0", 9, "x"), ("k0000", "p1", 9, "x"), ("n", "p0", 8, "x"))
    twice = orders(*tuples(batch), ("n", "p0", 9, "higher"))
    write(written, twice, operation, {**OPTIONS, **DROPS})
    fresh = [("k0000", "p1", 9, "x"), ("n", "p0", 9, "higher")]
    assert rows_of(written) == sorted([*tuples(FIRST), *fresh])
    assert write(written, batch, operation, {**OPTIONS, **DROPS}).status == "nothing_to_do"


def test_an_insert_of_known_keys_can_fail(written: Path) -> None:
    options = {**OPTIONS, "hoodie.datasource.insert.dup.policy": "fail"}
    with pytest.raises(RecordKeyError, match="1 rows have keys that the table has already"):
        write(written, orders(("k0000", "p0", 2, ""), ("new", "p0", 2, "")), "insert", options)
    assert rows_of(written) == tuples(FIRST)
    assert not list((written / ".hoodie").glob("*.rollback"))
    write(written, orders(("n", "p0", 1, "x")), "insert", options)
    assert len(rows_of(written)) == 10


def test_an_empty_commit_is_made_when_asked_for(written: Path) -> None:
    assert write(written, NOTHING).status == "nothing_to_do"
    options = {**OPTIONS, "hoodie.allow.empty.commit": "true"}
    for operation in ("upsert", "insert", "bulk_insert", "delete", "insert_overwrite"):
        assert write(written, NOTHING, operation, options).status == "committed", operation
    assert rows_of(written) == tuples(FIRST)
    assert pyhudi.open_table(str(written)).schema().names[5:] == SCHEMA.names


def test_a_table_of_orc_files_lives_through_every_operation(table: Path) -> None:
    orc_options = {**OPTIONS, "hoodie.table.base.file.format": "ORC"}
    write(table, many(range(40), 1, "old"), "bulk_insert", orc_options)
    first = write(table, many(range(40, 50), 1, "old"), "insert", orc_options)
    # What the table knows of itself need not be said again.
    second = write(table, many(range(30, 60), 2, "new"))
    counts = {"inserted": 10, "updated": 20, "deleted": 0, "ignored": 0, "failed": 0}
    assert second.records == counts
    assert write(table, many(range(5), 3, "gone"), "delete").records["deleted"] == 5

    assert rows_of(table) == tuples(many(range(5, 30), 1, "old"), many(range(30, 60), 2, "new"))
    assert pyhudi.open_table(table).config.base_file_format == "ORC"
    names = data_files(table)
    assert names
    assert all(name.endswith(".orc") for name in names)
    for name in names:
        file = orc.ORCFile(table / name)
        assert b"orc.avro.schema" in file.metadata
        assert b"org.apache.hudi.bloomfilter" in file.metadata
        keys = file.read(["_hoodie_record_key"]).column(0).to_pylist()
        assert file.metadata[b"hoodie_max_record_key"].decode() == max(keys)

    assert len(rows_of(table, as_of=first.instant)) == 50
    found = rows_of(table, query_type="incremental", begin=first.instant)
    assert {row[3] for row in found} == {"new"}


def test_the_commit_and_the_result_tell_what_each_stage_took(table: Path) -> None:
    """Rows and bytes of every stage, and the tasks' time of merging."""
    write(table, many(range(6), 1, "new"))
    result = write(table, many(range(3, 9), 2, "newer"))
    assert set(result.stages) == {"key", "lookup", "write", "commit"}
    assert (result.stages["key"]["rows"], result.stages["lookup"]["rows"]) == (6, 3)
    assert result.stages["write"]["rows"] == 9
    assert result.stages["write"]["bytes"] == result.bytes_written
    assert result.stages["write"]["merge_task_seconds"] > 0
    recorded = json.loads(commit_of(table, result.instant)["extraMetadata"]["pyhudi.metrics"])
    assert set(recorded) == {"key", "lookup", "write"}
    assert recorded["write"] == result.stages["write"]


def test_rows_that_are_older_than_the_stored_ones_are_counted_wherever_results_are_told(
    table: Path,
) -> None:
    """In the result, in the commit's metrics, and in what a later try finds."""
    keyed = {**OPTIONS, "pyhudi.idempotency.key": "run-7"}
    write(table, many(range(6), 5, "old"))
    late = many(range(4), 1, "late")
    result = write(table, late, "upsert", keyed, many(range(4, 8), 9, "new"))
    counts = {"inserted": 2, "updated": 2, "deleted": 0, "ignored": 4, "failed": 0}
    assert result.records == counts
    recorded = json.loads(commit_of(table, result.instant)["extraMetadata"]["pyhudi.metrics"])
    assert recorded["write"]["ignored"] == 4
    again = write(table, late, "upsert", keyed)
    assert (again.status, again.records) == ("already_committed", counts)


def test_a_row_that_would_move_a_newer_record_is_counted_as_ignored(table: Path) -> None:
    moving = {
        **OPTIONS,
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "true",
    }
    write(table, orders(("a", "x", 5, "old"), ("b", "x", 5, "old"), ("c", "x", 5, "old")))
    late = orders(("a", "y", 1, "late"), ("b", "y", 9, "new"), ("c", "x", 1, "late"))
    result = write(table, late, "upsert", moving)
    assert result.records["ignored"] == 2
    nothing = write(table, late.slice(0, 1), "upsert", moving)
    assert (nothing.status, nothing.records["ignored"]) == ("nothing_to_do", 1)
    assert nothing.reason == "the stored rows are newer than all 1 that came"


@pytest.mark.parametrize(
    "payload", ["DefaultHoodieRecordPayload", "OverwriteWithLatestAvroPayload"]
)
def test_what_is_appended_is_counted_as_ignored_only_where_that_is_known(
    table: Path, payload: str
) -> None:
    is_known = payload.startswith("Overwrite")
    chosen = {"hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}"}
    options = {**NO_SMALL_FILES, **chosen}
    write(table, many(range(6), 5, "old"), "insert", options)
    result = write(table, many(range(4), 1, "late"), "upsert", options)
    assert result.files["appended"]
    assert result.records.get("ignored") == (0 if is_known else None)
    assert write(table, many(range(4), 1, "gone"), "delete", options).records["ignored"] == 0


def test_a_commit_that_changes_the_schema_says_so_in_result_log_and_to_later_tries(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keyed = {**OPTIONS, "pyhudi.idempotency.key": "run-7"}
    assert write(table, many(range(4), 1, "old")).schema_changes == ()
    wider = many(range(2), 2, "new").append_column("note", pa.array(["a", "b"]))
    with caplog.at_level("INFO"):
        result = write(table, wider, "upsert", keyed)
    changes = ("column note (string) is new",)
    assert result.schema_changes == changes
    assert "orders: the schema has changed: column note (string) is new" in caplog.text
    assert write(table, wider, "upsert", keyed).schema_changes == changes
    assert write(table, wider).schema_changes == ()


@pytest.mark.parametrize("named", [False, True])
def test_a_source_of_another_type_does_not_change_the_type_of_the_key(
    table: Path, named: bool
) -> None:
    allowing = {"pyhudi.schema.allow.key.type.change": "true"} if named else {}
    numbers = {"id": [1, 2], "part": ["x", "x"], "ts": [5, 5], "value": ["old", "old"]}
    write(table, pa.table(numbers))
    late = pa.table({**numbers, "id": ["1", "2"], "ts": [1, 1]})
    if not named:
        before = tree(table)
        with pytest.raises(SchemaError, match="column id is string in the rows and int64 in the"):
            write(table, late)
        assert tree(table) == before
        return
    result = write(table, late, "upsert", {**OPTIONS, **allowing})
    assert result.schema_changes == ("column id was int64 and is string",)
    assert pyhudi.read_table(table)["id"].to_pylist() == ["1", "2"]


NOTHING_BUT = {
    "upsert": (orders(("a", "zz", 1, "")), "the rows only delete keys that the table has not"),
    "delete": (orders(("zz", "x", 1, "")), "the table has none of the keys to delete"),
    "delete_partition": (orders(("a", "zz", 1, "")), "the table has none of the partitions"),
    "insert": (orders(("a", "x", 1, "")), "the table has all keys of the rows already"),
    "bulk_insert": (orders(), "the source has no rows"),
}


@pytest.mark.parametrize("operation", NOTHING_BUT)
def test_a_write_that_writes_nothing_says_why(table: Path, operation: str) -> None:
    write(table, orders(("a", "x", 1, "old")))
    rows, reason = NOTHING_BUT[operation]
    rows = marked(rows, True) if operation == "upsert" else rows
    options = {**OPTIONS, **DROPS} if operation == "insert" else OPTIONS
    result = write(table, rows, operation, options)
    assert result.status == "nothing_to_do"
    assert (result.reason or "").startswith(reason)
