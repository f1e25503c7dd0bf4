"""A real job on an object store: where the keys of its connection are while it runs, and after."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk._shared.secrets_masker import reset_secrets_masker
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.execution_time.task_runner import _serialize_rendered_fields

import pyhudi
from airflow_provider_pyhudi.access import renewal
from airflow_provider_pyhudi.access.aws import AwsKeys
from airflow_provider_pyhudi.access.storage import StorageAccess
from airflow_provider_pyhudi.hooks import table as hook_module
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from pyhudi.storage.schemes import open_storage
from tests.support.airflow import task_context
from tests.support.object_store import StoreServer
from tests.support.searching import Search

pytestmark = pytest.mark.spark

SECRET, TOKEN, KEY = "hunter2-hunter2", "token-hunter2", "AKEYHUNTER2"
CONF = {
    "spark.master": "local[2]",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.broadcast.UDFCompressionThreshold": "1",
    "spark.shuffle.compress": "false",
}


class Job:
    """An operator's job with all that can be searched in one folder."""

    def __init__(self, store: StoreServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.folder = store, folder
        for name in ("events", "temporary"):
            (folder / name).mkdir()
        monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
        self.search = Search(secrets=(SECRET, TOKEN, KEY), folders=(folder,))
        store.answer = self.search.at_request
        self.landing = str(folder / "rows.parquet")
        self.bucket = store.new_bucket()
        store.authorizations.clear()

    def run(self, ids: list[str], **settings: Any) -> dict[str, Any]:
        pq.write_table(pa.table({"id": ids, "at": list(range(len(ids)))}), self.landing)
        given = {
            "base_path": f"s3://{self.bucket}/t",
            "table_name": "t",
            "record_key": "id",
            "source": self.landing,
            "storage_conn_id": "cloud",
            "verbose": True,
            "conf": CONF
            | {
                "spark.eventLog.dir": (self.folder / "events").as_uri(),
                "spark.local.dir": str(self.folder / "temporary"),
                "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={self.folder}/temporary",
            },
        }
        task = PyhudiUpsertOperator(task_id="t", **(given | settings))
        context = task_context(task)
        context["ti"].run_id = "".join(ids)
        task.render_template_fields(context)
        self.search.read("rendered fields", json.dumps(_serialize_rendered_fields(task)))
        result = task.execute(context)
        self.search.read("XCom", json.dumps(result))
        return result


@pytest.fixture
def job(store: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    reset_secrets_masker()
    yield Job(store, tmp_path, monkeypatch)
    reset_secrets_masker()


def connect(monkeypatch: pytest.MonkeyPatch, access: StorageAccess) -> None:
    monkeypatch.setattr(hook_module, "storage_access", lambda _: access)


def reached(store: StoreServer) -> dict[str, str]:
    names = ("endpoint_override", "scheme", "region")
    return {name: store.options[name] for name in names}


def test_the_keys_of_a_connection_are_in_memory_alone(job, monkeypatch, capfd) -> None:
    keys = {"access_key": KEY, "secret_key": SECRET, "session_token": TOKEN}
    connect(monkeypatch, StorageAccess(options=keys | reached(job.store)))
    assert job.run(["a", "b"])["records"]["inserted"] == 2
    shown = capfd.readouterr()
    job.search.read("its log", shown.out + shown.err)
    job.search.look()
    assert any(f"Credential={KEY}/" in each for each in job.store.authorizations)
    assert any("SparkSubmit" in line and "upsert.py" in line for line in job.search.command_lines)
    assert any("/pyspark-" in name for name in job.search.files)
    assert any("/events/" in name for name in job.search.files)
    stored = pyhudi.read_table(f"s3://{job.bucket}/t", storage_options=job.store.options)
    assert sorted(stored["id"].to_pylist()) == ["a", "b"]
    table = open_storage(f"s3://{job.bucket}/t", job.store.options)
    for file in table.walk(""):
        job.search.read(file.path, table.read(file.path))
    assert not job.search.found


def test_keys_that_end_are_in_one_private_file_and_renewed(job, monkeypatch, capfd) -> None:
    monkeypatch.setattr(renewal, "PERIOD_S", 0.2)
    made = iter(range(10_000))

    def keys() -> AwsKeys:
        number = next(made)
        return AwsKeys(
            access_key=f"{KEY}{number}", secret_key=f"{SECRET}-{number}", session_token=TOKEN
        )

    connect(monkeypatch, StorageAccess(options=reached(job.store), keys=keys))
    assert job.run(["a", "b"])["records"]["inserted"] == 2
    shown = capfd.readouterr()
    job.search.read("its log", shown.out + shown.err)
    used = {
        each.split("Credential=")[1].split("/")[0]
        for each in job.store.authorizations
        if KEY in each
    }
    assert len(used) > 1, f"one job used {used}"
    places = {found.split(" in ", 1)[1] for found in job.search.found}
    assert {os.path.basename(place) for place in places} <= {"keys.json", "keys.json.next"}
    assert not any(os.path.exists(place) for place in places)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        pytest.param({"base_path": "s3://no-such-bucket/t"}, "no bucket", id="no bucket"),
        pytest.param({"record_key": "nothing"}, "nothing", id="a wrong request"),
        pytest.param({"source": "/nowhere"}, "does not exist", id="no source"),
        pytest.param({"conf": CONF | {"spark.master": "nowhere"}}, "", id="no Spark"),
    ],
)
def test_no_failure_shows_a_key(job, monkeypatch, capfd, settings, error: str) -> None:
    keys = {"access_key": KEY, "secret_key": SECRET, "session_token": TOKEN}
    connect(monkeypatch, StorageAccess(options=keys | reached(job.store)))
    with pytest.raises(AirflowException) as caught:
        job.run(["a"], **settings)
    shown = capfd.readouterr()
    assert error in str(caught.value)
    for text in (str(caught.value), shown.out + shown.err):
        job.search.read("its error or log", text)
    job.search.look()
    assert not job.search.found
