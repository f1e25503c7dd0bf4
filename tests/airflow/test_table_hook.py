"""The connection to where tables lie."""

import json
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import pytest

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.support.airflow import timeline_folder
from tests.support.in_process import ARCHIVING, REWRITTEN, write


def connect(monkeypatch: pytest.MonkeyPatch, host: str) -> PyhudiHook:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", f'{{"conn_type": "pyhudi", "host": "{host}"}}')
    return PyhudiHook("lake")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        pytest.param("flights", "/lake/flights", id="relative"),
        pytest.param("/other/flights", "/other/flights", id="absolute"),
        pytest.param("s3://b/flights", "s3://b/flights", id="a URI"),
    ],
)
def test_a_relative_path_lies_below_the_base_folder(monkeypatch, path: str, uri: str) -> None:
    assert connect(monkeypatch, "/lake").table_uri(path) == uri


def test_without_a_connection_a_path_stands_for_itself() -> None:
    assert PyhudiHook().table_uri("flights") == "flights"


def test_a_base_folder_that_can_be_listed_passes_the_test(monkeypatch, tmp_path: Path) -> None:
    timeline_folder(tmp_path / "flights")
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert works, message
    assert "1 table" in message


def test_a_base_folder_that_is_not_there_fails_the_test(monkeypatch, tmp_path: Path) -> None:
    works, message = connect(monkeypatch, str(tmp_path / "gone")).test_connection()
    assert not works
    assert "gone" in message


def test_the_test_says_which_table_cannot_be_read_and_why(monkeypatch, tmp_path: Path) -> None:
    for name, number in (("good", "6"), ("newer", "8"), ("unknown", "5")):
        made = Path(timeline_folder(tmp_path / name)) / ".hoodie" / "hoodie.properties"
        text = made.read_text(encoding="utf-8")
        made.write_text(text.replace("version=6", f"version={number}"), encoding="utf-8")
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert not works
    assert "table unknown" in message
    assert "good" not in message
    assert "'5'" in message


def test_the_test_says_that_two_versions_of_spark_are_mixed(monkeypatch, tmp_path: Path) -> None:
    versions = {"pyspark": "4.3.0", "pyspark-client": "4.2.0"}
    monkeypatch.setattr("airflow_provider_pyhudi.hooks.check.installed_version", versions.get)
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert not works
    assert "pyspark 4.3.0 and pyspark-client 4.2.0" in message


def test_the_test_says_that_there_is_no_java_here_which_tasks_may_have_elsewhere(
    monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert works, message
    assert "where tasks run" in message
    assert "Spark needs Java 17 or 21" in message


def test_the_test_says_which_spark_there_is(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("airflow_provider_pyhudi.hooks.check.check_java", lambda _: None)
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert works
    assert message.endswith(f"Spark is that of pyspark {version('pyspark')}")
    monkeypatch.setattr(
        "airflow_provider_pyhudi.hooks.check.installed_version", {"pyspark-client": "4.2.0"}.get
    )
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert works
    assert "there is no pyspark on this machine" in message


def test_a_connection_names_the_one_with_the_keys(monkeypatch) -> None:
    extra = '{"storage_conn_id": "keys", "storage_options": {"region": "eu-west-1"}}'
    aws = '{"conn_type": "aws", "login": "AK", "password": "hidden"}'
    other = '{"conn_type": "aws", "login": "OTHER", "password": "hidden too"}'
    lake = {"conn_type": "pyhudi", "host": "s3://b/lake", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    monkeypatch.setenv("AIRFLOW_CONN_KEYS", aws)
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", other)
    assert PyhudiHook("lake").storage_options["access_key"] == "AK"
    assert PyhudiHook("lake").storage_options["region"] == "eu-west-1"
    assert PyhudiHook("lake", storage_conn_id="other").storage_options["access_key"] == "OTHER"


def test_a_table_is_opened_with_its_timeline_and_file_slices(monkeypatch, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "orders"))
    first = write(storage, {("x", "a"): (1, "a")}, SystemClock()).instant
    last = write(storage, {("y", "a"): (1, "a")}, SystemClock()).instant
    hook = connect(monkeypatch, str(tmp_path))
    assert hook.get_conn() is hook
    assert [each.time for each in hook.timeline("orders").completed()] == [first, last]
    assert hook.get_table("orders").timeline == hook.timeline("orders")
    assert [each.partition for each in hook.file_slices("orders")] == ["x", "y"]
    assert [each.base_instant for each in hook.file_slices("orders", ["y"])] == [last]
    assert [each.partition for each in hook.file_slices("orders", as_of=first)] == ["x"]


def stamped_commit(key: str) -> bytes:
    stat = WriteStat(
        file_id="a", path="x/a.parquet", partition_path="x", num_inserts=3, num_update_writes=2
    )
    return CommitMetadata(
        partition_to_write_stats={"x": (stat,)},
        extra_metadata={IDEMPOTENCY_KEY.key: key},
        operation_type="UPSERT",
    ).to_bytes()


@pytest.fixture
def stamped(tmp_path: Path) -> str:
    names = [f"2026010{day}000000000.commit" for day in (1, 2, 3)]
    table = timeline_folder(tmp_path / "flights", *names)
    for name, key in zip(names, ("one", "two", "three"), strict=True):
        Path(table, ".hoodie", name).write_bytes(stamped_commit(key))
    return table


def test_the_commit_of_a_key_is_found_with_its_counts(stamped: str) -> None:
    found = PyhudiHook().find_commit(stamped, "two", operation="upsert")
    assert found is not None
    assert (found.status, found.instant) == ("already_committed", "20260102000000000")
    assert found.records == {"inserted": 3, "updated": 2, "deleted": 0, "failed": 0}
    assert found.partitions == ("x",)


def test_the_commit_of_a_key_is_found_in_the_archive_from_a_time_on(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    options = {**REWRITTEN, **ARCHIVING}
    keyed = {**options, "pyhudi.idempotency.key": "first"}
    landed = write(storage, {("x", "a"): (1, "a")}, SystemClock(), options=keyed)
    for number in range(5):
        write(storage, {("x", "b"): (number, "b")}, SystemClock(), options=options)
    assert not (tmp_path / ".hoodie" / f"{landed.instant}.commit").exists()
    hook, path = PyhudiHook(), str(tmp_path)
    for since in (None, "2020-01-01", datetime.now(timezone.utc).isoformat()):
        found = hook.find_commit(path, "first", operation="upsert", since=since)
        assert found is not None
        assert (found.status, found.instant) == ("already_committed", landed.instant)
        assert (found.records, found.files) == (landed.records, landed.files)
    later = datetime.now(timezone.utc) + timedelta(days=1)
    assert hook.find_commit(path, "first", operation="upsert", since=later) is None


@pytest.mark.parametrize("key", ["four", None])
def test_no_commit_is_found_for_another_key(stamped: str, key: str | None) -> None:
    assert PyhudiHook().find_commit(stamped, key, operation="upsert") is None


def test_no_commit_is_found_where_no_table_is(tmp_path: Path) -> None:
    assert PyhudiHook().find_commit(str(tmp_path), "one", operation="upsert") is None
