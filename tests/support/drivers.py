"""Operators whose driver runs on a cluster: what is submitted, deferred, and kept over tries."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import TaskDeferred

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.triggers.driver import PyhudiDriverTrigger
from pyhudi.jobs.result import JobResult
from tests.support.airflow import task_context

COMMITTED = JobResult(
    status="already_committed",
    operation="upsert",
    table="flights",
    base_path="hdfs:///lake/flights",
    instant="20260102030405678",
)


def note_submissions(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> Path:
    """Have a spark-submit that notes its commands, a line each, and says that the job is there.

    What it says may have the number of the submission, as ``$n``.
    """
    noted, binary = folder / "commands", folder / "bin" / "spark-submit"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\necho "$@" >> {noted}\nn=$(grep -c "" {noted})\necho "{says}"\n')
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(binary.parent), prepend=":")
    monkeypatch.setattr(PyhudiSparkSubmitHook, "check_connectors", lambda *_: None)
    monkeypatch.setattr(PyhudiHook, "live_writers", lambda *_: [])
    return noted


def commits_by_key(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobResult]:
    """What the timeline holds from now on, by idempotency key."""
    found: dict[str, JobResult] = {}
    monkeypatch.setattr(PyhudiHook, "find_commit", lambda _, path, key, **__: found.get(key))
    return found


def make(**settings: Any) -> PyhudiUpsertOperator:
    given = {
        "task_id": "upsert",
        "base_path": "hdfs:///lake/flights",
        "source": "hdfs:///landing",
        "table_name": "flights",
        "ship_engine": False,
        "deferrable": True,
    }
    return PyhudiUpsertOperator(**(given | settings))


def context_of(task: Any, store: dict[str, Any] | None = None, **tries: int) -> dict[str, Any]:
    context = task_context(task, **tries) | {"task_state_store": Store(store)}
    context["ti"].stats_tags = {}
    return context


class Store(dict[str, Any]):
    """What Airflow keeps for a task instance over its tries, cleared ones too."""

    def __init__(self, found: dict[str, Any] | None) -> None:
        super().__init__(found or {})

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def deferred(task: Any, context: Any) -> PyhudiDriverTrigger:
    with pytest.raises(TaskDeferred) as caught:
        task.execute(context)
    assert caught.value.method_name == "execute_complete"
    kind, arguments = caught.value.trigger.serialize()
    assert kind == f"{PyhudiDriverTrigger.__module__}.PyhudiDriverTrigger"
    return PyhudiDriverTrigger(**json.loads(json.dumps(arguments)))


def event_of(trigger: PyhudiDriverTrigger) -> dict[str, str]:
    trigger.poll_interval = 0.01

    async def first() -> dict[str, str]:
        return (await anext(trigger.run())).payload

    return asyncio.run(first())
