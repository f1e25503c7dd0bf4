"""The script of bootstraps as it is submitted, and bootstraps in a session: what they leave."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
from pyhudi.errors import RecordKeyError
from pyhudi.jobs.request import FAILURE_MARKER, RESULT_MARKER
from pyhudi.jobs.result import JobResult
from pyhudi.spark import bootstrap, read, write
from tests.support.datasets import MIXED, SMALL_BLOOMS, dataset, file_bytes, lay_out, people

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).resolve().parents[2] / "spark_jobs" / "bootstrap.py"
OPTIONS = {
    **SMALL_BLOOMS,
    "hoodie.table.name": "people",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
}


def test_the_job_tells_what_it_would_do_and_then_does_it(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", dataset())
    command = [
        *(sys.executable, str(SCRIPT), "--base-path", str(tmp_path / "table")),
        *("--source", str(source), "--table-name", "people", "--record-key", "id"),
        *("--ordering-field", "ts", "--selector", "regex", "--regex", ".*north"),
    ]
    for more, status in (("--dry-run", "planned"), ("--verbose", "committed")):
        done = subprocess.run([*command, more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
        result = JobResult.from_json(line.removeprefix(RESULT_MARKER))
        assert result.status == status
        told = [text.split() for text in done.stderr.splitlines()]
        planned = ["part=west", "FULL_RECORD", "2", "10", "0.0", "files", "with", "10", "rows"]
        assert (planned in told) == (status == "planned")
    assert result.instant == "00000000000002"
    assert "30 inserted" in done.stderr
    assert pyhudi.read_table(tmp_path / "table").num_rows == 30
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert f"{FAILURE_MARKER}RequestError: the timeline of the table people" in again.stderr


def test_a_session_bootstraps_reads_and_writes_on_top(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, table = lay_out(tmp_path / "source", dataset()), tmp_path / "table"
    caplog.set_level(logging.INFO, "pyhudi")
    result = bootstrap(spark, source, table, options={**OPTIONS, **MIXED})
    # Tasks are heard one by one, before all of them have ended.
    far = [line for line in caplog.messages if "of the source are taken over" in line]
    assert "1 of 6 files" in far[0]
    assert "6 of 6 files" in far[-1]
    assert "0 files and 0.0 MiB are left" in far[-1]
    assert (result.status, result.records["inserted"]) == ("committed", 30)
    frame = read(spark, table)
    assert sorted(row.id for row in frame.select("id").collect()) == people(0, 30)["id"].to_pylist()
    changed = frame.where("id = 'k0001' or id = 'k0029'").selectExpr(
        "id", "ts + 1000 as ts", "cast(-1 as double) as score", "part"
    )
    updated = write(changed, table, options=SMALL_BLOOMS)
    assert updated.records["updated"] == 2
    rows = pyhudi.read_table(table, columns=["id", "score"]).to_pylist()
    assert len(rows) == 30
    assert {row["id"] for row in rows if row["score"] == -1.0} == {"k0001", "k0029"}


def test_a_null_key_is_told_without_a_stack_trace_and_leaves_no_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = people(0, 3).slice(0, 3)
    nulled = rows.set_column(0, "id", rows["id"].cast("string").take([0, None, 2]))
    source = lay_out(tmp_path / "source", {"a.parquet": file_bytes(nulled)})
    with pytest.raises(RecordKeyError, match=r"a\.parquet.*is row 1"):
        bootstrap(spark, source, tmp_path / "table", options=OPTIONS)
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
