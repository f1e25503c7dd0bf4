"""Connections of clouds as options of storages, and keys that end."""

import json
import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.sdk._shared.secrets_masker import _secrets_masker, reset_secrets_masker
from botocore.exceptions import ClientError

from airflow_provider_pyhudi.access.aws import AwsKeys
from airflow_provider_pyhudi.access.renewal import keys_file
from airflow_provider_pyhudi.access.storage import storage_access
from airflow_provider_pyhudi.exceptions import (
    PyhudiEnvironmentError,
    PyhudiRequestError,
    PyhudiSetupError,
)
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from pyhudi.config.access.storage_options import check_options_of_scheme

SECRET = "hunter2-hunter2"
GOOGLE_KEY = {"type": "service_account", "private_key": SECRET}


@pytest.fixture(autouse=True)
def masker() -> Iterator[None]:
    reset_secrets_masker()
    yield
    reset_secrets_masker()


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch):
    def make(**fields: Any) -> None:
        monkeypatch.setenv("AIRFLOW_CONN_CLOUD", json.dumps(fields))

    return make


CASES = {
    "keys of AWS": (
        {"conn_type": "aws", "login": "AKEY", "password": SECRET},
        "s3",
        {"access_key": "AKEY", "secret_key": SECRET},
    ),
    "keys of AWS in Extra, for a server of one's own": (
        {
            "conn_type": "aws",
            "extra": {
                "aws_access_key_id": "AKEY",
                "aws_secret_access_key": SECRET,
                "aws_session_token": f"token-{SECRET}",
                "region_name": "eu-west-1",
                "endpoint_url": "http://minio:9000",
            },
        },
        "s3",
        {
            "access_key": "AKEY",
            "secret_key": SECRET,
            "session_token": f"token-{SECRET}",
            "region": "eu-west-1",
            "endpoint_override": "minio:9000",
            "scheme": "http",
        },
    ),
    "an endpoint of the service alone": (
        {"conn_type": "aws", "extra": {"service_config": {"s3": {"endpoint_url": "https://s.x"}}}},
        "s3",
        {"endpoint_override": "s.x", "scheme": "https"},
    ),
    "AWS as the machine has it": ({"conn_type": "aws"}, "s3", {}),
    "a key of Google": (
        {
            "conn_type": "google_cloud_platform",
            "extra": {"keyfile_dict": GOOGLE_KEY, "project": "p"},
        },
        "gs",
        {"service_account_key": json.dumps(GOOGLE_KEY), "project_id": "p"},
    ),
    "a key of Google as older forms wrote it": (
        {
            "conn_type": "google_cloud_platform",
            "extra": {"extra__google_cloud_platform__keyfile_dict": json.dumps(GOOGLE_KEY)},
        },
        "gs",
        {"service_account_key": json.dumps(GOOGLE_KEY)},
    ),
    "Google as the machine has it": ({"conn_type": "google_cloud_platform"}, "gs", {}),
    "the key of an account": (
        {"conn_type": "wasb", "login": "account", "password": SECRET},
        "abfs",
        {"account_key": SECRET},
    ),
    "a connection string": (
        {
            "conn_type": "wasb",
            "extra": {"connection_string": f"AccountName=a;AccountKey={SECRET}==;EndpointSuffix=x"},
        },
        "abfs",
        {"account_key": f"{SECRET}=="},
    ),
    "a SAS in a URL": (
        {"conn_type": "wasb", "extra": {"sas_token": f"https://a.x/?sv=1&sig={SECRET}"}},
        "abfs",
        {"sas_token": f"sv=1&sig={SECRET}"},
    ),
    "a principal of Azure": (
        {"conn_type": "adls", "login": "id", "password": SECRET, "extra": {"tenant_id": "t"}},
        "abfs",
        {"client_id": "id", "client_secret": SECRET, "tenant_id": "t"},
    ),
    "options as they are": (
        {"conn_type": "generic", "extra": {"storage_options": {"secret_key": SECRET}}},
        "s3",
        {"secret_key": SECRET},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_connection_says_of_a_storage(connection, case: str) -> None:
    fields, scheme, options = CASES[case]
    connection(**fields)
    found = storage_access("cloud")
    assert found.options_now() == options
    assert SECRET not in repr(found)
    if case != "options as they are":
        check_options_of_scheme(scheme, options, "here")
    if SECRET in json.dumps(options):
        assert SECRET not in _secrets_masker().redact(f"it said {options}")


def test_the_file_of_a_key_of_google_is_read(connection, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json.dumps(GOOGLE_KEY), encoding="utf-8")
    connection(conn_type="google_cloud_platform", extra={"key_path": str(path)})
    assert storage_access("cloud").options == {"service_account_key": path.read_text()}
    path.unlink()
    with pytest.raises(PyhudiRequestError, match="key_path of the connection 'cloud'"):
        storage_access("cloud")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"conn_type": "spark", "host": "yarn"}, "says nothing of a", id="another"),
        pytest.param({"conn_type": "aws", "login": SECRET}, "half a pair of keys", id="half"),
        pytest.param({"conn_type": "aws", "extra": [SECRET]}, "must be a JSON object", id="extra"),
        pytest.param(
            {"conn_type": "google_cloud_platform", "extra": {"impersonation_chain": SECRET}},
            "has impersonation_chain, which storages cannot use",
            id="more than a key",
        ),
        pytest.param(
            {"conn_type": "wasb", "extra": {"connection_string": "AccountName=a"}},
            "has no AccountKey",
            id="no key",
        ),
        pytest.param(
            {"conn_type": "generic", "password": SECRET}, "no storage to give", id="generic"
        ),
        pytest.param(
            {"conn_type": "generic", "extra": {"storage_options": {"secret_kye": SECRET}}},
            "did you mean secret_key",
            id="misspelt",
        ),
    ],
)
def test_a_connection_that_cannot_be_used_is_refused(connection, fields, said: str) -> None:
    connection(**fields)
    with pytest.raises(PyhudiRequestError, match=said) as caught:
        storage_access("cloud")
    assert SECRET not in str(caught.value)


def test_a_connection_that_is_not_there_is_refused() -> None:
    with pytest.raises(PyhudiRequestError, match="AIRFLOW_CONN_NOWHERE"):
        storage_access("nowhere")


class Role:
    """What Airflow's provider for AWS has for a role: keys that are others after each exchange."""

    def __init__(self) -> None:
        self.exchanges = 0
        self.error: Exception | None = None
        self._expiry_time = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))

    def get_frozen_credentials(self) -> SimpleNamespace:
        if self.error:
            raise self.error
        self.exchanges += 1
        keys = {"access_key": f"A{self.exchanges}", "secret_key": f"S{self.exchanges}-{SECRET}"}
        return SimpleNamespace(**keys, token=f"T{self.exchanges}-{SECRET}")


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch, connection) -> Role:
    found = Role()
    connection(conn_type="aws", extra={"role_arn": "arn:aws:iam::1:role/r", "region_name": "x"})

    class AwsBaseHook:
        def __init__(self, aws_conn_id: str, client_type: str) -> None:
            assert (aws_conn_id, client_type) == ("cloud", "s3")

        def get_session(self) -> SimpleNamespace:
            return SimpleNamespace(get_credentials=lambda: found)

    module = ModuleType("airflow.providers.amazon.aws.hooks.base_aws")
    module.AwsBaseHook = AwsBaseHook
    for name in ("", ".aws", ".aws.hooks"):
        package = f"airflow.providers.amazon{name}"
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return found


def test_the_keys_of_a_role_are_those_of_the_moment(role: Role) -> None:
    hook = PyhudiHook(storage_conn_id="cloud", storage_options={"region": "y"})
    first, second = hook.storage_options, hook.storage_options
    assert first["secret_key"] == f"S1-{SECRET}"
    assert second["secret_key"] == f"S2-{SECRET}"
    assert first["region"] == "y"


def test_a_role_that_is_refused_can_be_tried_again(role: Role) -> None:
    hook = PyhudiHook(storage_conn_id="cloud")
    role.error = ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRole")
    with pytest.raises(PyhudiEnvironmentError, match=r"'cloud'.*AccessDenied"):
        _ = hook.storage_options


def test_a_role_needs_the_provider_of_aws(connection, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    connection(conn_type="aws", extra={"role_arn": "arn:aws:iam::1:role/r"})
    with pytest.raises(PyhudiSetupError, match="apache-airflow-providers-amazon"):
        storage_access("cloud")


def test_a_driver_elsewhere_gets_the_keys_of_the_moment(role, tmp_path: Path, caplog) -> None:
    hook = PyhudiHook(storage_conn_id="cloud")
    with hook.options_of_a_job(str(tmp_path), is_here=False) as options:
        assert options["session_token"].endswith(SECRET)
    assert not list(tmp_path.iterdir())


def test_keys_that_end_are_in_a_private_file_that_goes_with_the_job(role, tmp_path: Path) -> None:
    hook = PyhudiHook(storage_conn_id="cloud")
    with hook.options_of_a_job(str(tmp_path), is_here=True) as options:
        path = Path(options["credentials_file"])
        assert options == {"region": "x", "credentials_file": str(path)}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        found = json.loads(path.read_text())
        assert found["SecretAccessKey"] == f"S1-{SECRET}"
        assert found["Expiration"] == "2025-12-31T23:00:00+00:00"
        assert f"S1-{SECRET}" not in _secrets_masker().redact(path.read_text())
    assert not list(tmp_path.iterdir())


def test_keys_are_written_again_while_the_job_runs(tmp_path: Path, caplog) -> None:
    caplog.set_level(logging.INFO)
    made = [AwsKeys(access_key=f"A{n}", secret_key=f"S{n}-{SECRET}") for n in range(3)]
    given = threading.Semaphore(0)
    answers: Iterator[Any] = iter([made[0], made[0], PyhudiEnvironmentError("no"), made[2]])

    def keys() -> AwsKeys:
        found = next(answers, made[2])
        given.release()
        if isinstance(found, Exception):
            raise found
        return found

    with keys_file(keys, str(tmp_path), period_s=0.01) as path:
        for _ in range(6):
            assert given.acquire(timeout=30)
        deadline = time.monotonic() + 30
        while f"S2-{SECRET}" not in Path(path).read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert json.loads(Path(path).read_text())["SecretAccessKey"] == f"S2-{SECRET}"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert not os.listdir(tmp_path)
    assert "are not renewed: no" in caplog.text
    assert SECRET not in caplog.text
