"""Every operation leaves the rows that it leaves in real Hudi, and each goes on after the other."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pyhudi
from pyhudi.errors import RecordKeyError
from pyhudi.schema.codec import read_container
from tests.interop import ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.rows import Row, assert_same_rows, user_columns
from tests.interop.scenarios import Scenario

SCENARIO = Scenario(
    "operations",
    partitions=("region",),
    more={"hoodie.metadata.enable": "false", "hoodie.index.bloom.num_entries": "200"},
)
OPTIONS = SCENARIO.options
W = "hoodie.datasource.write."
TO_DELETE = f"{W}partitions.to.delete"
DROPS = {f"{W}insert.drop.duplicates": "true"}
POLICY = "hoodie.datasource.insert.dup.policy"
COMBINES = {"hoodie.combine.before.insert": "true"}
STATIC = "hoodie.static.overwrite.partition.paths"


def batch(numbers: range, generation: int, *regions: str) -> pa.Table:
    """Rows of some regions, or of all."""
    rows = SCENARIO.batch(numbers, generation)
    chosen = [row for row in rows.to_pylist() if not regions or row["region"] in regions]
    return pa.Table.from_pylist(chosen, schema=rows.schema)


FIRST = batch(range(30), 1)
AFRICA = batch(range(24, 45), 2, "africa")
TWICE = pa.concat_tables([AFRICA, batch(range(24, 45), 3, "africa")])
NOTHING = FIRST.slice(0, 0)


@pytest.fixture(scope="module")
def start(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of real Hudi with the first rows; tests copy it."""
    path = tmp_path_factory.mktemp("start") / "table"
    hudi.write(path, FIRST, "insert", options=OPTIONS, mode="overwrite")
    return path


@dataclass(frozen=True)
class Case:
    """One write, done by both; ``rows`` of Hudi are what we must agree with."""

    operation: str
    rows: pa.Table
    more: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "overwrite": Case("insert_overwrite", AFRICA),
    "overwrite_keeps_duplicates_of_the_batch": Case("insert_overwrite", TWICE),
    "overwrite_combines": Case("insert_overwrite", TWICE, COMBINES),
    "overwrite_without_rows": Case("insert_overwrite", NOTHING),
    "overwrite_mode": Case(
        "insert_overwrite", AFRICA, {"hoodie.datasource.overwrite.mode": "STATIC"}
    ),
    "static_partitions": Case("insert_overwrite", AFRICA, {STATIC: "asia,nowhere"}),
    "bulk_overwrite": Case(
        "bulk_insert", AFRICA, {"hoodie.bulkinsert.overwrite.operation.type": "insert_overwrite"}
    ),
    "overwrite_table": Case("insert_overwrite_table", AFRICA),
    "overwrite_table_without_rows": Case("insert_overwrite_table", NOTHING),
    "delete_partition": Case("delete_partition", NOTHING, {TO_DELETE: "asia,nowhere"}),
    "delete_partition_by_pattern": Case("delete_partition", NOTHING, {TO_DELETE: "a*,e%2Ae"}),
    "delete_partition_of_rows": Case("delete_partition", AFRICA),
    "delete_where_some_are": Case("delete", batch(range(27, 33), 2)),
    "insert_drops_known_keys": Case("insert", TWICE, DROPS),
    "upsert_drops_known_keys": Case("upsert", TWICE, DROPS),
    "insert_merges": Case("insert", AFRICA, {"hoodie.merge.allow.duplicate.on.inserts": "false"}),
    "sorted_bulk_insert_combines": Case(
        "bulk_insert", TWICE, {**COMBINES, "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_operation_leaves_the_rows_that_hudi_leaves(
    case: Case, start: Path, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for path in (mine, theirs):
        shutil.copytree(start, path)
    options = {**OPTIONS, **case.more}
    hudi.write(theirs, case.rows, case.operation, options=options)
    ours.write(spark, mine, case.rows, case.operation, options)
    wanted = user_columns(ours.read(theirs))
    assert_same_rows(user_columns(hudi.read(mine)), wanted)
    assert_same_rows(user_columns(ours.read(mine)), wanted)


def test_a_policy_for_known_keys_is_that_of_the_newer_hudi(
    start: Path, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    """Hudi 0.15 has the option for SQL alone and keeps the rows."""
    if hudi.version.startswith("0."):
        pytest.skip("the data frame writer of 0.15 does not read it")
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for path in (mine, theirs):
        shutil.copytree(start, path)
    drop, fail = {**OPTIONS, POLICY: "drop"}, {**OPTIONS, POLICY: "fail"}
    hudi.write(theirs, TWICE, "insert", options=drop)
    ours.write(spark, mine, TWICE, "insert", drop)
    assert_same_rows(user_columns(hudi.read(mine)), user_columns(ours.read(theirs)))
    with pytest.raises(HudiError, match="Duplicate"):
        hudi.write(theirs, AFRICA, "insert", options=fail)
    with pytest.raises(RecordKeyError):
        ours.write(spark, mine, AFRICA, "insert", fail)


@dataclass(frozen=True)
class History:
    """A table that we overwrote in several ways, and its instants."""

    path: Path
    instants: list[str]


@pytest.fixture(scope="session")
def history(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> History:
    path = tmp_path_factory.mktemp("history") / "table"
    steps = (
        ("insert", FIRST, {}),
        ("insert_overwrite", AFRICA, {}),
        ("delete_partition", NOTHING, {TO_DELETE: "asia"}),
        ("upsert", batch(range(20, 36), 4), {}),
        (
            "bulk_insert",
            batch(range(9), 5, "europe"),
            {"hoodie.bulkinsert.overwrite.operation.type": "insert_overwrite"},
        ),
    )
    instants = [
        ours.write(spark, path, rows, operation, {**OPTIONS, **more}).instant
        for operation, rows, more in steps
    ]
    return History(path, instants)


def test_hudi_validates_overwrites_of_ours_and_goes_on(history: History, hudi: RealHudi) -> None:
    assert hudi.failures(history.path) == []
    assert_same_rows(ours.read(history.path), hudi.read(history.path))
    assert_same_rows(ours.read_with_hudi_rs(history.path), ours.read(history.path))


def test_hudi_sees_the_past_and_the_changes_of_overwrites(history: History, hudi: RealHudi) -> None:
    for before, instant in zip(history.instants, history.instants[1:], strict=False):
        past = hudi.read(history.path, as_of=instant)
        assert_same_rows(ours.read(history.path, as_of=instant), past)
        changed = hudi.read(history.path, begin=before)
        assert_same_rows(changes(history.path, begin=before), changed)
    first, *_, last = history.instants
    bounded = hudi.read(history.path, begin=first, end=history.instants[1])
    assert_same_rows(changes(history.path, begin=first, end=history.instants[1]), bounded)
    assert {row["_hoodie_commit_time"] for row in hudi.read(history.path)} <= set(history.instants)
    assert last in {row["_hoodie_commit_time"] for row in hudi.read(history.path)}


def changes(path: Path, **query: str) -> list[Row]:
    return ours.read(path, query_type="incremental", **query)


def test_hudi_cleans_what_we_replaced(history: History, hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "table"
    shutil.copytree(history.path, path)
    before = data_files(path)
    wanted = user_columns(ours.read(path))
    for generation in (6, 7):
        hudi.write(path, batch(range(3), generation, "europe"), "upsert", options=OPTIONS)
    assert hudi.ask("clean", table=str(path)) is not None
    gone = before - data_files(path)
    replaced = replaced_ids(path)
    assert replaced
    assert {name.split("_")[0] for name in gone} >= replaced
    rows = user_columns(hudi.read(path))
    assert_same_rows(user_columns(ours.read(path)), rows)
    assert len(rows) == len(wanted)


def data_files(path: Path) -> set[str]:
    return {p.name for p in path.rglob("*.parquet") if ".hoodie" not in p.parts}


def replaced_ids(path: Path) -> set[str]:
    found = [json.loads(p.read_text()) for p in (path / ".hoodie").glob("*.replacecommit")]
    groups = [ids for body in found for ids in body["partitionToReplaceFileIds"].values()]
    return {group for ids in groups for group in ids}


def test_we_go_on_after_overwrites_of_hudi(start: Path, hudi: RealHudi, spark, tmp_path) -> None:
    path = tmp_path / "table"
    shutil.copytree(start, path)
    first = pyhudi.open_table(str(path)).timeline.last_completed.time
    hudi.write(path, AFRICA, "insert_overwrite", options=OPTIONS)
    hudi.write(path, NOTHING, "delete_partition", options={**OPTIONS, TO_DELETE: "asia"})
    assert_same_rows(ours.read(path), hudi.read(path))
    # 0.15 notes the meta columns in the schema of a delete_partition, and fails at its own changes.
    if hudi.version != "0.15.0":
        assert_same_rows(changes(path, begin=first), hudi.read(path, begin=first))
    theirs = requested(path)
    ours.write(spark, path, batch(range(20, 40), 4), "upsert", OPTIONS)
    assert_same_rows(ours.read(path), hudi.read(path))
    ours.write(spark, path, batch(range(40, 60), 5, "asia"), "insert_overwrite", OPTIONS)
    assert_same_rows(ours.read(path), hudi.read(path))
    assert hudi.failures(path) == []
    assert requested(path)[0] == theirs[0], "an overwrite is requested as Hudi requests one"


def requested(path: Path) -> list[dict[str, object]]:
    files = sorted((path / ".hoodie").glob("*.replacecommit.requested"))
    return [record for file in files for record in read_container(file.read_bytes())]


def test_a_killed_overwrite_is_rolled_back_by_whoever_writes_next(
    history: History, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    for writer in ("hudi", "ours"):
        path = tmp_path / writer
        shutil.copytree(history.path, path)
        kill_last(path, history.instants[-1])
        assert_same_rows(ours.read(path), hudi.read(path))
        rows = batch(range(3), 9, "europe")
        if writer == "hudi":
            hudi.write(path, rows, "upsert", options=OPTIONS)
        else:
            ours.write(spark, path, rows, "upsert", OPTIONS)
        assert history.instants[-1] not in {i["requested"] for i in hudi.timeline(path)}
        assert not [name for name in data_files(path) if history.instants[-1] in name]
        assert_same_rows(ours.read(path), hudi.read(path))
        assert hudi.failures(path, exercise=False) == []


def kill_last(path: Path, instant: str) -> None:
    """Take the last write back to where a writer that died at the commit point leaves it."""
    (path / ".hoodie" / f"{instant}.replacecommit").unlink()
    for file in path.glob(f"*/*_{instant}.parquet"):
        marker = path / ".hoodie" / ".temp" / instant / file.relative_to(path)
        marker.parent.mkdir(parents=True, exist_ok=True)
        Path(f"{marker}.marker.CREATE").touch()
