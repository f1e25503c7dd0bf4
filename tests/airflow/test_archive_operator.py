"""Archiving from a DAG: the command, and no look for an earlier try."""

from datetime import datetime, timezone
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.archive import PyhudiArchiveOperator
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.result import JobResult
from tests.support.airflow import catch_submissions, task_context

ARCHIVED = JobResult(
    status="archived",
    operation="archive",
    table="flights",
    base_path="/data/flights",
    files={"instants": 11, "deleted": 33, "created": 1},
)


def make(**settings: Any) -> PyhudiArchiveOperator:
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return PyhudiArchiveOperator(task_id="archive", base_path="/data/flights", **settings)


def test_the_job_gets_the_arguments_and_no_earlier_try_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submissions = catch_submissions(monkeypatch, ARCHIVED)
    monkeypatch.setattr(PyhudiHook, "get_table", lambda *_: pytest.fail("no table is opened"))
    task = make(keep_min_commits=5, keep_max_commits="8", dry_run=True)
    result = task.execute(task_context(task))
    assert (result["status"], result["instant"]) == ("archived", None)
    assert result["files"]["instants"] == 11
    (command,) = submissions
    script = command.index(job_script("archive"))
    request = ArchiveRequest.from_args(command[script + 1 :])
    assert request.dry_run
    assert request.options()["hoodie.keep.min.commits"] == "5"
    assert request.options()["hoodie.keep.max.commits"] == "8"
