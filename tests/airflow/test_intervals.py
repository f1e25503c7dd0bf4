"""Runs without a data interval, and those whose interval is empty."""

from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from pyhudi.jobs.result import JobResult
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
