"""The job script as it is submitted: what it prints, and what it ends with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.jobs import FAILURE_MARKER, RESULT_MARKER, JobResult
from pyhudi.spark.job import EXIT_STOPPED

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "spark_jobs" / "upsert.py")
PYTHON = [sys.executable, SCRIPT]
SUBMIT = [str(Path(sys.executable).parent / "spark-submit"), SCRIPT]


@pytest.fixture
def landing(tmp_path: Path) -> str:
    path = tmp_path / "landing" / "rows.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"id": ["a", "b"], "part": ["x", "y"], "ts": [1, 2]}), path)
    return str(path)


def arguments(table: Path, source: str, *more: str) -> list[str]:
    return [
        *("--base-path", str(table), "--source", source, "--table-name", "rows"),
        *("--record-key", "id", "--partition-path", "part", "--ordering-field", "ts"),
        *more,
    ]


def environment(scratch: Path) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH",)}
    return clean | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(scratch)}


def run(command: list[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(scratch), cwd=scratch, check=False
    )


def printed_result(done: subprocess.CompletedProcess[str]) -> JobResult:
    (line,) = [text for text in done.stdout.splitlines() if text.startswith(RESULT_MARKER)]
    return JobResult.from_json(line.removeprefix(RESULT_MARKER))


@pytest.mark.parametrize(
    "command", [pytest.param(PYTHON, id="python"), pytest.param(SUBMIT, id="spark-submit")]
)
def test_a_job_prints_its_result_once_and_nothing_else(
    command: list[str], tmp_path: Path, landing: str
) -> None:
    table, result_path = tmp_path / "table", tmp_path / "deep" / "result.json"
    done = run([*command, *arguments(table, landing, "--result-path", str(result_path))], tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line] == [
        RESULT_MARKER + result_path.read_text(encoding="utf-8")
    ]
    result = printed_result(done)
    assert (result.status, result.table) == ("committed", "rows")
    assert result.records["inserted"] == 2
    assert pyhudi.read_table(str(table)).num_rows == 2


def test_a_key_that_was_committed_is_not_committed_again(tmp_path: Path, landing: str) -> None:
    table = tmp_path / "table"
    command = [*PYTHON, *arguments(table, landing, "--idempotency-key=k", "--operation=insert")]
    first, second = printed_result(run(command, tmp_path)), printed_result(run(command, tmp_path))
    assert (first.status, second.status) == ("committed", "already_committed")
    assert first.instant == second.instant
    assert pyhudi.read_table(str(table)).num_rows == 2


def test_a_wrong_request_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    table = tmp_path / "table"
    done = run([*PYTHON, *arguments(table, str(tmp_path / "nothing"))], tmp_path)
    assert done.returncode == 2
    (line,) = [text for text in done.stderr.splitlines() if FAILURE_MARKER in text]
    assert str(tmp_path / "nothing") in line
    assert "Traceback" not in done.stderr
    assert not (table / ".hoodie").exists()


def test_verbose_adds_the_stack_trace(tmp_path: Path) -> None:
    command = [*PYTHON, *arguments(tmp_path / "table", str(tmp_path / "nothing"), "--verbose")]
    assert "Traceback" in run(command, tmp_path).stderr


def test_a_job_that_is_stopped_leaves_no_rows(tmp_path: Path, landing: str) -> None:
    table = tmp_path / "table"
    job = subprocess.Popen(
        [*PYTHON, *arguments(table, landing)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert job.stderr is not None
    for line in job.stderr:
        if "is up after" in line:
            break
    job.send_signal(signal.SIGTERM)
    rest = job.stderr.read()
    assert job.wait(timeout=60) == EXIT_STOPPED, rest
    assert "stopped by SIGTERM" in rest
    assert not list(table.glob(".hoodie/*.commit"))
