"""Runs without a data interval, and those whose interval is empty."""

import warnings
from dataclasses import replace
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_provider_pyhudi.assets.events import instants_from
from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from tests.support.airflow import catch_submissions, task_context

NOTHING = JobResult(
    status="nothing_to_do", operation="upsert", table="flights", base_path="/data/flights"
)


def make(**settings: Any) -> PyhudiUpsertOperator:
    given = {"task_id": "upsert", "base_path": "/data/flights", "source": "s3://b/x"}
    with DAG("flights", schedule=None):
        return PyhudiUpsertOperator(**(given | settings))


def wait(**settings: Any) -> PyhudiInstantSensor:
    with DAG("flights", schedule=None):
        return PyhudiInstantSensor(task_id="wait", base_path="/data/flights", **settings)


def without_interval(task: Any) -> dict[str, Any]:
    context = task_context(task)
    for name in ("logical_date", "data_interval_start", "data_interval_end"):
        del context[name]
    began = datetime(2026, 11, 22, tzinfo=timezone.utc)
    context["dag_run"] = SimpleNamespace(
        run_type="manual", run_after=began, start_date=began, clear_number=0
    )
    return context


@pytest.mark.parametrize(
    ("task", "argument", "asked"),
    [
        pytest.param(
            make(source=["s3://b/{{ data_interval_start.strftime('%Y-%m') }}"]),
            *("source=", "data_interval_start"),
            id="a path",
        ),
        pytest.param(
            make(sql="SELECT * FROM source WHERE day = '{{ ds }}'"), *("sql=", "ds"), id="a query"
        ),
        pytest.param(
            make(hoodie_conf={"x": "{{ data_interval_end }}"}),
            *("hoodie_conf=", "data_interval_end"),
            id="an option",
        ),
        pytest.param(
            wait(after="{{ data_interval_end }}"),
            *("after=", "data_interval_end"),
            id="a sensor",
        ),
    ],
)
def test_a_template_that_asks_for_dates_the_run_has_not_is_named(
    task: Any, argument: str, asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PyhudiRequestError) as caught:
        task.render_template_fields(without_interval(task))
    message = str(caught.value)
    assert message.startswith(f"{argument} asks for {asked}, and this run (manual) has no data")
    assert "dag_run.run_after" in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    # Airflow logs the stack trace of what a template raises.
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "source",
    [
        "s3://b/{{ dag_run.run_after.strftime('%Y-%m') }}",
        "s3://b/{{ (data_interval_end if data_interval_end is defined else dag_run.run_after)"
        ".strftime('%Y-%m') }}",
    ],
)
def test_a_template_that_does_without_an_interval_is_rendered(source: str) -> None:
    task = make(source=source)
    task.render_template_fields(without_interval(task))
    assert task.source == "s3://b/2026-11"


def test_a_run_that_an_asset_started_writes_as_what_its_run_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caught = catch_submissions(monkeypatch, replace(NOTHING, status="committed", instant="2026"))
    asset = table_asset("/lake/landed")
    landed = {"base_path": "/lake/landed", "instant": "20260102030405678"}
    source = "s3://b/{{ dag_run.run_after.strftime('%Y-%m') }}"
    requests = []
    for run_id, try_number in (("asset__1", 1), ("asset__1", 2), ("asset__2", 1)):
        task = make(source=source, ordering_field="airflow.data_interval_end", retries=1)
        context = without_interval(task)
        context["ti"].run_id, context["ti"].try_number = run_id, try_number
        context["dag_run"].run_type = "asset_triggered"
        context["triggering_asset_events"] = {asset: [SimpleNamespace(extra=landed)]}
        task.render_template_fields(context)
        assert task.execute(context)["status"] == "committed"
        assert instants_from(context) == [landed["instant"]]
        assert context["outlet_events"][task.outlets[0]].extra["instant"] == "2026"
        command = caught[-1]
        requests.append(UpsertRequest.from_args(command[command.index(job_script("upsert")) + 1 :]))
    first, retry, other = requests
    assert (first.source, first.ordering_value) == ("s3://b/2026-11", "2026-11-22T00:00:00+00:00")
    assert first.commit_metadata["airflow.run_type"] == "asset_triggered"
    keys = [(each.idempotency_key, each.slot_key) for each in (first, retry, other)]
    assert keys[0] == keys[1]
    assert not {*keys[0]} & {*keys[2]}


def run_daily(monkeypatch: pytest.MonkeyPatch, result: JobResult, **context: Any) -> None:
    catch_submissions(monkeypatch, result)
    task = make()
    task.execute(task_context(task) | context)


def test_a_run_of_zero_rows_and_length_is_told_which_timetable_to_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    midnight = datetime(2026, 11, 22, tzinfo=timezone.utc)
    empty = {"data_interval_start": midnight, "data_interval_end": midnight}
    run_daily(monkeypatch, NOTHING, **empty)
    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if "Nothing was written" in line]
    assert "begins and ends at 2026-11-22T00:00:00+00:00" in told
    assert "CronDataIntervalTimetable" in told


def test_an_empty_batch_of_a_run_that_has_an_interval_needs_no_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_daily(monkeypatch, NOTHING)
    assert "Nothing was written" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "is_told"),
    [("s3://b/{{ data_interval_start.strftime('%Y-%m') }}", True), ("s3://b/all", False)],
    ids=["rows of the interval", "all rows"],
)
def test_a_run_of_length_zero_that_writes_by_its_interval_is_told_of_it_too(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
    is_told: bool,
) -> None:
    midnight = datetime(2026, 11, 1, tzinfo=timezone.utc)
    catch_submissions(monkeypatch, replace(NOTHING, status="committed", instant="2026"))
    task = make(source=source)
    context = task_context(task)
    context |= {"data_interval_start": midnight, "data_interval_end": midnight}
    task.render_template_fields(context)
    task.execute(context)
    assert ("may be of another interval" in capsys.readouterr().out) is is_told


MONTHLY = CronDataIntervalTimetable("@monthly", timezone="UTC")
LAST_WINS = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}


def upserting(schedule: Any, **settings: Any) -> None:
    with DAG("flights", schedule=schedule, start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        PyhudiUpsertOperator(task_id="upsert", base_path="/data/flights", source="/s", **settings)


@pytest.mark.parametrize("schedule", [MONTHLY, "@daily"], ids=["interval", "cron"])
def test_an_upsert_whose_backfill_would_overwrite_newer_rows_is_warned_of(schedule: Any) -> None:
    with pytest.warns(UserWarning, match=r"flights\.upsert upserts without an ordering_field"):
        upserting(schedule)


@pytest.mark.parametrize(
    ("schedule", "settings"),
    [
        pytest.param(None, {}, id="no schedule"),
        pytest.param([table_asset("/lake/landed")], {}, id="assets"),
        pytest.param(MONTHLY, {"ordering_field": "airflow.data_interval_end"}, id="ordered"),
        pytest.param(MONTHLY, {"hoodie_conf": LAST_WINS}, id="the last wins"),
        pytest.param(MONTHLY, {"operation": "insert"}, id="insert"),
    ],
)
def test_other_writes_are_not_warned_of(schedule: Any, settings: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        upserting(schedule, **settings)
