"""The script of archiving as it is submitted: what it lists, and what it does."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs.request import RESULT_MARKER
from pyhudi.jobs.result import JobResult
from tests.support.golden import expected_rows, golden_copy, row_texts

pytestmark = pytest.mark.spark

RETAINING_ONE = {"hoodie.clean.commits.retained": "1"}
SCRIPT = Path(__file__).resolve().parents[2] / "spark_jobs" / "archive.py"


def test_the_files_of_many_instants_are_deleted_by_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = golden_copy("v6_cow_archived", tmp_path)
    monkeypatch.setattr("pyhudi.pipeline.archive._FILES_A_TASK", 1)
    few = {"hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2", **RETAINING_ONE}
    planned = pyhudi.spark.archive(spark, table, options=few, dry_run=True)
    done = pyhudi.spark.archive(spark, table, options=few)
    assert (done.status, done.files["deleted"]) == ("archived", planned.files["planned"])
    assert not [name for name in planned.by_instant if list((table / ".hoodie").glob(f"{name}.*"))]


def run(table: Path, *flags: str) -> tuple[JobResult, str]:
    few = ["--keep-min-commits", "1", "--keep-max-commits", "2"]
    kept = ["--hoodie-conf", "hoodie.clean.commits.retained=1"]
    command = [sys.executable, SCRIPT, "--base-path", str(table), *few, *kept, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
    return JobResult.from_json(line.removeprefix(RESULT_MARKER)), done.stderr


def test_the_job_lists_what_would_leave_and_then_archives_it(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_archived", tmp_path)
    files = sorted((table / ".hoodie").iterdir())
    planned, said = run(table, "--dry-run")
    assert planned.status == "planned"
    assert sorted((table / ".hoodie").iterdir()) == files
    rows = [line.split() for line in said.splitlines() if line.startswith(("instant ", "2026"))]
    assert rows[0] == ["instant", "action", "files", "bytes"]
    assert [row[0] for row in rows[1:]] == list(planned.by_instant)
    done, said = run(table)
    assert (done.status, done.files["instants"]) == ("archived", len(planned.by_instant))
    assert "instants from the timeline" in said
    assert not [name for name in planned.by_instant if list((table / ".hoodie").glob(f"{name}.*"))]
    assert row_texts(pyhudi.read_table(table)) == expected_rows("v6_cow_archived")
