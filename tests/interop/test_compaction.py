"""Compactions of merge-on-read tables: of what the other wrote, and of what the other planned."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.services.compaction.run import compaction_run
from pyhudi.timeline.clock import SystemClock
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row, assert_same_rows, without
from tests.interop.scenarios import SCENARIOS, Scenario
from tests.interop.test_hudi_tables import payload
from tests.interop.test_merge_on_read import MERGE_ON_READ
from tests.support.clocks import SilentClock
from tests.support.faulty import dead_pid, heartbeat_of
from tests.support.golden_memory import write_slices
from tests.support.in_process import writer_on

BY_NAME = {s.name: s for s in SCENARIOS}
DUE = {"hoodie.compact.inline.max.delta.commits": "1"}
IN_MEMORY = {"hoodie.index.type": "INMEMORY"}
"""The index with which Hudi inserts into log files."""


def logged(hudi: RealHudi, table: Path, scenario: Scenario, **more: str) -> dict[str, str]:
    """A table with log files: updates newer and older, deletes, new keys; its options."""
    # Hudi's batch writes compact by themselves unless they are told not to.
    options = {**MERGE_ON_READ, **payload(scenario), "hoodie.compact.inline": "false", **more}
    first = scenario.batch(range(30), 2)
    created = {**scenario.options, **options}
    hudi.write(table, first, "insert", options=created, mode="overwrite")
    hudi.write(table, scenario.batch(range(20, 40), 4), "upsert", options=options)
    hudi.write(table, scenario.batch(range(15, 25), 1), "upsert", options=options)
    hudi.write(table, scenario.batch(range(5), 5), "delete", options=options)
    return options


def compact(spark: SparkSession, table: Path, **choices: Any) -> Any:
    return pyhudi.spark.compact(spark, table, options=DUE, **choices)


def kept(rows: list[Row]) -> list[Row]:
    """Rows with what a compaction must not change."""
    return without(rows, ("_hoodie_file_name",))


def check_compacted(hudi: RealHudi, table: Path, before: list[Row]) -> None:
    """Everyone reads the same rows as before, from base files alone."""
    assert_same_rows(kept(hudi.read(table)), kept(before))
    assert_same_rows(kept(ours.read(table, query_type="read_optimized")), kept(before))
    assert_same_rows(ours.read(table), hudi.read(table))
    assert_same_rows(ours.read_with_hudi_rs(table), hudi.read(table))


@pytest.mark.parametrize(
    ("name", "block"), [("every_type", "parquet"), ("commit_time_ordering", "avro")]
)
def test_we_compact_what_hudi_wrote(name: str, block: str, hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME[name], tmp_path / "table"
    options = logged(hudi, table, scenario, **{"hoodie.logfile.data.block.format": block})
    before = hudi.read(table)
    result = compact(spark, table)
    assert (result.status, result.operation) == ("committed", "compact")
    check_compacted(hudi, table, before)
    assert compact(spark, table).status == "nothing_to_do"
    hudi.write(table, scenario.batch(range(10, 20), 7), "upsert", options=options)
    hudi.write(table, scenario.batch(range(8, 12), 8), "upsert", options=options)
    assert_same_rows(ours.read(table), hudi.read(table))
    again = hudi.read(table)
    assert compact(spark, table).status == "committed"
    check_compacted(hudi, table, again)
    assert hudi.failures(table) == []


def test_log_files_without_base_file_are_compacted(hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME["nonpartitioned"], tmp_path / "table"
    logged(hudi, table, scenario, **IN_MEMORY)
    assert not list(table.glob("*.parquet"))
    before = hudi.read(table)
    assert compact(spark, table).files["created"] > 0
    check_compacted(hudi, table, before)
    assert hudi.failures(table) == []


def test_we_run_what_hudi_planned_with_log_files_on_top(hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = logged(hudi, table, scenario)
    planned = hudi.ask("plan_compaction", table=str(table))
    assert planned
    hudi.write(table, scenario.batch(range(10, 28), 6), "upsert", options=options)
    before = hudi.read(table)
    assert_same_rows(ours.read(table), before)
    result = compact(spark, table, mode="execute")
    assert (result.status, result.instant) == ("committed", planned)
    assert_same_rows(kept(hudi.read(table)), kept(before))
    assert_same_rows(ours.read(table), hudi.read(table))
    assert compact(spark, table, mode="execute", instant=planned).status == "already_committed"
    assert compact(spark, table).status == "committed"
    check_compacted(hudi, table, before)


def test_hudi_runs_what_we_planned_with_log_files_on_top(hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = logged(hudi, table, scenario)
    result = compact(spark, table, mode="schedule")
    assert result.status == "scheduled"
    hudi.write(table, scenario.batch(range(10, 28), 6), "upsert", options=options)
    before = hudi.read(table)
    assert_same_rows(ours.read(table), before)
    names = [path.name for path in table.rglob("*.log.*") if f"_{result.instant}.log." in path.name]
    assert names, "Hudi wrote on top of our plan"
    hudi.ask("run_compaction", table=str(table), instant=result.instant)
    assert (table / ".hoodie" / f"{result.instant}.commit").exists()
    assert_same_rows(kept(hudi.read(table)), kept(before))
    assert_same_rows(ours.read(table), hudi.read(table))


def test_both_plan_the_same(hudi: RealHudi, spark: SparkSession, tmp_path: Path) -> None:
    """Ours is taken back, and Hudi's has the same operations and metrics."""
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    logged(hudi, table, scenario)
    ours_ = compact(spark, table, mode="schedule").instant
    mine = read_plan_of(table, ours_)
    assert compact(spark, table, mode="unschedule", instant=ours_).status == "unscheduled"
    found = read_plan_of(table, hudi.ask("plan_compaction", table=str(table)))
    assert sorted(mine.operations, key=str) == sorted(found.operations, key=str)
    assert (mine.compactor_class, mine.preserves_meta_columns) == (
        found.compactor_class,
        found.preserves_meta_columns,
    )


def test_both_say_the_same_of_a_compaction(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    logged(hudi, table, scenario)
    undone = hudi.write(table, scenario.batch(range(9), 9), "upsert", options=MERGE_ON_READ)
    assert hudi.ask("rollback", table=str(table), instant=undone)
    before = hudi.read(table)
    planned = compact(spark, table, mode="schedule").instant
    theirs = tmp_path / "theirs"
    shutil.copytree(table, theirs)
    compact(spark, table, mode="execute", instant=planned)
    hudi.ask("run_compaction", table=str(theirs), instant=planned)
    assert_same_rows(kept(hudi.read(table)), kept(before))
    assert_same_rows(kept(hudi.read(theirs)), kept(before))
    mine, found = commit_of(table, planned), commit_of(theirs, planned)
    # Hudi 1.1 counts the rows of blocks that were rolled back too.
    leave_out = ("totalLogRecords",) if hudi.version == "1.1.1" else ()
    assert counts_of(mine, leave_out) == counts_of(found, leave_out)
    assert (mine["compacted"], mine["operationType"]) == (found["compacted"], "COMPACT")
    assert (
        json.loads(mine["extraMetadata"]["schema"])["fields"]
        == (json.loads(found["extraMetadata"]["schema"])["fields"])
    )


def test_a_run_of_ours_that_died_is_run_again_by_hudi(hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = logged(hudi, table, scenario)
    planned = compact(spark, table, mode="schedule").instant
    die_midway(table, planned)
    before = hudi.read(table)
    assert_same_rows(ours.read(table), before)
    hudi.write(table, scenario.batch(range(10, 28), 6), "upsert", options=options)
    before = hudi.read(table)
    hudi.ask("run_compaction", table=str(table), instant=planned)
    assert_same_rows(kept(hudi.read(table)), kept(before))
    assert_same_rows(ours.read(table), hudi.read(table))
    files = list(table.rglob(f"*_{planned}.parquet"))
    assert len(files) == len(read_plan_of(table, planned).operations)


def test_a_run_that_died_is_run_again_by_us(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    logged(hudi, table, scenario)
    planned = hudi.ask("plan_compaction", table=str(table))
    before = hudi.read(table)
    die_midway(table, planned)
    assert compact(spark, table, mode="execute", instant=planned).status == "committed"
    files = list(table.rglob(f"*_{planned}.parquet"))
    assert len(files) == len(read_plan_of(table, planned).operations)
    check_compacted(hudi, table, before)
    rolled_back = [each for each in hudi.timeline(table) if each["action"] == "rollback"]
    assert [each["state"] for each in rolled_back] == ["COMPLETED"]


def test_hudi_goes_on_where_we_wrote_and_compacted(hudi: RealHudi, spark, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    options = {**scenario.options, **MERGE_ON_READ, **payload(scenario), **inline}
    for generation in range(1, 5):
        ours.write(
            spark, table, scenario.batch(range(9 * generation), generation), "upsert", options
        )
        assert_same_rows(ours.read(table), hudi.read(table))
    actions = [each["action"] for each in hudi.timeline(table)]
    assert actions == ["deltacommit", "deltacommit", "deltacommit", "commit", "deltacommit"]
    by_hudi = {**MERGE_ON_READ, **payload(scenario), **inline}
    for generation in (5, 6):
        hudi.write(table, scenario.batch(range(20), generation), "upsert", options=by_hudi)
        assert_same_rows(ours.read(table), hudi.read(table))
    assert [each["action"] for each in hudi.timeline(table)][-1] == "commit"
    assert hudi.failures(table) == []


_DEAD: list[object] = []
"""Runs that ended as processes do: nothing of theirs is cleared up."""


def die_midway(table: Path, instant: str) -> None:
    """A run that has written its files and no commit."""
    clock = SilentClock(SystemClock().now_ms(), step_ms=1)
    run = compaction_run(writer_on(pyhudi.open_table(table).storage, clock), instant)
    _DEAD.append(run)
    work = run.__enter__()
    write_slices(work, instant)
    (table / ".hoodie" / ".heartbeat" / instant).write_bytes(heartbeat_of(dead_pid()))


def read_plan_of(table: Path, instant: str) -> CompactionPlan:
    path = table / ".hoodie" / f"{instant}.compaction.requested"
    return CompactionPlan.from_bytes(path.read_bytes())


def commit_of(table: Path, instant: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((table / ".hoodie" / f"{instant}.commit").read_text())
    return found


def counts_of(commit: dict[str, Any], leave_out: tuple[str, ...]) -> list[dict[str, Any]]:
    """Statistics without what two writers may have different, and what Hudi 1.1 says beside."""
    own = ("path", "totalWriteBytes", "fileSizeInBytes", "runtimeStats", *leave_out)
    own += ("totalLogReadTimeMs", "prevBaseFile", "numUpdates")
    stats = [each for found in commit["partitionToWriteStats"].values() for each in found]
    plain = [{key: value for key, value in each.items() if key not in own} for each in stats]
    return sorted(plain, key=lambda each: each["fileId"])
