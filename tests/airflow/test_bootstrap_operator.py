"""Bootstraps from a DAG: the command, what fails before Spark, and a try that comes again."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.bootstrap import PyhudiBootstrapOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.stamp import idempotency_key
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.jobs.result import JobResult
from tests.support.airflow import Submissions, catch_submissions, task_context
from tests.support.datasets import MIXED, bootstrap, dataset, lay_out

MADE = JobResult(
    status="committed",
    operation="bootstrap",
    table="people",
    base_path="/data/people",
    instant="00000000000001",
)


def make(**settings: Any) -> PyhudiBootstrapOperator:
    given: dict[str, Any] = {
        "task_id": "bootstrap",
        "base_path": "/data/people",
        "table_name": "people",
        "record_key": ["part", "id"],
    }
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return PyhudiBootstrapOperator(**(given | settings))


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    return catch_submissions(monkeypatch, MADE)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "source", dataset())


def test_the_job_gets_the_arguments(submissions: Submissions, tmp_path: Path, source: Path) -> None:
    task = make(
        base_path=str(tmp_path / "table"),
        source=str(source),
        table_type="MERGE_ON_READ",
        selector="regex",
        regex=".*north",
        regex_mode="full_record",
        save_mode="ignore",
        dry_run=True,
        hoodie_conf={"hoodie.bootstrap.parallelism": 7},
    )
    context = task_context(task)
    assert task.execute(context)["instant"] == "00000000000001"
    (command,) = submissions
    request = BootstrapRequest.from_args(command[command.index(job_script("bootstrap")) + 1 :])
    assert (request.source, request.record_key, request.dry_run) == (str(source), "part,id", True)
    options = request.options()
    assert options["hoodie.bootstrap.base.path"] == str(source)
    assert options["hoodie.bootstrap.mode.selector"] == "regex"
    assert options["hoodie.bootstrap.mode.selector.regex.mode"] == "full_record"
    assert options["hoodie.bootstrap.parallelism"] == "7"
    assert request.idempotency_key == idempotency_key(context)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": "/no/such/dataset"}, "does not exist"),
        ({"source_format": "csv"}, "allowed: parquet, orc"),
        ({"selector": "all"}, "metadata_only"),
        ({"regex": "("}, "regular expression"),
        ({"save_mode": "replace"}, "errorifexists"),
    ],
    ids=lambda value: str(value),
)
def test_what_is_wrong_fails_before_anything_is_submitted(
    submissions: Submissions, source: Path, settings: dict[str, str], message: str
) -> None:
    task = make(**{"source": str(source), **settings})
    with pytest.raises(PyhudiRequestError, match=message):
        task.execute(task_context(task))
    assert submissions == []


def test_a_try_that_comes_again_finds_the_table_made(
    submissions: Submissions, tmp_path: Path, source: Path
) -> None:
    table = tmp_path / "table"
    task = make(base_path=str(table), source=str(source), save_mode="overwrite")
    context = task_context(task)
    made = bootstrap(table, source, MIXED, idempotency_key=idempotency_key(context))
    returned = task.execute(context)
    assert (returned["status"], returned["instant"]) == ("already_committed", made.instant)
    assert returned["operation"] == "bootstrap"
    assert submissions == []


def test_a_task_that_was_cleared_finds_the_table_that_it_made(
    submissions: Submissions, tmp_path: Path, source: Path
) -> None:
    table = tmp_path / "table"
    task = make(base_path=str(table), source=str(source))
    first, cleared = task_context(task), task_context(task, try_number=2, cleared=1)
    asked = task.request(first)
    made = bootstrap(
        table, source, MIXED, idempotency_key=asked.idempotency_key, slot_key=asked.slot_key
    )
    assert idempotency_key(cleared) != asked.idempotency_key
    returned = task.execute(cleared)
    assert (returned["status"], returned["instant"]) == ("already_committed", made.instant)
    assert submissions == []


@pytest.mark.parametrize(
    "settings", [{"save_mode": "overwrite"}, {"on_existing": "append"}], ids=str
)
def test_a_task_that_was_cleared_bootstraps_again_where_that_is_asked_for(
    submissions: Submissions, tmp_path: Path, source: Path, settings: dict[str, str]
) -> None:
    table = tmp_path / "table"
    task = make(base_path=str(table), source=str(source), **settings)
    bootstrap(table, source, MIXED, slot_key=task.request(task_context(task)).slot_key)
    task.execute(task_context(task, try_number=2, cleared=1))
    assert len(submissions) == 1


@pytest.mark.parametrize("options", [{}, MIXED], ids=["skeletons", "both"])
def test_a_sensor_finds_the_instant_of_a_bootstrap(
    tmp_path: Path, source: Path, options: dict[str, str]
) -> None:
    made = bootstrap(tmp_path / "table", source, options)
    sensor = PyhudiInstantSensor(
        task_id="wait", base_path=str(tmp_path / "table"), instant=made.instant, deferrable=True
    )
    assert sensor.execute(task_context(sensor)) == made.instant
