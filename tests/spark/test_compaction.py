"""Compaction through Spark, on copies of Hudi's tables."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.errors import ConflictError, OptionError, RequestError, UnsupportedError
from pyhudi.jobs import FAILURE_MARKER, RESULT_MARKER, CompactionRequest, JobResult
from pyhudi.spark.compaction import run_compaction
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.golden_memory import values
from tests.support.orders import OPTIONS, many, rows_of, write

DUE = {"hoodie.compact.inline.max.delta.commits": "1"}
TABLE = "v6_mor_pending_compaction"
PLANNED = "20261121104850556"


def test_a_plan_of_hudi_is_run_and_the_next_is_made(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy(TABLE, tmp_path)
    done = pyhudi.spark.compact(spark, table, mode="execute")
    assert (done.status, done.instant, done.operation) == ("committed", PLANNED, "compact")
    assert (done.files["created"], done.files["rewritten"]) == (0, 2)
    assert done.partitions == ("north", "south")
    assert set(done.stages) == {"write", "commit"}
    assert values(row_texts(pyhudi.read_table(table))) == values(expected_rows(TABLE))
    planned = pyhudi.spark.compact(spark, table, mode="schedule", options=DUE)
    assert planned.status == "scheduled"
    again = pyhudi.spark.compact(spark, table, mode="execute", instant=planned.instant)
    assert (again.status, again.instant) == ("committed", planned.instant)
    rows = row_texts(pyhudi.read_table(table, query_type="read_optimized"))
    assert values(rows) == values(expected_rows(TABLE))
    assert not list((table / ".hoodie" / ".heartbeat").iterdir())
    assert not list((table / ".hoodie" / ".temp").iterdir())


def test_nothing_is_planned_before_it_is_due(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy("v6_mor_logs_avro", tmp_path)
    found = pyhudi.spark.compact(
        spark, table, options={"hoodie.compact.inline.max.delta.commits": "90"}
    )
    assert (found.status, found.instant) == ("nothing_to_do", None)
    assert pyhudi.spark.compact(spark, table, mode="execute").status == "nothing_to_do"


def test_a_request_is_carried_out_once(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy("v6_mor_logs_avro", tmp_path)
    request = CompactionRequest(
        base_path=str(table),
        mode="schedule",
        max_delta_commits="1",
        commit_metadata={"team": "ops"},
        idempotency_key="once",
    )
    first, second = run_compaction(spark, request), run_compaction(spark, request)
    assert first.instant == second.instant
    both = CompactionRequest(
        base_path=str(table),
        max_delta_commits="1",
        commit_metadata={"team": "ops"},
        idempotency_key="once",
    )
    done = run_compaction(spark, both)
    assert (done.status, done.instant) == ("committed", first.instant)
    assert run_compaction(spark, both).status == "already_committed"
    commit = json.loads((table / ".hoodie" / f"{done.instant}.commit").read_text())
    assert commit["extraMetadata"]["team"] == "ops"
    assert commit["operationType"] == "COMPACT"


def test_a_plan_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy("v6_mor_logs_avro", tmp_path)
    planned = pyhudi.spark.compact(spark, table, mode="schedule", options=DUE).instant
    taken = pyhudi.spark.compact(spark, table, mode="unschedule", instant=planned)
    assert (taken.status, taken.instant) == ("unscheduled", planned)
    with pytest.raises(RequestError, match="not planned"):
        pyhudi.spark.compact(spark, table, mode="unschedule", instant=planned)


def test_a_request_that_is_wrong_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    with pytest.raises(UnsupportedError, match="has no log files"):
        pyhudi.spark.compact(spark, table)
    with pytest.raises(OptionError, match="mode is 'now'"):
        pyhudi.spark.compact(spark, table, mode="now")
    with pytest.raises(OptionError, match="leave --instant out"):
        pyhudi.spark.compact(spark, table, mode="schedule", instant=PLANNED)
    with pytest.raises(RequestError, match="there is no compaction"):
        pyhudi.spark.compact(
            spark,
            golden_copy("v6_mor_logs_avro", tmp_path),
            mode="execute",
            instant="20270101000000000",
        )


MERGE_ON_READ = {
    **OPTIONS,
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.parquet.small.file.limit": "0",
}


def written(spark: SparkSession, table: Path, ts: int, **more: str) -> JobResult:
    """Some keys again, with more options."""
    options = {**MERGE_ON_READ, **{key.replace("_", "."): value for key, value in more.items()}}
    return write(spark, table, many(range(ts, 20), ts, f"v{ts}"), options=options)


def compactions(table: Path) -> list[str]:
    """The states of compactions, oldest first."""
    names = sorted(path.name for path in (table / ".hoodie").glob("*"))
    plans = [name.split(".")[0] for name in names if name.endswith(".compaction.requested")]
    return ["done" if f"{time}.commit" in names else "planned" for time in plans]


def test_a_write_compacts_when_it_is_due(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "orders"
    inline = {"hoodie_compact_inline": "true", "hoodie_compact_inline_max_delta_commits": "3"}
    states = []
    for ts in range(1, 6):
        assert written(spark, table, ts, **inline).status == "committed"
        states.append(compactions(table))
    assert states == [[], [], ["done"], ["done"], ["done"]]
    rows = sorted((f"k{n:04d}", f"p{n % 2}", min(n, 5), f"v{min(n, 5)}") for n in range(1, 20))
    assert rows_of(table) == rows
    assert len(rows_of(table, query_type="read_optimized")) == 19


def test_a_write_only_plans_where_it_is_asked_to(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "orders"
    plans = {
        "hoodie_compact_schedule_inline": "true",
        "hoodie_compact_inline_max_delta_commits": "2",
    }
    written(spark, table, 1)
    for ts in (2, 3):
        written(spark, table, ts, **plans)
    assert compactions(table) == ["planned"]
    before = rows_of(table)
    runs = {"hoodie_compact_inline": "true", "hoodie_compact_inline_max_delta_commits": "9"}
    written(spark, table, 3, **runs)
    assert compactions(table) == ["done"]
    assert rows_of(table) == before


def test_a_write_that_is_asked_for_nothing_tells_when_one_is_due(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table, told = tmp_path / "orders", []
    due = {"hoodie_compact_inline_max_delta_commits": "2"}
    with caplog.at_level(logging.INFO, "pyhudi"):
        for ts in range(1, 5):
            caplog.clear()
            written(spark, table, ts, **due)
            told.append("a compaction is due" in caplog.text)
        caplog.clear()
        written(spark, table, 5, **due, hoodie_compact_schedule_inline="true")
    assert told == [False, False, True, True]
    assert "a compaction is due" not in caplog.text
    assert compactions(table) == ["planned"]


def test_a_write_stands_when_its_compaction_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ConflictError("another writer is at work")

    table = tmp_path / "orders"
    monkeypatch.setattr("pyhudi.services.compaction_kinds.schedule", fails)
    result = written(spark, table, 1, hoodie_compact_inline="true")
    assert result.status == "committed"
    assert len(rows_of(table)) == 19


@pytest.mark.parametrize(
    "shape",
    [{}, {"hoodie_table_base_file_format": "ORC"}, {"hoodie_populate_meta_fields": "false"}],
)
def test_writes_go_on_top_of_a_plan(
    shape: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "orders"
    for ts in (1, 2):
        written(spark, table, ts, **shape)
    planned = pyhudi.spark.compact(spark, table, mode="schedule", options=DUE).instant
    written(spark, table, 3)
    assert list(table.rglob(f"*_{planned}.log.1_*"))
    before = rows_of(table)
    assert pyhudi.spark.compact(spark, table, mode="execute").instant == planned
    assert rows_of(table) == before
    with pytest.raises(RequestError, match="completed already"):
        pyhudi.spark.compact(spark, table, mode="unschedule", instant=planned)
    written(spark, table, 4)
    before = rows_of(table)
    assert len(before) == 19
    assert pyhudi.spark.compact(spark, table, options=DUE).status == "committed"
    assert rows_of(table, query_type="read_optimized") == before


def test_the_job_prints_its_result(tmp_path: Path) -> None:
    table = golden_copy("v6_mor_compacted", tmp_path)
    script = Path(__file__).resolve().parents[2] / "spark_jobs" / "compaction.py"
    arguments = ["--base-path", str(table), "--max-delta-commits", "1"]
    done = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
    )
    (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
    result = JobResult.from_json(line.removeprefix(RESULT_MARKER))
    assert (done.returncode, result.status) == (0, "committed"), done.stderr
    rows = row_texts(pyhudi.read_table(table, query_type="read_optimized"))
    assert values(rows) == values(expected_rows("v6_mor_compacted"))
    # What is not kept must not be trusted.
    properties = (table / ".hoodie" / "hoodie.properties").read_text()
    assert "hoodie.table.metadata.partitions=\n" in properties
    failed = subprocess.run(
        [sys.executable, str(script), *arguments, "--mode", "now"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 2
    assert f"{FAILURE_MARKER}OptionError" in failed.stderr
