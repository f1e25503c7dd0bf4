"""A driver on YARN: submitted once, waited for in the triggerer, killed there, found by retries."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError, PyhudiRequestError
from airflow_provider_pyhudi.stamp import idempotency_key
from airflow_provider_pyhudi.triggers.driver import TOLERATED, PyhudiDriverTrigger
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
from tests.support.snippets import snippets
from tests.support.source_tree import ROOT

APPLICATION = "application_1767225600000_0001"


class Yarn(ThreadingHTTPServer):
    """A ResourceManager that knows one application."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.states = [("RUNNING", "UNDEFINED")]
        self.asked: list[str] = []
        self.failures = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Yarn

    def do_GET(self) -> None:
        self.server.asked.append(f"GET {self.path}")
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(503)
            return
        states = self.server.states
        state, final = states.pop(0) if len(states) > 1 else states[0]
        app = {"state": state, "finalStatus": final, "diagnostics": "out of memory"}
        self._answer({"app": app})

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.asked.append(f"PUT {self.path} {json.loads(self.rfile.read(length))}")
        self._answer({})

    def _answer(self, body: Any) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def yarn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Yarn]:
    server = Yarn()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": server.address}
    connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands of a spark-submit are noted that ends as soon as YARN has the job."""
    return note_submissions(tmp_path, monkeypatch, f"Submitted application {APPLICATION}")


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobResult]:
    """What the timeline holds, by idempotency key."""
    return commits_by_key(monkeypatch)


def test_the_worker_is_free_once_yarn_has_the_job_and_the_timeline_tells_the_result(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    trigger = deferred(task, context)
    assert "waitAppCompletion=false" in submitted.read_text()
    yarn.states = [("ACCEPTED", "UNDEFINED"), ("RUNNING", "UNDEFINED"), ("FINISHED", "SUCCEEDED")]
    event = event_of(trigger)
    assert event["status"] == "succeeded"
    commits[idempotency_key(context)] = COMMITTED
    later = make()
    returned = later.execute_complete(context, event)
    assert (returned["status"], returned["instant"]) == ("committed", COMMITTED.instant)
    assert later.reached["application"] == {"id": APPLICATION}


def test_a_driver_that_failed_fails_the_task_with_what_yarn_says(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    trigger = deferred(task, context)
    yarn.states = [("FINISHED", "FAILED")]
    event = event_of(trigger)
    with pytest.raises(PyhudiEnvironmentError, match="ended as FAILED: out of memory"):
        make().execute_complete(context, event)


def test_a_driver_that_failed_after_its_commit_has_succeeded(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    commits[idempotency_key(context)] = COMMITTED
    event = {"status": "failed", "message": "killed"}
    assert task.execute_complete(context, event)["status"] == "committed"


def test_a_retry_after_the_loss_of_a_worker_waits_for_the_driver_that_runs(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make(retries=2)
    context = context_of(task)
    deferred(task, context)
    again = make(retries=2)
    later = context_of(again, context["task_state_store"], try_number=2)
    assert deferred(again, later).external_id == APPLICATION
    assert len(submitted.read_text().splitlines()) == 1


def test_a_retry_after_a_driver_that_failed_submits_again(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make(retries=2)
    context = context_of(task)
    deferred(task, context)
    yarn.states = [("FAILED", "FAILED")]
    deferred(make(retries=2), context_of(task, context["task_state_store"], try_number=2))
    assert len(submitted.read_text().splitlines()) == 2


def test_a_task_that_was_cleared_submits_again_though_its_driver_succeeded(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    deferred(task, context)
    yarn.states = [("FINISHED", "SUCCEEDED")]
    cleared = context_of(task, context["task_state_store"], try_number=2, cleared=1)
    deferred(make(), cleared)
    assert len(submitted.read_text().splitlines()) == 2


def test_a_try_whose_commit_is_there_submits_nothing(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make()
    context = context_of(task)
    commits[idempotency_key(context)] = COMMITTED
    assert task.execute(context)["status"] == "already_committed"
    assert not submitted.exists()


def test_killing_the_task_kills_the_application(yarn: Yarn) -> None:
    trigger = PyhudiDriverTrigger(
        conn_id="spark_default", external_id=APPLICATION, poll_interval=10
    )
    asyncio.run(trigger.on_kill())
    path = f"/ws/v1/cluster/apps/{APPLICATION}/state"
    assert yarn.asked == [f"PUT {path} {{'state': 'KILLED'}}"]


def test_a_cluster_that_does_not_answer_is_asked_again_and_at_last_given_up(yarn: Yarn) -> None:
    yarn.states = [("FINISHED", "SUCCEEDED")]
    trigger = PyhudiDriverTrigger(
        conn_id="spark_default", external_id=APPLICATION, poll_interval=10
    )
    yarn.failures = TOLERATED - 1
    assert event_of(trigger)["status"] == "succeeded"
    yarn.failures = TOLERATED
    event = event_of(trigger)
    assert (event["status"], "is not known" in event["message"]) == ("failed", True)


def succeeding(yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application runs and then succeeds; nobody sleeps in between."""
    yarn.states = [("RUNNING", "UNDEFINED"), ("FINISHED", "SUCCEEDED")]
    monkeypatch.setattr(spark_submit.time, "sleep", lambda _: None)


def test_a_driver_on_yarn_is_followed_by_the_worker_where_nothing_is_deferred(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    succeeding(yarn, monkeypatch)
    task = make(deferrable=False)
    context = context_of(task)
    assert task.execute(context)["status"] == "nothing_to_do"
    assert "waitAppCompletion=false" in submitted.read_text()
    assert {*yarn.asked} == {f"GET /ws/v1/cluster/apps/{APPLICATION}"}
    # A retry, as after the loss of a worker, finds it again.
    make(deferrable=False).execute(context_of(task, context["task_state_store"], try_number=2))
    assert len(submitted.read_text().splitlines()) == 1


@pytest.mark.parametrize("is_deferred", [False, True], ids=["worker", "triggerer"])
def test_yarn_that_cannot_be_asked_fails_at_once_and_says_what_to_set(
    yarn: Yarn,
    submitted: Path,
    commits: dict[str, JobResult],
    monkeypatch: pytest.MonkeyPatch,
    is_deferred: bool,
) -> None:
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    task = make(deferrable=is_deferred)
    wanted = "yarn_resourcemanager_webapp_address.*durable=False"
    with pytest.raises(PyhudiRequestError, match=wanted):
        task.execute(context_of(task))
    assert not submitted.exists()


def test_a_job_that_spark_submit_is_to_wait_for_cannot_be_followed(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult]
) -> None:
    task = make(deferrable=False, conf={"spark.yarn.submit.waitAppCompletion": "true"})
    with pytest.raises(PyhudiRequestError, match=r"waitAppCompletion=true.*durable=False"):
        task.execute(context_of(task))
    assert not submitted.exists()


def test_spark_submit_waits_for_a_driver_that_nobody_is_to_find_again(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    task = make(deferrable=False, durable=False)
    assert task.execute(context_of(task))["status"] == "nothing_to_do"
    assert "waitAppCompletion" not in submitted.read_text()


def test_the_job_of_the_page_of_clusters_runs_on_yarn(
    yarn: Yarn, submitted: Path, commits: dict[str, JobResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "guide" / "clusters.md").read_text(encoding="utf-8")
    exported = re.findall(r"^export (\w+)='(.*)'$", page, re.MULTILINE)
    for name, value in exported:
        monkeypatch.setenv(name, value.replace("http://rm:8088", yarn.address))
    keys = {"conn_type": "aws", "login": "key", "password": "secret"}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(keys))
    succeeding(yarn, monkeypatch)
    shown = next(each.values[0] for each in snippets("python") if "on_yarn" in each.values[0].code)
    task = shown.run(Path("/nowhere"))["on_yarn"]
    context = context_of(task) | {"ds": "2013-02-01"}
    task.render_template_fields(context)
    assert task.execute(context)["status"] == "nothing_to_do"
    (command,) = submitted.read_text().splitlines()
    for wanted in ("--master yarn", "--deploy-mode cluster", "--queue etl", "--py-files"):
        assert wanted in command
    assert "s3a://landing/orders/2013-02-01" in command


def test_a_secret_does_not_go_to_the_triggerer(yarn: Yarn, submitted: Path, commits: Any) -> None:
    from requests.auth import HTTPBasicAuth

    task = make(yarn_rm_auth=HTTPBasicAuth("user", "password"))
    with pytest.raises(PyhudiRequestError, match="yarn_rm_auth"):
        task.execute(context_of(task))
    assert not submitted.exists()


def test_a_driver_on_this_machine_is_waited_for_here(
    monkeypatch: pytest.MonkeyPatch, commits: dict[str, JobResult]
) -> None:
    from tests.support.airflow import catch_submissions

    caught = catch_submissions(monkeypatch, replace(COMMITTED, status="committed"))
    task = make(base_path="/data/flights", source="/landing")
    assert task.execute(context_of(task))["status"] == "committed"
    assert len(caught) == 1
