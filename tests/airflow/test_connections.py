"""Connections and options that are wrong: one plain line at once, which names what to mend."""

import asyncio
import json
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from tests.support.airflow import task_context


def tables(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "pyhudi", **fields}))


def options(**pairs: Any) -> dict[str, Any]:
    return {"host": "/lake", "extra": {"storage_options": pairs}}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param(
            {"conn_type": "spark", "host": "yarn"}, "of type spark; it must be", id="kind"
        ),
        pytest.param({"host": "data/lake"}, "not 'data/lake', which each machine", id="relative"),
        pytest.param(
            {"host": "s3://A:hunter2@b"}, "host .* has a password in it", id="in the host"
        ),
        pytest.param({"login": "A", "password": "hunter2"}, "login or password", id="password"),
        pytest.param({"extra": "hunter2"}, "Extra .* must be JSON like", id="no JSON"),
        pytest.param({"extra": '["hunter2"]'}, "Extra .* must be JSON like", id="a list"),
        pytest.param(
            {"extra": {"storage_option": {"secret_key": "hunter2"}}},
            "'storage_option', which is not known; did you mean storage_options?",
            id="key of Extra",
        ),
        pytest.param(
            {"extra": {"storage_options": "hunter2"}},
            "storage_options of the connection 'lake' .* takes a mapping .* not a str",
            id="no mapping",
        ),
        pytest.param(
            options(secret_kye="hunter2"),
            "storage_options of the connection 'lake' .* did you mean secret_key",
            id="option",
        ),
    ],
)
def test_a_wrong_connection_is_named_with_its_argument(monkeypatch, fields: Any, why: str) -> None:
    tables(monkeypatch, **fields)
    with pytest.raises(PyhudiRequestError, match=why) as caught:
        PyhudiHook("lake")
    message = str(caught.value)
    assert "'lake' (pyhudi_conn_id)" in message
    assert "hunter2" not in message
    assert "\n" not in message


def test_a_connection_that_is_not_there_is_named_with_its_argument() -> None:
    with pytest.raises(
        PyhudiRequestError, match=r"no pyhudi connection 'lake' .pyhudi_conn_id.; create it"
    ):
        PyhudiHook("lake")


def test_a_variable_that_is_no_connection_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", "{broken")
    with pytest.raises(
        PyhudiRequestError, match="is set in AIRFLOW_CONN_LAKE, which Airflow cannot"
    ):
        PyhudiHook("lake")


def test_a_path_in_the_uri_of_a_connection_is_told_how_to_be_written(monkeypatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", "pyhudi:///data/lake")
    with pytest.raises(PyhudiRequestError, match=r'as JSON: \{"conn_type": "pyhudi"'):
        PyhudiHook("lake")


def test_a_relative_path_needs_a_base_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    tables(monkeypatch)
    assert PyhudiHook("lake").table_uri("/t") == "/t"
    with pytest.raises(PyhudiRequestError, match="base_path is 'flights', which is relative"):
        PyhudiHook("lake").table_uri("flights")


def test_the_test_button_says_what_is_wrong() -> None:
    wrong = Connection(conn_id="lake", conn_type="pyhudi", host="data/lake")
    works, message = wrong.test_connection()
    assert not works
    assert "not 'data/lake'" in message


def test_an_empty_field_of_the_form_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    tables(monkeypatch, host="/lake", login="", password="", extra={"storage_options": None})
    assert PyhudiHook("lake").storage_options == {}


def upsert(**settings: Any) -> PyhudiUpsertOperator:
    return PyhudiUpsertOperator(task_id="t", **({"base_path": "/t", "source": "/s"} | settings))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param({"pyhudi_conn_id": "gone"}, "no pyhudi connection 'gone'", id="no tables"),
        pytest.param({"conn_id": "gone"}, "no Spark connection 'gone' .conn_id", id="no Spark"),
        pytest.param({"storage_options": "x"}, "storage_options.* not a str", id="storage_options"),
        pytest.param({"storage_options": {"regoin": "x"}}, "did you mean region", id="option"),
        pytest.param(
            {"hoodie_conf": "x"}, "hoodie_conf must be a mapping .* str", id="hoodie_conf"
        ),
        pytest.param(
            {"source_options": ["x"]}, "source_options must be .* list", id="source_options"
        ),
        pytest.param({"base_path": "s3://A:hunter2@b/t"}, "base_path has a password", id="base"),
        pytest.param({"source": "s3://A:hunter2@b/t"}, "source has a password", id="source"),
    ],
)
def test_a_task_that_is_told_wrong_fails_without_a_retry(settings: Any, why: str) -> None:
    task = upsert(**settings)
    with pytest.raises(AirflowFailException, match=why) as caught:
        task.execute(task_context(task))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("spark://local[2]", "is set in AIRFLOW_CONN_S,", id="brackets in a URI"),
        pytest.param({"host": "spark://local[2]"}, "is the host local[2], no scheme", id="scheme"),
        pytest.param("spark://local:7077", "is the host local, no scheme", id="local with a port"),
        pytest.param("local://", "type local; it must be of type spark", id="local as a scheme"),
        pytest.param({"host": "m"}, "makes 'm' the Spark master, which is none", id="no port"),
        pytest.param(
            {"conn_type": "pyhudi", "host": "/lake"}, "give it as pyhudi_conn_id", id="kind"
        ),
        pytest.param(
            {"host": "yarn", "extra": {"deploy-mode": "x"}}, "mode is 'x'", id="deploy mode"
        ),
        pytest.param({"host": "yarn", "extra": {"spark-home": "/x"}}, "spark-home", id="extra"),
        pytest.param(
            {"host": "local[2]", "extra": {"deploy-mode": "cluster"}}, "client mode", id="cluster"
        ),
        pytest.param({"host": "k8s://https://h:443"}, "cncf-kubernetes", id="kubernetes"),
    ],
)
def test_a_wrong_spark_connection_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, value: Any, why: str
) -> None:
    text = value if isinstance(value, str) else json.dumps({"conn_type": "spark", **value})
    monkeypatch.setenv("AIRFLOW_CONN_S", text)
    with pytest.raises(PyhudiRequestError) as caught:
        PyhudiSparkSubmitHook(conn_id="s")
    assert why in str(caught.value)


def test_a_spark_default_that_cannot_be_read_is_not_passed_over(monkeypatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local[2]")
    with pytest.raises(PyhudiRequestError, match="set in AIRFLOW_CONN_SPARK_DEFAULT"):
        PyhudiSparkSubmitHook()


@pytest.mark.parametrize("value", ["spark://yarn", "spark://m:7077", "spark://local%5B2%5D"])
def test_a_spark_connection_as_a_uri_is_taken(monkeypatch, value: str) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_S", value)
    assert PyhudiSparkSubmitHook(conn_id="s")


def test_a_sensor_that_waits_fails_by_its_connection_at_once() -> None:
    task = PyhudiInstantSensor(task_id="w", base_path="/t", pyhudi_conn_id="gone")
    with pytest.raises(AirflowFailException, match=r"connection 'gone' .pyhudi_conn_id.; create"):
        task.execute(task_context(task))


def test_a_trigger_reports_its_connection_as_a_wrong_request() -> None:
    trigger = PyhudiInstantTrigger(
        base_path="/t",
        instant=None,
        after=None,
        actions=["commit"],
        storage_options={},
        pyhudi_conn_id="gone",
        poke_interval=0.01,
    )
    event = asyncio.run(anext(trigger.run())).payload
    task = PyhudiInstantSensor(task_id="w", base_path="/t")
    with pytest.raises(PyhudiRequestError, match=r"connection 'gone' .pyhudi_conn_id.; create"):
        task.execute_complete(task_context(task), event)
