"""Cleaning from a DAG: the command, and what comes back."""

from datetime import datetime, timezone
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.clean import PyhudiCleanOperator
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.result import JobResult
from tests.support.airflow import Submissions, catch_submissions, task_context

CLEANED = JobResult(
    status="committed",
    operation="clean",
    table="flights",
    base_path="/data/flights",
    instant="20261121104850556",
    files={"deleted": 3},
    bytes_deleted=4096,
)


def make(**settings: Any) -> PyhudiCleanOperator:
    given: dict[str, Any] = {"task_id": "clean", "base_path": "/data/flights"}
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return PyhudiCleanOperator(**(given | settings))


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    return catch_submissions(monkeypatch, CLEANED)


def test_the_job_gets_the_arguments(submissions: Submissions) -> None:
    task = make(
        mode="execute",
        instant=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc),
        policy="KEEP_LATEST_FILE_VERSIONS",
        retain_commits=3,
        dry_run=True,
        hoodie_conf={"hoodie.clean.fileversions.retained": 2},
    )
    returned = task.execute(task_context(task))
    assert (returned["files"], returned["bytes_deleted"]) == ({"deleted": 3}, 4096)
    (command,) = submissions
    request = CleanRequest.from_args(command[command.index(job_script("clean")) + 1 :])
    assert (request.mode, request.dry_run) == ("execute", True)
    assert request.instant == "2026-01-02T03:04:05.678000+00:00"
    options = request.options()
    assert options["hoodie.clean.policy"] == "KEEP_LATEST_FILE_VERSIONS"
    assert options["hoodie.clean.commits.retained"] == "3"
    assert options["hoodie.clean.fileversions.retained"] == "2"


def test_a_try_that_comes_again_cleans_again(submissions: Submissions) -> None:
    task = make()
    for _ in range(2):
        task.execute(task_context(task))
    assert len(submissions) == 2


def test_a_mode_that_does_not_exist_fails_before_anything_is_submitted(
    submissions: Submissions,
) -> None:
    task = make(mode="unschedule")
    with pytest.raises(PyhudiRequestError, match="schedule_and_execute"):
        task.execute(task_context(task))
    assert submissions == []
