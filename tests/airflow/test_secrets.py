"""A secret of a connection: where it goes, and that it is nowhere else."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk._shared.secrets_masker import _secrets_masker, reset_secrets_masker
from airflow.sdk.exceptions import TaskDeferred
from airflow.sdk.execution_time.task_runner import _serialize_rendered_fields

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from pyhudi.config import properties
from pyhudi.flags import SECRETS_PROPERTY, SECRETS_VARIABLE
from pyhudi.jobs.upsert import UpsertRequest
from tests.support.airflow import task_context

SECRET = "hunter2-hunter2"
KEYS = {"access_key": "AKEY-" + SECRET, "secret_key": SECRET}


@pytest.fixture(autouse=True)
def lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    fields = {
        "conn_type": "pyhudi",
        "host": str(tmp_path / "lake"),
        "extra": {"storage_options": KEYS | {"region": "x"}},
    }
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(fields))
    return str(tmp_path / "lake")


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spark-submit that notes what it was given, and ends well."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    binary = folder / "spark-submit"
    binary.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" > {folder}/args\nenv > {folder}/env\n'
        "echo Running here\n"
        'while [ $# -gt 0 ]; do if [ "$1" = --properties-file ]; then\n'
        f'cp -p "$2" {folder}/properties; fi; shift; done\n',
        encoding="utf-8",
    )
    binary.chmod(0o755)
    return folder


def upsert(**settings: Any) -> PyhudiUpsertOperator:
    given = {
        "base_path": "flights",
        "source": "s3a://landing/s",
        "packages": "org.apache.hadoop:hadoop-aws:3.5.0",
        "pyhudi_conn_id": "lake",
    }
    return PyhudiUpsertOperator(task_id="t", **(given | settings))


def run(**settings: Any) -> dict[str, Any]:
    task = upsert(**settings)
    context = task_context(task)
    task.render_template_fields(context)
    return task.execute(context)


def variable(submitted: Path) -> str | None:
    lines = (submitted / "env").read_text(encoding="utf-8").splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    return found.get(SECRETS_VARIABLE)


def test_the_secret_of_a_connection_is_in_the_environment_and_nowhere_else(
    submitted: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run()
    args = (submitted / "args").read_text(encoding="utf-8")
    assert "--storage-option\nregion=x" in args
    assert json.loads(variable(submitted) or "") == {"storage_options": KEYS}
    shown = capfd.readouterr()
    assert "Spark-Submit cmd" in shown.out
    for place in (args, shown.out + shown.err, json.dumps(result)):
        assert SECRET not in place
        assert "hunter2" not in place
    assert SECRETS_VARIABLE not in os.environ


def test_secrets_of_other_arguments_go_the_same_way(submitted: Path) -> None:
    run(
        source_options={"password": SECRET, "url": f"jdbc:x://u:{SECRET}@h", "sep": ";"},
        hoodie_conf={"hoodie.datasource.hive_sync.password": SECRET},
    )
    assert SECRET not in (submitted / "args").read_text(encoding="utf-8")
    hidden = json.loads(variable(submitted) or "")
    assert hidden["source_options"] == {"password": SECRET, "url": f"jdbc:x://u:{SECRET}@h"}
    assert hidden["hoodie_conf"] == {"hoodie.datasource.hive_sync.password": SECRET}


def test_without_a_secret_nothing_is_added(submitted: Path) -> None:
    run(pyhudi_conn_id=None, base_path="/nowhere/t")
    assert variable(submitted) is None
    assert not (submitted / "properties").exists()


@pytest.fixture
def yarn(monkeypatch: pytest.MonkeyPatch, submitted: Path) -> Path:
    monkeypatch.setenv("AIRFLOW_CONN_YARN", '{"conn_type": "spark", "host": "yarn"}')
    return submitted


def file_of(submitted: Path) -> dict[str, str]:
    copy = submitted / "properties"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    words = (submitted / "args").read_text(encoding="utf-8").splitlines()
    assert words.count("--properties-file") == 1
    assert not os.path.exists(words[words.index("--properties-file") + 1])
    return properties.parse(copy.read_text(encoding="utf-8"))


def test_a_driver_elsewhere_is_told_by_a_property_that_spark_redacts(yarn: Path) -> None:
    run(conn_id="yarn", deploy_mode="cluster", durable=False)
    assert SECRET not in (yarn / "args").read_text(encoding="utf-8")
    assert variable(yarn) is None
    assert json.loads(file_of(yarn)[SECRETS_PROPERTY]) == {"storage_options": KEYS}
    assert "secret" in SECRETS_PROPERTY


def test_secret_properties_of_spark_leave_the_command_line(yarn: Path, tmp_path: Path) -> None:
    given = tmp_path / "mine.conf"
    given.write_text("spark.x=mine\nspark.hadoop.fs.s3a.secret.key=older", encoding="utf-8")
    conf = {"spark.hadoop.fs.s3a.secret.key": SECRET, "spark.y": "1"}
    run(
        conn_id="yarn",
        conf=conf,
        env_vars={"API_TOKEN": SECRET, "PLAIN": "1"},
        properties_file=str(given),
    )
    args = (yarn / "args").read_text(encoding="utf-8")
    assert SECRET not in args
    assert {"spark.y=1", "spark.yarn.appMasterEnv.PLAIN=1"} <= set(args.splitlines())
    assert file_of(yarn) == {
        "spark.x": "mine",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.yarn.appMasterEnv.API_TOKEN": SECRET,
    }


def test_the_defaults_of_spark_still_count(yarn: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.x default", encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    run(conn_id="yarn", conf={"spark.api.token": SECRET})
    assert file_of(yarn) == {"spark.x": "default", "spark.api.token": SECRET}


def test_a_properties_file_that_is_not_there_is_a_wrong_request(yarn: Path) -> None:
    with pytest.raises(PyhudiRequestError, match="properties_file /nowhere"):
        run(conn_id="yarn", conf={"spark.api.token": SECRET}, properties_file="/nowhere")


@pytest.fixture
def masker() -> Iterator[None]:
    reset_secrets_masker()
    yield
    reset_secrets_masker()


@pytest.mark.usefixtures("masker")
def test_rendered_fields_show_no_secret() -> None:
    task = upsert(
        source="jdbc:x://u:" + SECRET + "@h",
        storage_options={"account_key": "{{ 'hunter2' }}-hunter2"},
        source_options={"url": f"jdbc:x://u:{SECRET}@h", "fs.azure.sas.c": SECRET},
        conf={"spark.hadoop.fs.s3a.access.key": SECRET},
    )
    task.render_template_fields(task_context(task))
    assert task.storage_options == {"account_key": SECRET}
    assert SECRET not in json.dumps(_serialize_rendered_fields(task), default=str)


@pytest.mark.usefixtures("masker")
def test_rendered_fields_of_a_mapped_task_show_no_secret() -> None:
    with DAG("flights", schedule=None):
        mapped = PyhudiUpsertOperator.partial(task_id="t", base_path="/t", source="/s").expand(
            source_options=[{"fs.azure.sas.c": SECRET}]
        )
    context = task_context(mapped)
    context |= {"dag": mapped.dag}
    context["ti"].map_index, context["dag_run"].conf = 0, {}
    mapped.render_template_fields(context)
    assert context["task"].source_options == {"fs.azure.sas.c": SECRET}
    assert SECRET not in json.dumps(_serialize_rendered_fields(context["task"]), default=str)


@pytest.mark.usefixtures("masker")
def test_the_secrets_of_a_connection_are_masked_in_logs(submitted: Path) -> None:
    run()
    assert _secrets_masker().redact(f"it said {SECRET}!") == "it said ***!"


def sensor(**settings: Any) -> PyhudiInstantSensor:
    given = {"base_path": "flights", "pyhudi_conn_id": "lake", "deferrable": True}
    return PyhudiInstantSensor(task_id="w", **(given | settings))


def test_a_deferred_sensor_s_row_names_the_connection_and_has_no_secret() -> None:
    task = sensor(storage_options={"region": "x"})
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(task_context(task))
    _, arguments = deferred.value.trigger.serialize()
    assert SECRET not in json.dumps(arguments)
    assert arguments["pyhudi_conn_id"] == "lake"


def test_a_secret_cannot_be_deferred_with_a_sensor() -> None:
    task = sensor(storage_options=KEYS)
    with pytest.raises(PyhudiRequestError, match="access_key, secret_key, and the arg") as caught:
        task.execute(task_context(task))
    assert SECRET not in str(caught.value)
    with pytest.raises(PyhudiRequestError, match="Airflow's database"):
        PyhudiInstantTrigger(
            base_path="/t",
            instant=None,
            after=None,
            actions=["commit"],
            storage_options=KEYS,
            pyhudi_conn_id=None,
            poke_interval=1.0,
        )


def test_a_password_in_a_path_cannot_be_deferred() -> None:
    task = sensor(base_path=f"s3://A:{SECRET}@b/t", pyhudi_conn_id=None)
    with pytest.raises(PyhudiRequestError, match="base_path has a password") as caught:
        task.execute(task_context(task))
    assert SECRET not in str(caught.value)


def test_a_request_does_not_show_its_secrets() -> None:
    request = UpsertRequest(
        base_path="/t", storage_options=KEYS, source_options=KEYS, hoodie_conf=KEYS
    )
    assert SECRET not in repr(request)
