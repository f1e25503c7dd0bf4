"""The script of cleans as it is submitted: what it prints, and what it ends with."""

import subprocess
import sys
from pathlib import Path

import pytest

from pyhudi.jobs.request import FAILURE_MARKER, RESULT_MARKER
from pyhudi.jobs.result import JobResult
from tests.support.orders import OPTIONS, many, write
from tests.support.tree import data_files

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).resolve().parents[2] / "spark_jobs" / "clean.py"


def test_the_job_prints_what_would_go_as_a_table_and_then_its_result(tmp_path: Path) -> None:
    table = tmp_path / "table"
    for number in range(3):
        rows = many(range(8), number, "")
        write(table, rows, "upsert", {**OPTIONS, "hoodie.clean.automatic": "false"})
    command = [sys.executable, SCRIPT, "--base-path", str(table), "--retain-commits", "1"]
    for more, status, files in (
        ("--dry-run", "planned", 6),
        ("--mode=execute", "nothing_to_do", 6),
    ):
        done = subprocess.run([*command, more], capture_output=True, text=True, check=False)
        (line,) = (text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER))
        result = JobResult.from_json(line.removeprefix(RESULT_MARKER))
        assert (done.returncode, result.status) == (0, status), done.stderr
        told = done.stderr.splitlines()
        assert any(text.split() == ["p1", "1", "0.0"] for text in told) == (status == "planned")
        assert len(data_files(table)) == files
    wrong = subprocess.run([*command, "--mode=now"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert f"{FAILURE_MARKER}OptionError" in wrong.stderr
