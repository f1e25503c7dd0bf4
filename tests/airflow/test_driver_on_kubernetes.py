"""A driver on Kubernetes: submitted once, waited for, found by retries, killed with its task."""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit as hooks
from airflow.providers.apache.spark.operators import spark_submit as operators

from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError, PyhudiRequestError
from airflow_provider_pyhudi.stamp import idempotency_key
from pyhudi.jobs.result import JobResult
from tests.support.drivers import (
    COMMITTED,
    commits_by_key,
    context_of,
    deferred,
    event_of,
    make,
    note_submissions,
)

SPACE = "jobs"


class ApiError(Exception):
    """What the client of Kubernetes raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class Kubernetes:
    """A cluster of pods with the phases that they go through; those unnamed are running."""

    ApiException = ApiError

    def __init__(self) -> None:
        self.phases: dict[str, list[str]] = {}
        self.gone: set[str] = set()
        self.asked: list[str] = []

    def get_kube_client(self) -> "Kubernetes":
        return self

    def read_namespaced_pod(self, name: str, namespace: str) -> Any:
        assert namespace == SPACE
        self.asked.append(name)
        if name in self.gone:
            raise ApiError(404)
        phases = self.phases.get(name, ["Running"])
        phase = phases.pop(0) if len(phases) > 1 else phases[0]
        return SimpleNamespace(status=SimpleNamespace(phase=phase, container_statuses=None))

    def delete_namespaced_pod(self, name: str, namespace: str, **_: Any) -> None:
        assert namespace == SPACE
        self.gone.add(name)


def pod(number: int) -> str:
    return f"flights-{number}a-driver"


def spark_connection(monkeypatch: pytest.MonkeyPatch, **extra: str) -> None:
    extra = {"deploy-mode": "cluster", **extra}
    connection = {"conn_type": "spark", "host": "k8s://https://h:443", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Kubernetes:
    spark_connection(monkeypatch, namespace=SPACE)
    found = Kubernetes()
    for module in (hooks, operators):
        monkeypatch.setattr(module, "kube_client", found, raising=False)
    options = SimpleNamespace(client=SimpleNamespace(V1DeleteOptions=dict))
    monkeypatch.setitem(sys.modules, "kubernetes", options)
    monkeypatch.setattr(hooks.time, "sleep", lambda _: None)
    return found


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands of a spark-submit are noted that ends as soon as the pod is made."""
    return note_submissions(tmp_path, monkeypatch, "submission ID spark:flights-${n}a-driver")


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobResult]:
    """What the timeline holds, by idempotency key."""
    return commits_by_key(monkeypatch)


def submissions(submitted: Path) -> int:
    return len(submitted.read_text().splitlines())


def test_the_worker_is_free_once_the_pod_is_made_and_the_timeline_tells_the_result(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    trigger = deferred(task, context)
    assert trigger.external_id == f"{SPACE}:{pod(1)}"
    assert "waitAppCompletion=false" in submitted.read_text()
    cluster.phases[pod(1)] = ["Pending", "Running", "Succeeded"]
    event = event_of(trigger)
    assert event["status"] == "succeeded"
    assert cluster.asked == [pod(1)] * 3
    commits[idempotency_key(context)] = COMMITTED
    returned = make().execute_complete(context, event)
    assert (returned["status"], returned["instant"]) == ("committed", COMMITTED.instant)


@pytest.mark.parametrize("ending", ["Failed", "gone"])
def test_a_pod_that_failed_or_is_gone_fails_the_task(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult], ending: str
) -> None:
    task = make()
    context = context_of(task)
    trigger = deferred(task, context)
    if ending == "gone":
        cluster.gone.add(pod(1))
    else:
        cluster.phases[pod(1)] = [ending]
    event = event_of(trigger)
    with pytest.raises(PyhudiEnvironmentError, match=f"the pod {pod(1)} "):
        make().execute_complete(context, event)


def test_a_retry_waits_for_the_pod_that_runs_and_submits_after_one_that_failed(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make(retries=2)
    context = context_of(task)
    store = context["task_state_store"]
    deferred(task, context)
    assert deferred(make(retries=2), context_of(task, store, try_number=2)).external_id.endswith(
        pod(1)
    )
    assert submissions(submitted) == 1
    cluster.phases[pod(1)] = ["Failed"]
    assert deferred(make(retries=2), context_of(task, store, try_number=3)).external_id.endswith(
        pod(2)
    )
    assert submissions(submitted) == 2


def tracked(**settings: Any) -> Any:
    return make(deferrable=False, track_driver_via_k8s_api=True, **settings)


def test_a_pod_that_succeeded_is_remembered_over_tries_when_it_is_collected(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = tracked(retries=1)
    context = context_of(task)
    cluster.phases[pod(1)] = ["Succeeded"]
    task.execute(context)
    cluster.gone.add(pod(1))
    store = context["task_state_store"]
    tracked(retries=1).execute(context_of(task, store, try_number=2))
    assert submissions(submitted) == 1


@pytest.mark.parametrize("is_deferred", [False, True], ids=["worker", "triggerer"])
def test_a_task_that_was_cleared_submits_again_though_its_pod_succeeded(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult], is_deferred: bool
) -> None:
    task = tracked()
    context = context_of(task)
    cluster.phases = {pod(1): ["Succeeded"], pod(2): ["Succeeded"]}
    task.execute(context)
    store = context["task_state_store"]
    assert "Succeeded" in store.values()
    cleared = context_of(task, store, try_number=2, cleared=1)
    if is_deferred:
        deferred(make(), cleared)
    else:
        tracked().execute(cleared)
    assert submissions(submitted) == 2


def test_killing_the_task_deletes_the_pod_that_the_triggerer_waits_for(
    cluster: Kubernetes, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    trigger = deferred(task, context_of(task))
    asyncio.run(trigger.on_kill())
    assert cluster.gone == {pod(1)}


def test_killing_the_task_deletes_the_pod_that_the_worker_waits_for(
    cluster: Kubernetes,
    submitted: Path,
    commits: dict[str, JobResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = tracked()
    # As when Airflow stops the task while it waits.
    monkeypatch.setattr(hooks.time, "sleep", lambda _: task.on_kill())
    task.execute(context_of(task))
    assert cluster.gone == {pod(1)}


def test_a_connection_without_a_namespace_fails_at_once(
    cluster: Kubernetes,
    submitted: Path,
    commits: dict[str, JobResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark_connection(monkeypatch)
    task = make()
    with pytest.raises(PyhudiRequestError, match="requires a namespace"):
        task.execute(context_of(task))
    assert not submitted.exists()
