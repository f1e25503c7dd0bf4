"""The script of compactions as it is submitted: what it prints, and what it ends with."""

import subprocess
import sys
from pathlib import Path

import pytest

import pyhudi
from pyhudi.jobs.request import FAILURE_MARKER, RESULT_MARKER
from pyhudi.jobs.result import JobResult
from tests.support.golden import expected_rows, golden_copy, row_texts, without

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).resolve().parents[2] / "spark_jobs" / "compaction.py"


def test_the_job_prints_its_result(tmp_path: Path) -> None:
    table = golden_copy("v6_mor_compacted", tmp_path)
    command = [sys.executable, SCRIPT, "--base-path", str(table), "--max-delta-commits", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
    result = JobResult.from_json(line.removeprefix(RESULT_MARKER))
    assert (done.returncode, result.status) == (0, "committed"), done.stderr
    found = row_texts(pyhudi.read_table(table, query_type="read_optimized"))
    expected = expected_rows("v6_mor_compacted")
    assert without(found, "_hoodie_file_name") == without(expected, "_hoodie_file_name")
    # What is not kept must not be trusted.
    properties = (table / ".hoodie" / "hoodie.properties").read_text()
    assert "hoodie.table.metadata.partitions=\n" in properties
    wrong = [*command, "--mode", "now"]
    failed = subprocess.run(wrong, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert f"{FAILURE_MARKER}OptionError" in failed.stderr
