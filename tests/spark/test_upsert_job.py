"""The job script as it is submitted: what it prints, and what it ends with."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.jobs.request import APPLICATION_MARKER, FAILURE_MARKER, RESULT_MARKER
from pyhudi.jobs.result import JobResult
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


def last_line(log: str) -> str:
    """The end of a log, without its time and place."""
    return log.splitlines()[-1].split(": ", 1)[1]


def test_a_job_prints_its_result_and_does_not_commit_one_key_twice(tmp_path, landing: str) -> None:
    table, result_path = tmp_path / "table", tmp_path / "deep" / "result.json"
    more = ["--idempotency-key=k", "--operation=insert", "--result-path", str(result_path)]
    by_python = run([*PYTHON, *arguments(table, landing, *more)], tmp_path)
    assert by_python.returncode == 0, by_python.stderr
    line = RESULT_MARKER + result_path.read_text(encoding="utf-8")
    assert [text for text in by_python.stdout.splitlines() if text] == [line]
    first = printed_result(by_python)
    assert (first.status, first.table, first.records["inserted"]) == ("committed", "rows", 2)
    assert first.seconds["start"] <= first.seconds["total"]
    assert last_line(by_python.stderr).startswith(
        f"rows: insert committed {first.instant}: 2 inserted, "
    )
    by_submit = run([*SUBMIT, *arguments(table, landing, *more)], tmp_path)
    second = printed_result(by_submit)
    # spark-submit sends both streams of the driver to one.
    assert last_line(by_submit.stdout).startswith("rows: insert was committed by an earlier try")
    assert (second.status, second.instant) == ("already_committed", first.instant)
    assert pyhudi.read_table(str(table)).num_rows == 2


def test_a_wrong_request_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    table = tmp_path / "table"
    done = run([*PYTHON, *arguments(table, str(tmp_path / "nothing"))], tmp_path)
    assert done.returncode == 2
    (line,) = [text for text in done.stderr.splitlines() if FAILURE_MARKER in text]
    assert line == done.stderr.splitlines()[-1]
    assert str(tmp_path / "nothing") in line
    assert "Traceback" not in done.stderr
    assert not (table / ".hoodie").exists()


def test_a_misspelt_option_is_refused_before_spark_starts(tmp_path: Path, landing: str) -> None:
    more = ["--hoodie-conf", "hoodie.parquet.max.file.sise=1"]
    done = run([*PYTHON, *arguments(tmp_path / "table", landing, *more)], tmp_path)
    assert done.returncode == 2
    assert "did you mean hoodie.parquet.max.file.size?" in done.stderr
    assert "is up after" not in done.stderr
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize(
    ("source", "is_spark_asked"),
    [
        pytest.param("nothing", False, id="seen from here"),
        pytest.param("[^a]*", True, id="found out by Spark"),
    ],
)
def test_a_missing_source_is_skipped_when_that_is_asked_for(
    tmp_path: Path, source: str, is_spark_asked: bool
) -> None:
    table, landing = tmp_path / "table", tmp_path / "landing"
    landing.mkdir()
    (landing / "a.parquet").touch()
    more = ["--if-source-missing", "skip"]
    done = run([*PYTHON, *arguments(table, f"{landing}/{source}", *more)], tmp_path)
    assert done.returncode == 0, done.stderr
    result = printed_result(done)
    assert (result.status, result.instant, result.records["inserted"]) == ("skipped", None, 0)
    assert f"the source {landing}/{source}" in (result.reason or "")
    assert ("is up after" in done.stderr) is is_spark_asked
    assert not table.exists()


def test_a_source_that_is_late_ends_with_the_code_of_a_retry(tmp_path: Path) -> None:
    more = ["--if-source-missing", "retry"]
    done = run([*SUBMIT, *arguments(tmp_path / "table", str(tmp_path / "later"), *more)], tmp_path)
    assert done.returncode == 4
    # spark-submit sends the driver's standard error to its standard output.
    assert f"PYHUDI_FAILED LateSourceError: the source {tmp_path}/later" in done.stdout
    assert "is up after" not in done.stdout


@pytest.mark.parametrize("is_verbose", [False, True], ids=["quiet", "verbose"])
def test_only_verbose_shows_a_stack_trace(tmp_path: Path, is_verbose: bool) -> None:
    more = ["--hoodie-conf", "no pair", *(["--verbose"] if is_verbose else [])]
    done = run([*PYTHON, *arguments(tmp_path / "table", "/s", *more)], tmp_path)
    assert done.returncode == 2
    assert ("Traceback" in done.stderr) is is_verbose


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
            assert line.partition(APPLICATION_MARKER)[2].startswith("local-")
            break
    job.send_signal(signal.SIGTERM)
    rest = job.stderr.read()
    assert job.wait(timeout=60) == EXIT_STOPPED, rest
    assert "stopped by SIGTERM" in rest
    assert not list(table.glob(".hoodie/*.commit"))
