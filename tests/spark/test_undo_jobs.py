"""The scripts of savepoints, restores and rollbacks as they are submitted, one after another."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs.request import FAILURE_MARKER, RESULT_MARKER
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.undo import deletion
from pyhudi.table.table import open_table
from tests.support.golden import golden_copy, row_texts

pytestmark = pytest.mark.spark

SCRIPTS = Path(__file__).resolve().parents[2] / "spark_jobs"


def test_a_job_prints_its_result_and_says_why_it_refuses(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_restore", tmp_path)
    *_, earlier, latest = open_table(table).timeline.write_instants().completed()
    before = row_texts(pyhudi.read_table(table, as_of=earlier.time))
    command = [sys.executable, SCRIPTS / "rollback.py", "--base-path", str(table), "--instant"]
    done = subprocess.run([*command, latest.time], capture_output=True, text=True, check=False)
    (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
    result = JobResult.from_json(line.removeprefix(RESULT_MARKER))
    assert (done.returncode, result.status) == (0, "committed"), done.stderr
    assert row_texts(pyhudi.read_table(table)) == before
    saved = subprocess.run([*command, earlier.time], capture_output=True, text=True, check=False)
    assert saved.returncode == 2
    assert f"{FAILURE_MARKER}RequestError" in saved.stderr
    assert "it has a savepoint; delete that first" in saved.stderr


def test_files_are_deleted_by_tasks_of_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_IN_DRIVER", 0)
    monkeypatch.setattr(deletion, "_FILES_A_TASK", 1)
    table = golden_copy("v6_cow_rollback", tmp_path)
    first, *_, latest = open_table(table).timeline.write_instants().completed()
    before = row_texts(pyhudi.read_table(table, as_of=first.time))
    saved = pyhudi.spark.savepoint(spark, table, first.time, user="me", comment="first")
    assert (saved.status, saved.savepoints[0]["comment"]) == ("committed", "first")
    assert pyhudi.spark.rollback(spark, table, latest.time).files["deleted"] == 2
    assert pyhudi.spark.restore(spark, table, first.time).files["deleted"] == 1
    assert row_texts(pyhudi.read_table(table)) == before
    left = [path for path in table.rglob("*.parquet") if f"_{first.time}." not in path.name]
    assert left == []
