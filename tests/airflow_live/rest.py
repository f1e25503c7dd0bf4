"""Airflow's REST API, as a script of a user would talk to it."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.airflow_live.processes import wait_until

_BUSY = 503
_ASKED_ALREADY = 409
_PAUSE_S = 0.5
ENDED = ("success", "failed")


class RestError(Exception):
    """An answer that is none of success; has its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class BusyError(RestError):
    """The server has no time for the question."""


class Rest:
    """Questions and orders by token, in the name of one user."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._user, self._password = user, password
        self._token: str | None = None
        # The proxy of a machine knows nothing of its own loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @property
    def token(self) -> str:
        """The token of the user, fetched once."""
        if self._token is None:
            body = {"username": self._user, "password": self._password}
            self._token = self._send("POST", "/auth/token", body, {})["access_token"]
        return self._token

    def get(self, path: str, **query: Any) -> Any:
        """What is at a path below ``/api/v2``."""
        return self.send(
            "GET", path + (f"?{urllib.parse.urlencode(query, doseq=True)}" if query else "")
        )

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """One request with the token; a server that is busy is asked again for half a minute.

        Raises:
            RestError: any other answer than success.
        """
        end = time.monotonic() + 30
        headers = {"Authorization": f"Bearer {self.token}"}
        while time.monotonic() < end:
            with contextlib.suppress(BusyError):
                return self._send(method, f"/api/v2{path}", body, headers)
            time.sleep(_PAUSE_S)
        return self._send(method, f"/api/v2{path}", body, headers)

    def is_healthy(self) -> bool:
        """Whether database, scheduler, triggerer and DAG processor all say that they are well."""
        try:
            told = self._send("GET", "/api/v2/monitor/health", None, {})
        except (RestError, OSError):
            return False
        return all(part.get("status") == "healthy" for part in told.values())

    def wait_for_dag(self, dag_id: str, seconds: float = 120) -> None:
        """Wait until the DAG processor has read a DAG.

        Raises:
            AssertionError: a file of the folder cannot be imported; has the error.
        """

        def is_there() -> bool:
            errors = self.get("/importErrors")["import_errors"]
            assert not errors, errors
            return any(dag["dag_id"] == dag_id for dag in self.get("/dags", limit=100)["dags"])

        wait_until(is_there, seconds=seconds, what=f"the DAG {dag_id}")

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler start runs of a DAG, and the triggerer watch its assets.

        Airflow begins to watch them when it reads the DAG's file again, which is asked for here.
        """
        self.send("PATCH", f"/dags/{dag_id}", {"is_paused": False})
        token = self.get(f"/dags/{dag_id}")["file_token"]
        try:
            self.send("PUT", f"/parseDagFile/{token}")
        except RestError as error:
            if error.status != _ASKED_ALREADY:
                raise

    def trigger(self, dag_id: str, logical_date: datetime | None = None, **body: Any) -> str:
        """Start a run by hand; answers with its run id."""
        date = logical_date.isoformat() if logical_date else None
        run = self.send("POST", f"/dags/{dag_id}/dagRuns", {"logical_date": date, **body})
        return str(run["dag_run_id"])

    def wait_for_end_of_backfills(self, dag_id: str) -> None:
        """Wait until another backfill can be made.

        A DAG has one at a time, and Airflow notes the end of one within half a minute.
        """

        def is_free() -> bool:
            found = self.get("/backfills", dag_id=dag_id)["backfills"]
            return all(each["completed_at"] for each in found)

        wait_until(is_free, seconds=600, what=f"the end of the last backfill of {dag_id}")

    def backfill(self, dag_id: str, begin: datetime, end: datetime, **settings: Any) -> int:
        """Start a backfill over logical dates, both included; answers with its id."""
        self.wait_for_end_of_backfills(dag_id)
        body = {
            "dag_id": dag_id,
            "from_date": begin.isoformat(),
            "to_date": end.isoformat(),
            "reprocess_behavior": "none",
            **settings,
        }
        return int(self.send("POST", "/backfills", body)["id"])

    def runs(self, dag_id: str, **query: Any) -> list[dict[str, Any]]:
        """The runs of a DAG, the earliest first."""
        found: list[dict[str, Any]] = self.get(
            f"/dags/{dag_id}/dagRuns", limit=100, order_by="run_after", **query
        )["dag_runs"]
        return found

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """One run."""
        found: dict[str, Any] = self.get(f"/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}")
        return found

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """The task instances of a run."""
        path = f"/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances"
        found: list[dict[str, Any]] = self.get(path, limit=100)["task_instances"]
        return found

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """One task instance of a run."""
        (found,) = (each for each in self.tasks(dag_id, run_id) if each["task_id"] == task_id)
        return found

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task returned; None for nothing."""
        path = f"/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task_id}"
        try:
            return self.get(f"{path}/xcomEntries/return_value", deserialize="true")["value"]
        except RestError as error:
            if error.status != 404:
                raise
            return None

    def clear(self, dag_id: str, run_id: str, *task_ids: str) -> None:
        """Have tasks of a run done again, as the button of the page does."""
        body = {"dry_run": False, "dag_run_id": run_id, "task_ids": list(task_ids),
                "only_failed": False, "reset_dag_runs": True}  # fmt: skip
        self.send("POST", f"/dags/{dag_id}/clearTaskInstances", body)

    def mark(self, dag_id: str, run_id: str, task_id: str, state: str) -> None:
        """Say that a task has this state, as the button of the page does."""
        path = f"/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task_id}"
        self.send("PATCH", path, {"new_state": state})

    def answer(self, dag_id: str, run_id: str, task_id: str, choice: str) -> None:
        """Choose for a task that waits for a person, as the page of required actions does."""
        path = f"/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}/taskInstances/{task_id}"
        self.send("PATCH", f"{path}/-1/hitlDetails", {"chosen_options": [choice]})

    def wait_for_runs(self, dag_id: str, count: int, seconds: float) -> list[dict[str, Any]]:
        """Wait until so many runs have ended; answers with them, the earliest first."""

        def ended() -> bool:
            return len(self._ended(dag_id)) >= count

        wait_until(ended, seconds=seconds, what=lambda: f"{count} runs of {self._told(dag_id)}")
        return self._ended(dag_id)

    def wait_for_run(self, dag_id: str, run_id: str, seconds: float) -> str:
        """Wait until a run has ended; answers with its state."""

        def ended() -> bool:
            return self.run(dag_id, run_id)["state"] in ENDED

        wait_until(ended, seconds=seconds, what=f"the run {run_id} of {dag_id}")
        return str(self.run(dag_id, run_id)["state"])

    def wait_until_idle(self, dag_id: str, seconds: float) -> list[dict[str, Any]]:
        """Wait until no run of a DAG is to be done; answers with all of them, the earliest first.

        A backfill has made or cleared its runs when its request is answered.
        """

        def is_idle() -> bool:
            return len(self._ended(dag_id)) == len(self.runs(dag_id))

        wait_until(is_idle, seconds=seconds, what=lambda: f"the runs of {self._told(dag_id)}")
        return self.runs(dag_id)

    def wait_for_task(
        self, dag_id: str, run_id: str, task_id: str, state: str, seconds: float
    ) -> dict[str, Any]:
        """Wait until a task instance has a state."""

        def has_state() -> bool:
            return bool(self.task(dag_id, run_id, task_id)["state"] == state)

        wait_until(has_state, seconds=seconds, what=f"{task_id} of {run_id} to be {state}")
        return self.task(dag_id, run_id, task_id)

    def _told(self, dag_id: str) -> str:
        states = [
            (run["dag_run_id"], task["task_id"], task["state"], task["try_number"])
            for run in self.runs(dag_id)
            for task in self.tasks(dag_id, run["dag_run_id"])
        ]
        return f"{dag_id}: {states}"

    def _ended(self, dag_id: str) -> list[dict[str, Any]]:
        return [run for run in self.runs(dag_id) if run["state"] in ENDED]

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json", **headers},
        )
        try:
            with self._opener.open(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            kind = BusyError if error.code == _BUSY else RestError
            raise kind(error.code, error.read().decode()) from None
        return json.loads(text) if text else None
