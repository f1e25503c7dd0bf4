"""Rollback, savepoint and restore from a DAG: the command, and what is refused before it."""

from datetime import datetime, timezone
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from airflow_provider_pyhudi.operators.restore import PyhudiRestoreOperator
from airflow_provider_pyhudi.operators.rollback import PyhudiRollbackOperator
from airflow_provider_pyhudi.operators.savepoint import PyhudiSavepointOperator
from pyhudi.jobs.request import Request
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from tests.support.airflow import Submissions, catch_submissions, task_context

INSTANT = "20260102030405678"
DONE = JobResult(
    status="committed",
    operation="rollback",
    table="flights",
    base_path="/data/flights",
    instant=INSTANT,
    savepoints=({"instant": INSTANT, "user": "airflow"},),
)


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    return catch_submissions(monkeypatch, DONE)


def make(kind: type[PyhudiJobOperator], **settings: Any) -> PyhudiJobOperator:
    given: dict[str, Any] = {"task_id": "mend", "base_path": "/data/flights"}
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return kind(**(given | settings))


def submitted(task: PyhudiJobOperator, kind: type[Request], submissions: Submissions) -> Any:
    """The request of the one command that the task submits."""
    context = task_context(task)
    returned = task.execute(context)
    assert returned["instant"] == INSTANT
    (command,) = submissions
    return kind.from_args(command[command.index(job_script(kind.script)) + 1 :])


AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)


@pytest.mark.parametrize("instant", [INSTANT, AT])
def test_a_rollback_and_a_restore_get_their_instant(submissions: Submissions, instant) -> None:
    rollback = make(PyhudiRollbackOperator, instant=instant)
    request = submitted(rollback, RollbackRequest, submissions)
    assert request.instant == rollback.request(task_context(rollback)).instant
    submissions.clear()
    restore = make(PyhudiRestoreOperator, instant=instant)
    assert submitted(restore, RestoreRequest, submissions).instant == request.instant


def test_a_savepoint_says_by_itself_who_made_it_and_what_for(submissions: Submissions) -> None:
    task = make(PyhudiSavepointOperator)
    assert "run_id" in task.comment
    task.comment = "flights.mend of today"
    request = submitted(task, SavepointRequest, submissions)
    assert (request.mode, request.instant, request.user) == ("create", None, "airflow")
    assert request.comment == "flights.mend of today"


def test_a_savepoint_is_deleted_by_its_instant(submissions: Submissions) -> None:
    task = make(PyhudiSavepointOperator, mode="delete", instant=INSTANT)
    request = submitted(task, SavepointRequest, submissions)
    assert (request.mode, request.instant, request.user) == ("delete", INSTANT, "")


@pytest.mark.parametrize(
    ("kind", "settings", "reason"),
    [
        (PyhudiRollbackOperator, {"instant": "2026-01-02"}, "no single instant"),
        (PyhudiRestoreOperator, {"instant": "yesterday"}, "no instant"),
        (PyhudiSavepointOperator, {"mode": "delete"}, "name the savepoint"),
        (PyhudiSavepointOperator, {"mode": "drop"}, "create, delete, list"),
    ],
)
def test_a_wrong_request_submits_nothing(kind, settings, reason, submissions: Submissions) -> None:
    task = make(kind, **settings)
    with pytest.raises(PyhudiRequestError, match=reason):
        task.execute(task_context(task))
    assert submissions == []


def test_the_result_has_the_savepoints(submissions: Submissions) -> None:
    task = make(PyhudiSavepointOperator)
    assert task.execute(task_context(task))["savepoints"] == [dict(DONE.savepoints[0])]
