"""Sensors, triggers and hooks on an object store, and what is said of it before Spark starts."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import TaskDeferred

from airflow_provider_pyhudi.exceptions import PyhudiSetupError
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.submit import spark_submit
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from pyhudi.errors import SetupError
from tests.support.airflow import task_context, timeline_folder
from tests.support.object_store import StoreServer

FIRST, SECOND = "20260102030405678", "20260103030405678"


@pytest.fixture
def table(store: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The storage of a table with one instant, and a connection with the keys of its store."""
    names = (f"{FIRST}.commit", f"{FIRST}.commit.requested", f"{FIRST}.inflight")
    folder = Path(timeline_folder(tmp_path / "t", *names))
    storage = store.new_storage("lake/t")
    for path in folder.rglob("*"):
        if path.is_file():
            storage.put(path.relative_to(folder).as_posix(), path.read_bytes())
    fields = {
        "conn_type": "aws",
        "login": "AKEYHUNTER2",
        "password": "hunter2hunter2",
        "extra": {"region_name": "us-east-1", "endpoint_url": f"http://127.0.0.1:{store.port}"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_CLOUD", json.dumps(fields))
    store.authorizations.clear()
    return storage


def test_a_hook_reads_a_timeline_with_the_keys_of_a_connection(store, table) -> None:
    hook = PyhudiHook(storage_conn_id="cloud")
    assert hook.find_instant(table.uri) == FIRST
    assert hook.find_instant(table.uri, after=FIRST) is None
    assert hook.find_instant(f"{table.uri}-absent") is None
    assert all("Credential=AKEYHUNTER2/" in each for each in store.authorizations)


def test_a_sensor_finds_an_instant(table) -> None:
    task = PyhudiInstantSensor(task_id="w", base_path=table.uri, storage_conn_id="cloud")
    assert task.execute(task_context(task)) == FIRST


def test_a_deferred_sensor_waits_with_the_name_of_its_connection(store, table) -> None:
    task = PyhudiInstantSensor(
        task_id="w",
        base_path=table.uri,
        after=FIRST,
        storage_conn_id="cloud",
        deferrable=True,
        poke_interval=0.1,
    )
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(task_context(task))
    _, arguments = deferred.value.trigger.serialize()
    assert arguments["storage_conn_id"] == "cloud"
    assert "hunter2" not in json.dumps(arguments)
    trigger = PyhudiInstantTrigger(**arguments)

    async def wait() -> dict[str, Any]:
        events = trigger.run()
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.5)
        assert not waiting.done(), "the loop is free while the trigger looks and waits"
        await asyncio.to_thread(table.put, f".hoodie/{SECOND}.commit", b"{}")
        event = await asyncio.wait_for(waiting, timeout=60)
        return dict(event.payload)

    assert asyncio.run(wait()) == {"status": "found", "found": SECOND}


def test_a_trigger_tells_what_its_connection_lacks(table, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    monkeypatch.setenv("AIRFLOW_CONN_CLOUD", '{"conn_type": "aws", "extra": {"role_arn": "arn:r"}}')
    trigger = PyhudiInstantTrigger(
        base_path=table.uri,
        instant=None,
        after=None,
        actions=["commit"],
        storage_options={},
        pyhudi_conn_id=None,
        storage_conn_id="cloud",
        poke_interval=0.1,
    )

    async def first() -> dict[str, Any]:
        return dict((await anext(trigger.run())).payload)

    event = asyncio.run(first())
    assert (event["status"], event["exit_code"]) == ("failed", 6)
    assert "apache-airflow-providers-amazon" in event["message"]


@pytest.fixture
def spark_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in spark_submit._MORE_JARS:
        monkeypatch.delenv(name, raising=False)


def test_a_connector_that_spark_lacks_is_named_before_it_starts(spark_of_this_python) -> None:
    task = PyhudiUpsertOperator(task_id="t", base_path="/t", source="s3://landing/x")
    with pytest.raises(PyhudiSetupError, match=r"hadoop-aws:[\d.]+; give it to packages=,"):
        task.execute(task_context(task))


@pytest.mark.parametrize(
    "settings",
    [
        {"packages": "org.apache.hadoop:hadoop-aws:3.5.0"},
        {"jars": "/jars/hadoop-aws.jar"},
        {"driver_class_path": "/jars/*"},
        {"conf": {"spark.driver.extraClassPath": "/jars/*"}},
        {"conf": {"spark.jars.packages": "x"}},
        {"env_vars": {"SPARK_DIST_CLASSPATH": "/jars/*"}},
    ],
)
def test_where_spark_is_told_of_more_jars_it_finds_out_itself(
    spark_of_this_python, settings: dict[str, Any]
) -> None:
    PyhudiSparkSubmitHook(**settings).check_connectors("s3://landing/x")
    with pytest.raises(SetupError):
        PyhudiSparkSubmitHook().check_connectors("s3://landing/x")
