"""Log compactions of merge-on-read tables: of what the other wrote, and of what it planned."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.jobs.compaction import LOG_COMPACTION_KIND
from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import iter_blocks
from pyhudi.services.compaction.log_run import log_compaction_run
from pyhudi.timeline.clock import SystemClock
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row, assert_same_rows, rows_of, without
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_compaction import IN_MEMORY, compact, counts_of, logged
from tests.interop.test_hudi_tables import payload
from tests.interop.test_merge_on_read import MERGE_ON_READ
from tests.support.faulty import dead_pid, heartbeat_of
from tests.support.golden_memory import write_slices
from tests.support.in_process import writer_on

BY_NAME = {s.name: s for s in SCENARIOS}
FEW = {"hoodie.log.compaction.blocks.threshold": "2"}
SHAPES = {"0.15.0": ("every_type", "parquet"), "1.1.1": ("commit_time_ordering", "avro")}
"""One table for each release, and what the rows in its log blocks are written as."""
OPTIMIZED = {"hoodie.optimized.log.blocks.scan.enable": "true"}
"""The scan with which Hudi puts compacted blocks where those stood that they are made of."""


def log_compact(spark: SparkSession, table: Path, block: str = "avro", **choices: Any) -> Any:
    options = {**FEW, "hoodie.logfile.data.block.format": block}
    return pyhudi.spark.compact(spark, table, kind="log_compaction", options=options, **choices)


def kept(hudi: RealHudi, rows: list[Row], *, is_ours: bool = True) -> list[Row]:
    """Rows with what a log compaction must not change."""
    # Hudi 1.1 makes all rows of a log compaction rows of its own instant.
    is_renewed = hudi.version == "1.1.1" and not is_ours
    renewed = ("_hoodie_commit_time", "_hoodie_commit_seqno") if is_renewed else ()
    return without(rows, renewed)


def check_read(hudi: RealHudi, table: Path) -> list[Row]:
    """Everyone reads the same; the rows."""
    rows = hudi.read(table)
    assert_same_rows(ours.read(table), rows)
    assert_same_rows(ours.read_with_hudi_rs(table), rows)
    return rows


def check_compacted_by_hudi(hudi: RealHudi, table: Path, before: list[Row]) -> None:
    """A compaction by Hudi comes to the same rows."""
    planned = hudi.ask("plan_compaction", table=str(table))
    hudi.ask("run_compaction", table=str(table), instant=planned, options=OPTIMIZED)
    own = ("_hoodie_file_name",)
    assert_same_rows(without(hudi.read(table), own), without(before, own))
    assert_same_rows(without(ours.read(table), own), without(before, own))


def test_we_log_compact_what_hudi_wrote(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    name, block = SHAPES[hudi.version]
    scenario, table = BY_NAME[name], tmp_path / "table"
    kind = {"hoodie.logfile.data.block.format": block}
    options = logged(hudi, table, scenario, **kind)
    before = hudi.read(table)
    begin = hudi.timeline(table)[1]["requested"]
    result = log_compact(spark, table, block)
    assert (result.status, result.operation) == ("committed", "log_compact")
    assert (result.files["created"], result.files["rewritten"]) == (0, 0)
    assert_same_rows(check_read(hudi, table), before)
    assert log_compact(spark, table, block).status == "nothing_to_do"
    hudi.write(table, scenario.batch(range(10, 20), 7), "upsert", options=options)
    hudi.write(table, scenario.batch(range(18, 22), 8), "delete", options=options)
    before = hudi.read(table)
    assert log_compact(spark, table, block).status == "committed"
    assert_same_rows(check_read(hudi, table), before)
    if hudi.version == "1.1.1":
        check_history(hudi, table, begin)
    check_compacted_by_hudi(hudi, table, before)


def check_history(hudi: RealHudi, table: Path, begin: str) -> None:
    """Earlier rows and changes are read alike, and Hudi finds the table in order."""
    between = hudi.timeline(table)[5]["requested"]
    assert_same_rows(ours.read(table, as_of=between), hudi.read(table, as_of=between))
    changed = ours.read(table, query_type="incremental", begin=begin)
    assert_same_rows(changed, hudi.read(table, begin=begin))
    assert hudi.failures(table, exercise=False) == []


def test_hudi_log_compacts_what_we_wrote(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = {**scenario.options, **MERGE_ON_READ, **payload(scenario)}
    ours.write(spark, table, scenario.batch(range(30), 1), "insert", options)
    ours.write(spark, table, scenario.batch(range(20, 40), 3), "upsert", options)
    ours.write(spark, table, scenario.batch(range(4, 9), 4), "delete", options)
    before = hudi.read(table)
    planned = hudi.ask("plan_log_compaction", table=str(table))
    hudi.ask("run_log_compaction", table=str(table), instant=planned)
    assert (table / ".hoodie" / f"{planned}.deltacommit").exists()
    check_read(hudi, table)
    assert_same_rows(kept(hudi, ours.read(table), is_ours=False), kept(hudi, before, is_ours=False))
    ours.write(spark, table, scenario.batch(range(6, 22), 5), "upsert", options)
    check_read(hudi, table)
    assert log_compact(spark, table).status == "committed"
    assert compact(spark, table).status == "committed"
    check_read(hudi, table)


def test_both_make_the_same_of_one_plan(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    logged(hudi, table, scenario)
    theirs = hudi.ask("plan_log_compaction", table=str(table))
    by_hudi = read_plan(table, theirs)
    assert log_compact(spark, table, mode="unschedule", instant=theirs).status == "unscheduled"
    planned = log_compact(spark, table, mode="schedule").instant
    by_us = read_plan(table, planned)
    assert sorted(by_us.operations, key=str) == sorted(by_hudi.operations, key=str)
    assert (by_us.compactor_class, by_us.preserves_meta_columns) == (by_hudi.compactor_class, True)
    copied = tmp_path / "copied"
    shutil.copytree(table, copied)
    assert log_compact(spark, table, mode="execute").instant == planned
    hudi.ask("run_log_compaction", table=str(copied), instant=planned)
    mine, found = commit_of(table, planned), commit_of(copied, planned)
    # Hudi 1.1 counts deletes among the records of logs.
    leave_out = ("logFiles", "recordsStats")
    leave_out += ("totalLogRecords",) if hudi.version == "1.1.1" else ()
    assert counts_of(mine, leave_out) == counts_of(found, leave_out)
    assert (mine["compacted"], mine["operationType"]) == (found["compacted"], "LOG_COMPACT")
    assert blocks_of(hudi, table, planned) == blocks_of(hudi, copied, planned)
    assert_same_rows(hudi.read(table), ours.read(table))


def test_log_files_without_base_file_are_log_compacted(hudi: RealHudi, spark, tmp_path) -> None:
    only("0.15.0", hudi)
    scenario, table = BY_NAME["nonpartitioned"], tmp_path / "table"
    logged(hudi, table, scenario, **IN_MEMORY)
    before = hudi.read(table)
    assert log_compact(spark, table).status == "committed"
    assert_same_rows(check_read(hudi, table), before)
    check_compacted_by_hudi(hudi, table, before)


def test_a_plan_that_no_longer_fits_is_left(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    """Hudi would put what it holds above what was written since."""
    only("1.1.1", hudi)
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = logged(hudi, table, scenario)
    planned = hudi.ask("plan_log_compaction", table=str(table))
    hudi.write(table, scenario.batch(range(2), 6), "upsert", options=options)
    before = hudi.read(table)
    result = log_compact(spark, table, mode="execute", instant=planned)
    assert result.status == "committed"
    plan = read_plan(table, planned)
    assert 0 < result.files["appended"] < len(plan.operations)
    assert_same_rows(check_read(hudi, table), before)


def test_a_run_that_died_is_passed_by_and_undone(hudi: RealHudi, spark, tmp_path) -> None:
    only("0.15.0", hudi)
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = logged(hudi, table, scenario)
    planned = log_compact(spark, table, mode="schedule").instant
    die_midway(table, planned)
    assert_same_rows(ours.read(table), hudi.read(table))
    hudi.write(table, scenario.batch(range(10, 28), 6), "upsert", options=options)
    check_read(hudi, table)
    assert log_compact(spark, table).status == "committed"
    assert not list((table / ".hoodie").glob(f"{planned}*"))
    check_read(hudi, table)


def only(version: str, hudi: RealHudi) -> None:
    if hudi.version != version:
        pytest.skip(f"one release says enough, which is {version}")


_DEAD: list[object] = []
"""Runs that ended as processes do: nothing of theirs is cleared up."""


def die_midway(table: Path, instant: str) -> None:
    """A run that has written its files and no commit."""
    run = log_compaction_run(writer_on(pyhudi.open_table(table).storage, SystemClock()), instant)
    _DEAD.append(run)
    write_slices(run.__enter__(), instant, LOG_COMPACTION_KIND)
    for heartbeat in (table / ".hoodie" / ".heartbeat").iterdir():
        heartbeat.write_bytes(heartbeat_of(dead_pid()))


def read_plan(table: Path, instant: str) -> CompactionPlan:
    path = table / ".hoodie" / f"{instant}.logcompaction.requested"
    return CompactionPlan.from_bytes(path.read_bytes())


def commit_of(table: Path, instant: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((table / ".hoodie" / f"{instant}.deltacommit").read_text())
    return found


def blocks_of(hudi: RealHudi, table: Path, instant: str) -> list[tuple[Any, ...]]:
    """The blocks of a write: file group, kind, what they stand for, and what they hold."""
    found = []
    for path in sorted(table.rglob("*.log.*")):
        source = pa.BufferReader(path.read_bytes())
        for block in iter_blocks(source, path.name):
            if block.instant != instant:
                continue
            parts = block.header[HeaderKey.COMPACTED_BLOCK_TIMES]
            if block.kind is BlockKind.DELETE:
                deletes = read_deletes(block, source)
                held: Any = sorted(
                    zip(deletes.keys.to_pylist(), deletes.kinds.tolist(), strict=True)
                )
            else:
                rows = pa.concat_tables(iter_rows(block, source))
                held = sorted(kept(hudi, rows_of(rows), is_ours=False), key=str)
            found.append((path.name.partition("_")[0], block.kind, parts, held))
    return sorted(found, key=str)
