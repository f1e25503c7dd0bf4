"""The sensor in all its modes, and its trigger, on a timeline in a folder."""

import asyncio
import json
from datetime import date, datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.exceptions import AirflowRescheduleException, TaskDeferred

from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError, PyhudiRequestError
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from tests.support.airflow import task_context, timeline_folder

FIRST, SECOND, THIRD = "20260101000000000", "20260102000000000", "20260103000000000"


@pytest.fixture
def table(tmp_path: Path) -> str:
    return timeline_folder(
        tmp_path / "flights",
        f"{FIRST}.commit.requested",
        f"{FIRST}.inflight",
        f"{FIRST}.commit",
        f"{SECOND}.replacecommit.requested",
        f"{SECOND}.replacecommit",
        f"{THIRD}.commit.requested",
        f"{THIRD}.inflight",
    )


def complete(table: str, name: str) -> None:
    (Path(table) / ".hoodie" / name).write_text("{}", encoding="utf-8")


def sensor(table: str, **settings: Any) -> PyhudiInstantSensor:
    given = {"task_id": "wait", "base_path": table, "poke_interval": 0.01, "timeout": 60}
    return PyhudiInstantSensor(**(given | settings))


def wait(table: str, **settings: Any) -> Any:
    task = sensor(table, **settings)
    return task.execute(task_context(task))


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        pytest.param({}, SECOND, id="the newest completed one"),
        pytest.param({"after": FIRST}, SECOND, id="one after another"),
        pytest.param({"after": "2026-01-01 12:00:00"}, SECOND, id="one after a date and time"),
        pytest.param({"after": ""}, SECOND, id="an empty text is no condition"),
        pytest.param({"instant": FIRST}, FIRST, id="exactly this one"),
        pytest.param({"actions": ["commit"]}, FIRST, id="one of these actions"),
    ],
)
def test_the_instant_that_fits_is_returned(table: str, condition: Any, found: str) -> None:
    assert wait(table, **condition) == found


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param({"after": SECOND}, id="after the newest"),
        pytest.param({"instant": THIRD}, id="not completed yet"),
        pytest.param({"actions": ["deltacommit"]}, id="no such action"),
    ],
)
def test_an_instant_that_is_not_there_is_waited_for(table: str, condition: Any) -> None:
    with pytest.raises(AirflowRescheduleException):
        wait(table, mode="reschedule", poke_interval=60, **condition)


@pytest.mark.parametrize("is_deferrable", [False, True], ids=["poke", "deferrable"])
@pytest.mark.parametrize(
    "instant", ["{{ none }}", "{{ {'instant': none}['instant'] }}"], ids=["none", "of a result"]
)
def test_an_instant_that_was_not_written_is_not_waited_for(
    table: str, is_deferrable: bool, instant: str
) -> None:
    for task in (
        sensor(table, instant=instant, deferrable=is_deferrable),
        sensor(f"{table}/nowhere", instant=instant, deferrable=is_deferrable),
    ):
        context = task_context(task)
        task.render_template_fields(context)
        assert task.execute(context) is None


def test_an_instant_that_was_given_as_none_at_run_time_is_not_waited_for(tmp_path: Path) -> None:
    task = sensor(str(tmp_path / "nowhere"), instant="{{ none }}")
    task.instant = None
    assert task.execute(task_context(task)) is None


def test_poke_mode_sees_the_commit_when_it_lands(table: str, monkeypatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: complete(table, f"{THIRD}.commit"))
    assert wait(table, instant=THIRD) == THIRD


def test_a_table_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(AirflowRescheduleException):
        wait(str(tmp_path / "later"), mode="reschedule", poke_interval=60)


def test_deferrable_mode_looks_once_before_it_defers(table: str) -> None:
    assert wait(table, deferrable=True) == SECOND


def test_deferrable_mode_gives_the_worker_back(table: str) -> None:
    with pytest.raises(TaskDeferred) as deferred:
        wait(table, deferrable=True, instant=THIRD)
    assert deferred.value.method_name == "execute_complete"
    trigger = deferred.value.trigger
    complete(table, f"{THIRD}.commit")
    event = first_event(trigger)
    task = sensor(table)
    assert task.execute_complete(task_context(task), event) == THIRD


def first_event(trigger: PyhudiInstantTrigger) -> dict[str, Any]:
    async def first() -> dict[str, Any]:
        async for event in trigger.run():
            payload: dict[str, Any] = event.payload
            return payload
        raise AssertionError("the trigger ended without an event")

    return asyncio.run(asyncio.wait_for(first(), timeout=10))


def test_the_trigger_waits_for_the_commit(table: str) -> None:
    trigger = make_trigger(table, instant=THIRD)

    async def land_and_wait() -> Any:
        async def land() -> None:
            await asyncio.sleep(0.05)
            complete(table, f"{THIRD}.commit")

        landing = asyncio.create_task(land())
        event = await anext(trigger.run())
        await landing
        return event.payload

    assert asyncio.run(land_and_wait()) == {"status": "found", "found": THIRD}


def make_trigger(table: str, **settings: Any) -> PyhudiInstantTrigger:
    given: dict[str, Any] = {
        "base_path": table,
        "instant": None,
        "after": None,
        "actions": ["commit"],
        "storage_options": {"region": "x"},
        "pyhudi_conn_id": None,
        "poke_interval": 0.01,
    }
    return PyhudiInstantTrigger(**(given | settings))


def test_the_trigger_survives_serialisation(table: str) -> None:
    trigger = make_trigger(table, after=FIRST)
    path, arguments = trigger.serialize()
    again = import_string(path)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == trigger.serialize()


def test_a_wrong_instant_fails_without_a_retry(table: str) -> None:
    with pytest.raises(PyhudiRequestError, match="yesterday"):
        wait(table, after="yesterday")


def test_the_trigger_reports_what_went_wrong(table: str) -> None:
    event = first_event(make_trigger(table, after="yesterday"))
    task = sensor(table)
    with pytest.raises(PyhudiRequestError, match="yesterday"):
        task.execute_complete(task_context(task), event)


def test_a_failure_of_the_storage_can_be_retried(table: str) -> None:
    task = sensor(table)
    event = {"status": "failed", "message": "no network", "exit_code": 4}
    with pytest.raises(PyhudiEnvironmentError, match="no network"):
        task.execute_complete(task_context(task), event)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("2025-12-31T23:59+00:00", id="ISO"),
        pytest.param(datetime(2026, 1, 1, 12, tzinfo=timezone.utc), id="a datetime"),
        pytest.param(date(2026, 1, 1), id="a date"),
    ],
)
def test_a_time_is_understood_however_airflow_has_it(table: str, after: Any) -> None:
    assert wait(table, after=after) == SECOND
    with pytest.raises(TaskDeferred) as deferred:
        wait(table, deferrable=True, after=after, actions=["deltacommit"])
    given = deferred.value.trigger.serialize()[1]["after"]
    assert json.loads(json.dumps(given)) == (after if isinstance(after, str) else after.isoformat())


def test_the_time_of_the_run_can_be_waited_for(table: str) -> None:
    task = sensor(table, after="{{ dag_run.run_after }}")
    context = task_context(task)
    task.render_template_fields(context)
    assert task.after == "2013-03-01 00:00:00+00:00"
    assert task.execute(context) == SECOND


def test_a_time_that_names_no_single_instant_is_not_waited_for(table: str) -> None:
    with pytest.raises(PyhudiRequestError, match="names no single instant"):
        wait(table, instant="2026-01-02 03:04")


def test_the_log_says_what_is_seen_each_time_it_changed(table: str, tmp_path, monkeypatch) -> None:
    told = log_of(monkeypatch, "airflow_provider_pyhudi.sensors.instant.PyhudiInstantSensor")
    looks = iter(["", "", f"{THIRD}.commit"])
    later = "20260102120000000"
    monkeypatch.setattr(
        "time.sleep", lambda _: complete(table, name) if (name := next(looks)) else 0
    )
    assert wait(table, after=later) == THIRD
    seen = f"the newest instant of {table} is {SECOND}, commit {THIRD} is inflight"
    first, last, _ = told
    assert first.startswith(f"{seen}; waiting for one after {later} until 20")
    assert last == f"{table}: {THIRD}"


def test_the_triggers_log_says_what_is_seen_each_time_it_changed(tmp_path, monkeypatch) -> None:
    told = log_of(monkeypatch, "airflow_provider_pyhudi.triggers.timeline.PyhudiInstantTrigger")
    base = tmp_path / "later"
    trigger = make_trigger(str(base), until="2026-11-22 18:52:00+00:00")

    async def change_what_is_seen() -> None:
        while len(told) < 1:
            await asyncio.sleep(0.01)
        timeline_folder(base, f"{FIRST}.commit.requested")
        while len(told) < 2:
            await asyncio.sleep(0.01)
        complete(str(base), f"{FIRST}.commit")

    async def both() -> Any:
        changing = asyncio.create_task(change_what_is_seen())
        event = await anext(trigger.run())
        await changing
        return event.payload

    found = asyncio.run(asyncio.wait_for(both(), timeout=20))
    assert found == {"status": "found", "found": FIRST}
    assert told == [
        f"there is no table at {base} yet; waiting for the first until 2026-11-22 18:52:00+00:00",
        f"{base} has no completed instant yet (commit), commit {FIRST} is requested; "
        "waiting for the first until 2026-11-22 18:52:00+00:00",
        f"{base}: {FIRST}",
    ]


def log_of(monkeypatch: pytest.MonkeyPatch, owner: str) -> list[str]:
    """The lines that a task or trigger logs from now on."""
    lines: list[str] = []
    log = SimpleNamespace(info=lambda text, *arguments: lines.append(text % arguments))
    monkeypatch.setattr(import_string(owner), "log", log)
    return lines
