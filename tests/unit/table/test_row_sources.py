"""What a bootstrap left outside the table is read, written onto, compacted and cleaned."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.config.table import TableType
from pyhudi.errors import BootstrapSourceError, HudiError, TableMismatchError
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import open_table
from tests.support.bootstrapped import Source, bootstrap
from tests.support.in_process import CONFIG, SMALL_BLOOMS
from tests.support.orders import (
    HERE,
    OPTIONS,
    clean,
    compact,
    orders,
    rows_of,
    stats_of,
    write,
)
from tests.support.tree import tree

BOTH = (TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ)
INDEXES = ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM")
FIRST = "00000000000001"


def source_rows(keys: str, part: str, *, with_part: bool = False) -> pa.Table:
    rows = orders(*((key, part, 1, f"{key}-old") for key in keys))
    return rows if with_part else rows.drop_columns(["part"])


SOURCES = (
    Source(partition="x", rows=source_rows("abcde", "x"), group_rows=2, skeleton_group_rows=3),
    Source(partition="x", rows=source_rows("fg", "x"), name="g.parquet"),
    Source(partition="y", rows=source_rows("hijklmn", "y"), group_rows=3, skeleton_group_rows=2),
)
OLD = [
    (key, part, 1, f"{key}-old")
    for keys, part in (("abcdefg", "x"), ("hijklmn", "y"))
    for key in keys
]


@pytest.fixture(params=BOTH, ids=["cow", "mor"])
def kind(request: pytest.FixtureRequest) -> TableType:
    found: TableType = request.param
    return found


def made(folder: Path, kind: TableType, sources: Sequence[Source] = SOURCES) -> Path:
    """A table of skeletons at ``table`` of the sources below ``source``."""
    table = folder / "table"
    table.mkdir()
    config = replace(CONFIG, table_type=kind)
    bootstrap(open_storage(str(table)), folder / "source", sources, config)
    return table


def options(kind: TableType, **more: str) -> dict[str, str]:
    return {
        **OPTIONS,
        **SMALL_BLOOMS,
        "hoodie.datasource.write.table.type": kind.value,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def test_rows_lie_outside_and_are_read(tmp_path: Path, kind: TableType) -> None:
    table = made(tmp_path, kind)
    assert rows_of(table) == OLD
    assert rows_of(table, query_type="incremental", begin="00000000000000") == OLD
    assert rows_of(table, query_type="incremental", begin=FIRST) == []
    some = pyhudi.read_table(table, columns=["value"], filters=pc.field("part") == "y")
    assert sorted(some["value"].to_pylist()) == [f"{key}-old" for key in "hijklmn"]
    by_key = pc.field("_hoodie_record_key") == "m"
    assert pyhudi.read_table(table, columns=["ts", "value"], filters=by_key).to_pylist() == [
        {"ts": 1, "value": "m-old"}
    ]
    batches = pyhudi.read_batches(table, columns=["id", "part"])
    assert batches.read_all().num_rows == len(OLD)


@pytest.mark.parametrize("index", INDEXES)
def test_an_upsert_merges_skeleton_source_and_rows(
    tmp_path: Path, kind: TableType, index: str
) -> None:
    table = made(tmp_path, kind)
    before = tree(tmp_path / "source")
    rows = orders(("a", "x", 2, "new"), ("i", "y", 2, "new"), ("z", "x", 2, "new"))
    result = write(table, rows, "upsert", options(kind, hoodie__index__type=index))
    assert (result.records["updated"], result.records["inserted"]) == (2, 1)
    kept = [row for row in OLD if row[0] not in "ai"]
    assert rows_of(table) == sorted([*kept, *orders_of(rows)])
    assert rows_of(table, as_of=FIRST) == OLD
    changed = rows_of(table, query_type="incremental", begin=FIRST)
    assert changed == sorted(orders_of(rows))
    result = write(table, rows.slice(0, 1), "delete", options(kind, hoodie__index__type=index))
    assert result.records["deleted"] == 1
    assert rows_of(table) == sorted([*kept, *orders_of(rows)[1:]])
    assert tree(tmp_path / "source") == before


def orders_of(rows: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in rows.to_pylist()]


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_record_leaves_the_partition_of_its_source(
    tmp_path: Path, kind: TableType, index: str
) -> None:
    table = made(tmp_path, kind)
    rows = orders(("a", "y", 2, "moved"))
    write(table, rows, "upsert", options(kind, hoodie__index__type=index))
    assert rows_of(table) == sorted([*OLD[1:], *orders_of(rows)])


def test_file_groups_keep_their_names_and_take_small_inserts(tmp_path: Path) -> None:
    kind = TableType.COPY_ON_WRITE
    table = made(tmp_path, kind)
    groups = {each.file_id for each in open_table(table).latest_base_files()}
    result = write(table, orders(("q", "x", 2, "new")), "insert", options(kind))
    (stat,) = stats_of(table, result.instant)
    assert stat["fileId"] in groups
    assert stat["prevCommit"] == FIRST
    assert {each.file_id for each in open_table(table).latest_base_files()} == groups


@pytest.mark.parametrize("which", [COMPACTION_KIND, LOG_COMPACTION_KIND])
def test_log_files_on_a_skeleton_are_compacted(tmp_path: Path, which: str) -> None:
    kind = TableType.MERGE_ON_READ
    table = made(tmp_path, kind)
    alone = options(kind, hoodie__parquet__small__file__limit="0")
    for ts in (2, 3):
        write(table, orders(("a", "x", ts, "new"), ("b", "x", ts, "new")), "upsert", alone)
    write(table, orders(("b", "x", 9, "")), "delete", alone)
    expected = [*(row for row in OLD if row[0] not in "ab"), ("a", "x", 3, "new")]
    assert rows_of(table) == sorted(expected)
    due = {
        **SMALL_BLOOMS,
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.log.compaction.blocks.threshold": "2",
    }
    planned = compact(table, due, kind=which, mode="schedule")
    (plan,) = open_table(table).active.load().pending()
    (operation,) = open_table(table).active.read_compaction_plan(plan).operations
    assert operation.bootstrap_file == f"file:{tmp_path}/source/x/f.parquet"
    done = compact(table, due, kind=which, mode="execute", instant=planned.instant)
    assert done.status == "committed"
    assert rows_of(table) == sorted(expected)
    bases = {file.name: file.is_skeleton for file in open_table(table).latest_base_files()}
    assert sum(not is_skeleton for is_skeleton in bases.values()) == (which == COMPACTION_KIND)


def test_the_bucket_index_does_not_go_on_with_other_file_groups(tmp_path: Path) -> None:
    kind = TableType.COPY_ON_WRITE
    table = made(tmp_path, kind)
    bucket = options(kind, hoodie__index__type="BUCKET", hoodie__bucket__index__num__buckets="2")
    with pytest.raises(TableMismatchError, match="none of 2 buckets"):
        write(table, orders(("a", "x", 2, "new")), "upsert", bucket)
    assert rows_of(table) == OLD


FEW = {"hoodie.clean.commits.retained": "1"}
KEPT, DELETED = (
    "hoodie.clean.delete.bootstrap.base.file",
    "hoodie.cleaner.delete.bootstrap.base.file",
)


@pytest.mark.parametrize(
    ("more", "gone"), [({}, False), ({KEPT: "false"}, False), ({DELETED: "true"}, True)], ids=str
)
def test_a_clean_deletes_a_source_only_where_asked(
    tmp_path: Path, more: dict[str, str], gone: bool
) -> None:
    kind = TableType.COPY_ON_WRITE
    table = made(tmp_path, kind)
    quiet = options(kind, hoodie__clean__automatic="false")
    for ts in (2, 3, 4):
        write(table, orders(("a", "x", ts, "new")), "upsert", quiet)
    result = clean(table, {**FEW, **more})
    assert result.files == {"deleted": 2}
    written = tmp_path / "source" / "x" / "f.parquet"
    assert written.exists() != gone
    assert len(list((tmp_path / "source").rglob("*.parquet"))) == (2 if gone else 3)
    done = open_table(table)
    (instant,) = (each for each in done.timeline if each.time == result.instant)
    said = done.active.read_clean(instant).partitions["x"]
    assert said.sources == ((f"file:{written}",) if gone else ())
    assert len(rows_of(table)) == len(OLD)


def rolled_back(table: Path, instant: str | None) -> None:
    rollback_table(HERE, RollbackRequest(base_path=str(table), instant=instant or ""))


def test_a_write_onto_a_skeleton_is_rolled_back_to_it(tmp_path: Path, kind: TableType) -> None:
    table = made(tmp_path, kind)
    before = tree(tmp_path / "source")
    done = write(table, orders(("a", "x", 2, "new"), ("q", "y", 2, "new")), "upsert", options(kind))
    rolled_back(table, done.instant)
    assert rows_of(table) == OLD
    assert tree(tmp_path / "source") == before


def spoilt(path: Path, how: str) -> None:
    """Change a source as somebody might."""
    rows = pq.read_table(path)
    if how == "gone":
        path.unlink()
    elif how == "longer":
        pq.write_table(pa.concat_tables([rows, rows]), path)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-7])
    elif how == "as long":
        path.write_bytes(os.urandom(path.stat().st_size))


WRONG = {
    "gone": "is gone",
    "longer": "bytes, and had",
    "cut": "bytes, and had",
    "as long": "cannot be read",
}


@pytest.mark.parametrize("how", WRONG)
def test_a_source_that_is_another_is_named_and_no_row_is_shifted(
    tmp_path: Path, kind: TableType, how: str
) -> None:
    table = made(tmp_path, kind)
    path = tmp_path / "source" / "x" / "f.parquet"
    spoilt(path, how)
    with pytest.raises(BootstrapSourceError, match=rf"file:{path}.*{WRONG[how]}"):
        pyhudi.read_table(table)
    with pytest.raises(BootstrapSourceError, match=WRONG[how]):
        pyhudi.read_batches(table).read_all()
    keys = pyhudi.read_table(table, columns=["_hoodie_record_key"])
    assert keys.num_rows == len(OLD)
    before = tree(table)
    if kind is TableType.COPY_ON_WRITE:
        with pytest.raises(HudiError, match=WRONG[how]):
            write(table, orders(("a", "x", 2, "new")), "upsert", options(kind))
        assert {name for name in tree(table) if name.endswith(".parquet")} == {
            name for name in before if name.endswith(".parquet")
        }
    assert len(pyhudi.read_table(table, filters=pc.field("part") == "y")) == 7


def test_a_source_of_as_many_bytes_and_fewer_rows_is_told_by_its_rows(tmp_path: Path) -> None:
    table = made(tmp_path, TableType.COPY_ON_WRITE)
    path = tmp_path / "source" / "x" / "f.parquet"
    size = path.stat().st_size
    pq.write_table(source_rows("abc", "x"), path, compression="none")
    data = path.read_bytes()
    assert len(data) < size
    # Bytes before a footer that no page lies in.
    tail = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:-tail] + b"\0" * (size - len(data)) + data[-tail:])
    for columns, filters in (
        (None, None),
        (["value"], None),
        (["value"], pc.field("ts") == 1),
        (["value"], pc.field("ts") == 9),
        (["id", "part"], pc.field("part") == "x"),
    ):
        for read in (pyhudi.read_table, lambda *a, **o: pyhudi.read_batches(*a, **o).read_all()):
            with pytest.raises(BootstrapSourceError, match=rf"{path} has 3 rows, and had 5 when"):
                read(table, columns=columns, filters=filters)
    assert pyhudi.read_table(table, columns=["_hoodie_record_key"]).num_rows == len(OLD)


def test_an_orc_source_is_read_beside_parquet_skeletons(tmp_path: Path) -> None:
    source = Source(partition="x", rows=source_rows("abcde", "x"), name="f.orc")
    table = made(tmp_path, TableType.COPY_ON_WRITE, [source])
    assert rows_of(table) == OLD[:5]


def test_a_partition_value_is_read_as_the_column_of_the_table(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a"], "ts": [1], "value": ["v"]})
    for partition, expected in {
        "part=a%20b": "a b",
        "part=__HIVE_DEFAULT_PARTITION__": None,
        "q": "q",
    }.items():
        folder = tmp_path / partition[-3:].strip("_%")
        folder.mkdir()
        table = made(folder, TableType.COPY_ON_WRITE, [Source(partition=partition, rows=rows)])
        assert pyhudi.read_table(table)["part"].to_pylist() == [expected]
        found = pyhudi.read_table(table, filters=pc.field("part") == "a b")
        assert found.num_rows == (expected == "a b")


def test_what_is_lost_is_passed_over_where_that_is_asked_for(
    tmp_path: Path, kind: TableType, caplog: pytest.LogCaptureFixture
) -> None:
    table = made(tmp_path, kind)
    write(table, orders(("h", "y", 2, "new")), "upsert", options(kind))
    (tmp_path / "source" / "x" / "f.parquet").unlink()
    (tmp_path / "source" / "x" / "g.parquet").write_bytes(b"PAR1")
    found = rows_of(table, skip_damaged=True)
    assert found == [("h", "y", 2, "new"), *OLD[8:]]
    assert "f.parquet: that is gone" in caplog.text
    assert "g.parquet: that is another file" in caplog.text


def test_the_size_of_records_is_not_that_of_their_keys(tmp_path: Path) -> None:
    kind = TableType.COPY_ON_WRITE
    rows = orders(*((f"{n:05d}", "x", 1, "v") for n in range(12_000))).drop_columns(["part"])
    big = Source(partition="x", rows=rows, group_rows=20_000, skeleton_group_rows=20_000)
    table = made(tmp_path, kind, [big])
    # By its skeletons a record would take some ten bytes; the estimate holds as long as none tells.
    small = options(
        kind, hoodie__parquet__max__file__size="1024000", hoodie__parquet__small__file__limit="0"
    )
    more = orders(*((f"n{n:05d}", "x", 2, "v") for n in range(3_000)))
    result = write(table, more, "insert", small)
    assert len(stats_of(table, result.instant)) == 3


def test_a_restore_goes_back_to_skeletons_and_what_they_stand_for(
    tmp_path: Path, kind: TableType
) -> None:
    table = made(tmp_path, kind)
    before = tree(tmp_path / "source")
    savepoint_table(HERE, SavepointRequest(base_path=str(table), mode="create", instant=FIRST))
    quiet = options(kind, hoodie__clean__automatic="false")
    for ts in (2, 3):
        write(table, orders(("a", "x", ts, "new"), ("q", "y", ts, "new")), "upsert", quiet)
    clean(table, {**FEW, DELETED: "true"})
    restore_table(HERE, RestoreRequest(base_path=str(table), instant=FIRST))
    assert rows_of(table) == OLD
    assert tree(tmp_path / "source") == before


def test_skeletons_are_read_once_their_instant_is_archived(tmp_path: Path) -> None:
    kind = TableType.COPY_ON_WRITE
    table = made(tmp_path, kind)
    few = options(
        kind,
        hoodie__keep__min__commits="2",
        hoodie__keep__max__commits="3",
        hoodie__clean__commits__retained="1",
    )
    for ts in range(2, 9):
        write(table, orders(("h", "y", ts, "new")), "upsert", few)
    assert open_table(table).timeline.instants[0].time > FIRST
    assert rows_of(table) == sorted([*OLD[:7], ("h", "y", 8, "new"), *OLD[8:]])
    assert any(file.is_skeleton for file in open_table(table).latest_base_files())
    write(table, orders(("a", "x", 9, "new")), "upsert", few)
    assert rows_of(table)[0] == ("a", "x", 9, "new")
