"""Compaction from a DAG: the command, the plan's instant, and plans to map over."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator
from airflow_provider_pyhudi.stamp import idempotency_key
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.result import JobResult
from tests.support.airflow import Submissions, catch_submissions, task_context, timeline_folder
from tests.support.golden import golden_copy, golden_table

PLANNED = "20261121104850556"
SCHEDULED = JobResult(
    status="scheduled",
    operation="compact",
    table="flights",
    base_path="/data/flights",
    instant=PLANNED,
)


def make(**settings: Any) -> PyhudiCompactionOperator:
    given: dict[str, Any] = {"task_id": "compact", "base_path": "/data/flights"}
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return PyhudiCompactionOperator(**(given | settings))


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    return catch_submissions(monkeypatch, SCHEDULED)


def test_the_job_gets_the_arguments(submissions: Submissions, monkeypatch) -> None:
    monkeypatch.setattr(PyhudiHook, "find_plan", lambda *_, **__: None)
    task = make(
        mode="schedule",
        strategy="UnBoundedCompactionStrategy",
        max_delta_commits=3,
        hoodie_conf={"hoodie.compaction.target.io": 100},
    )
    context = task_context(task)
    assert task.execute(context)["instant"] == PLANNED
    (command,) = submissions
    script = command.index(job_script("compaction"))
    request = CompactionRequest.from_args(command[script + 1 :])
    assert (request.mode, request.max_delta_commits) == ("schedule", "3")
    assert request.idempotency_key == idempotency_key(context)
    assert request.commit_metadata["airflow.task_id"] == "compact"
    assert request.options()["hoodie.compaction.target.io"] == "100"


def test_a_log_compaction_is_asked_for_by_its_kind(submissions: Submissions, monkeypatch):
    monkeypatch.setattr(PyhudiHook, "find_plan", lambda *_, **__: None)
    task = make(
        kind="log_compaction",
        mode="schedule",
        hoodie_conf={"hoodie.log.compaction.blocks.threshold": 3},
    )
    task.execute(task_context(task))
    (command,) = submissions
    request = CompactionRequest.from_args(command[command.index(job_script("compaction")) + 1 :])
    assert (request.kind, request.operation_name) == ("log_compaction", "log_compact")
    assert request.options()["hoodie.log.compaction.blocks.threshold"] == "3"
    wrong = make(kind="log_compaction", strategy="UnBoundedCompactionStrategy")
    with pytest.raises(PyhudiRequestError, match="no strategy"):
        wrong.execute(task_context(wrong))


def test_a_mode_that_does_not_exist_fails_before_anything_is_submitted(
    submissions: Submissions,
) -> None:
    task = make(mode="plan")
    with pytest.raises(PyhudiRequestError, match="schedule_and_execute"):
        task.execute(task_context(task))
    assert submissions == []


def test_a_retry_whose_plan_was_made_submits_nothing(submissions: Submissions, tmp_path: Path):
    path = golden_copy("v6_mor_pending_compaction", tmp_path)
    task = make(base_path=str(path), mode="schedule")
    context = task_context(task)
    planned = path / ".hoodie" / f"{PLANNED}.compaction.requested"
    plan = CompactionPlan.from_bytes(planned.read_bytes())
    stamped = CompactionPlan(
        operations=plan.operations,
        extra_metadata={"pyhudi.idempotency.key": idempotency_key(context)},
    )
    planned.write_bytes(stamped.to_bytes())
    returned = task.execute(context)
    assert (returned["status"], returned["instant"]) == ("scheduled", PLANNED)
    assert submissions == []


def test_pending_plans_are_listed_for_mapping() -> None:
    hook = PyhudiHook()
    assert hook.pending_compactions(str(golden_table("v6_mor_pending_compaction"))) == [PLANNED]


def test_pending_log_compactions_are_listed_apart(tmp_path: Path) -> None:
    path = timeline_folder(
        tmp_path,
        "20260101000000000.deltacommit",
        "20260102000000000.logcompaction.requested",
        "20260103000000000.compaction.requested",
    )
    hook = PyhudiHook()
    assert hook.pending_compactions(path) == ["20260103000000000"]
    assert hook.pending_compactions(path, operation="log_compact") == ["20260102000000000"]


def test_a_table_without_plans_has_none(tmp_path: Path) -> None:
    path = timeline_folder(tmp_path, "20260101000000000.deltacommit")
    assert PyhudiHook().pending_compactions(path) == []


def test_tasks_can_be_mapped_over_plans() -> None:
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        mapped = PyhudiCompactionOperator.partial(
            task_id="compact", base_path="/data/flights", mode="execute"
        ).expand(instant=[PLANNED])
    assert mapped.operator_class is PyhudiCompactionOperator
