"""Tables as assets: one name a table, and what tasks and watchers say of it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_pyhudi.assets.events import events_from, instants_from
from airflow_provider_pyhudi.assets.outlets import MOST_KEYS
from airflow_provider_pyhudi.assets.table import partitions_asset, services_asset, table_asset
from airflow_provider_pyhudi.assets.uri import (
    asset_uri,
    create_asset,
    dataset_name,
    table_path,
    to_openlineage,
)
from airflow_provider_pyhudi.operators.archive import PyhudiArchiveOperator
from airflow_provider_pyhudi.operators.clean import PyhudiCleanOperator
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator
from airflow_provider_pyhudi.operators.restore import PyhudiRestoreOperator
from airflow_provider_pyhudi.operators.rollback import PyhudiRollbackOperator
from airflow_provider_pyhudi.operators.savepoint import PyhudiSavepointOperator
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from pyhudi.errors import OptionError
from pyhudi.jobs.result import JobResult
from tests.support.airflow import catch_submissions, task_context

NAMES = [
    ("/lake/flights", "pyhudi://file/lake/flights"),
    ("/lake//flights/", "pyhudi://file/lake/flights"),
    ("file:///lake/./flights", "pyhudi://file/lake/flights"),
    ("file:/lake/flights", "pyhudi://file/lake/flights"),
    ("s3://bucket/lake/flights", "pyhudi://s3/bucket/lake/flights"),
    ("s3a://bucket/lake/flights/", "pyhudi://s3/bucket/lake/flights"),
    ("gs://bucket/flights", "pyhudi://gs/bucket/flights"),
    ("abfss://c@a.dfs.core.windows.net/t", "pyhudi://abfs/c@a.dfs.core.windows.net/t"),
    ("hdfs://node:8020/lake/t", "pyhudi://hdfs/node:8020/lake/t"),
    ("/lake/a b#c?d%20é", "pyhudi://file/lake/a%20b%23c%3Fd%2520%C3%A9"),
]
RESULT = JobResult(
    status="committed",
    instant="20260102030405678",
    operation="upsert",
    table="flights",
    base_path="/lake/flights",
    records={"inserted": 3, "updated": 2, "deleted": 1, "failed": 0},
    partitions=("EWR", "JFK"),
    bytes_written=17,
)


@pytest.mark.parametrize(("path", "uri"), NAMES)
def test_every_spelling_of_a_path_has_one_name(path: str, uri: str) -> None:
    assert asset_uri(path) == uri
    assert asset_uri(table_path(uri)) == uri
    # Airflow asks the handler that the provider is registered with.
    assert Asset(uri=uri).uri == table_asset(path).uri == create_asset(base_path=path).uri == uri


def test_airflow_normalises_what_a_user_writes_by_hand() -> None:
    assert Asset(uri="pyhudi://s3//bucket///lake/flights/").uri == "pyhudi://s3/bucket/lake/flights"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/lake/{{ ds }}", id="a template"),
        pytest.param("s3://key:secret@bucket/t", id="a password"),
        pytest.param("ftp://host/t", id="no storage"),
        pytest.param("/lake/../t", id="upwards"),
        pytest.param("/", id="no path"),
    ],
)
def test_what_names_no_table_is_refused(path: str) -> None:
    with pytest.raises(OptionError) as refused:
        table_asset(path)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("uri", ["pyhudi://lake/t", "pyhudi:///lake/t", "pyhudi://file/t?x=1"])
def test_an_asset_that_names_no_table_is_refused_by_airflow(uri: str) -> None:
    with pytest.raises(OptionError):
        Asset(uri=uri)


def test_the_dataset_of_lineage_has_the_name_that_others_give_it() -> None:
    assert dataset_name("s3a://bucket/lake/t") == ("s3://bucket", "lake/t")
    assert dataset_name("/lake/t") == ("file", "/lake/t")
    assert dataset_name("hdfs://n:8020/lake/t") == ("hdfs://n:8020", "/lake/t")
    pytest.importorskip("openlineage.client")
    found = to_openlineage(table_asset("s3://bucket/lake/t"), None)
    assert (found.namespace, found.name) == ("s3://bucket", "lake/t")


def test_to_lineage_the_partitions_of_a_table_are_the_table() -> None:
    pytest.importorskip("openlineage.client")
    found = to_openlineage(partitions_asset("s3://bucket/lake/t"), None)
    assert (found.namespace, found.name) == ("s3://bucket", "lake/t")


def submitted(monkeypatch: pytest.MonkeyPatch, task: Any, result: JobResult = RESULT) -> Any:
    """The events that a task tells of its outlets, in Airflow's own keeping."""
    catch_submissions(monkeypatch, result)
    context = task_context(task) | {"outlet_events": OutletEventAccessors()}
    task.execute(context)
    return context["outlet_events"]


def upsert(**settings: Any) -> PyhudiUpsertOperator:
    given = {"task_id": "upsert", "base_path": "/lake/flights", "source": "/landing"}
    return PyhudiUpsertOperator(**(given | settings))


def test_an_upsert_tells_its_table_of_instant_counts_and_partitions(monkeypatch) -> None:
    task = upsert()
    assert task.outlets == [table_asset("/lake/flights")]
    extra = submitted(monkeypatch, task)[table_asset("/lake/flights")].extra
    assert extra["instant"] == RESULT.instant
    assert extra["records"] == dict(RESULT.records)
    assert extra["partitions"] == ["EWR", "JFK"]
    assert (extra["partition_count"], extra["bytes_written"]) == (2, 17)


ASKED = {"task_id": "work", "base_path": "/lake/flights"}


@pytest.mark.parametrize(
    "task",
    [
        PyhudiRollbackOperator(**ASKED, instant=str(RESULT.instant)),
        PyhudiRestoreOperator(**ASKED, instant=str(RESULT.instant)),
    ],
    ids=["rollback", "restore"],
)
def test_what_takes_rows_back_is_told_to_those_who_wait_for_rows(task: Any) -> None:
    assert task.outlets == [table_asset("/lake/flights")]


@pytest.mark.parametrize(
    "task",
    [
        PyhudiArchiveOperator(**ASKED),
        PyhudiCleanOperator(**ASKED),
        PyhudiCompactionOperator(**ASKED),
        PyhudiSavepointOperator(**ASKED),
    ],
    ids=["archive", "clean", "compaction", "savepoint"],
)
def test_what_changes_no_row_is_told_to_others(task: Any) -> None:
    assert task.outlets == [services_asset("/lake/flights")]
    assert task.outlets != [table_asset("/lake/flights")]


def test_a_path_that_is_known_at_run_time_is_told_by_an_alias(monkeypatch) -> None:
    task = upsert(base_path="{{ 'lake' }}/flights", source="/landing")
    (alias,) = task.outlets
    assert isinstance(alias, AssetAlias)
    (event,) = submitted(monkeypatch, task)[alias].asset_alias_events
    assert event.dest_asset_key.uri == table_asset("/lake/flights").uri
    assert event.extra["instant"] == RESULT.instant


def test_an_alias_has_no_event_where_nothing_was_made(monkeypatch) -> None:
    nothing = JobResult(
        status="nothing_to_do", operation="upsert", table="flights", base_path="/lake/flights"
    )
    task = upsert(base_path="{{ 'lake' }}/flights")
    assert submitted(monkeypatch, task, nothing)[task.outlets[0]].asset_alias_events == []


def test_a_path_below_a_connection_is_told_by_an_alias() -> None:
    (alias,) = upsert(base_path="flights", pyhudi_conn_id="lake").outlets
    assert isinstance(alias, AssetAlias)
    assert upsert(pyhudi_conn_id="lake").outlets == [table_asset("/lake/flights")]


def test_an_outlet_of_the_users_own_stays_and_is_told_too(monkeypatch) -> None:
    own = Asset("flights")
    given = [own, Asset(name="mine", uri="pyhudi://file/lake/flights")]
    task = upsert(outlets=given)
    assert task.outlets == given
    assert submitted(monkeypatch, task)[own].extra["instant"] == RESULT.instant


def test_each_partition_has_an_event_where_they_are_an_outlet_and_rows_have_one_of_all(
    monkeypatch,
) -> None:
    """An event with a key starts no DAG that has no partitions, so rows keep theirs without one."""
    task = upsert(outlets=[partitions_asset("/lake//flights/")])
    assert task.outlets == [partitions_asset("/lake/flights"), table_asset("/lake/flights")]
    events = submitted(monkeypatch, task)
    of_partitions, of_rows = (events[each] for each in task.outlets)
    assert of_partitions.partition_keys == {"EWR", "JFK"}
    assert of_partitions.extra["instant"] == RESULT.instant
    assert of_rows.partition_keys == set()


def test_all_partitions_have_events_though_the_answer_has_the_first_of_them(monkeypatch) -> None:
    paths = tuple(f"day={n:04}" for n in range(MOST_KEYS))
    events = submitted(
        monkeypatch,
        upsert(outlets=[partitions_asset("/lake/flights")]),
        replace(RESULT, partitions=paths),
    )
    assert events[partitions_asset("/lake/flights")].partition_keys == set(paths)
    assert len(events[table_asset("/lake/flights")].extra["partitions"]) < len(paths)


def test_what_airflow_takes_for_no_key_is_left_out_and_the_task_is_green(
    monkeypatch, caplog
) -> None:
    odd = ("", " ", "x" * 251, *(f"{n}" for n in range(MOST_KEYS + 2)))
    events = submitted(
        monkeypatch,
        upsert(outlets=[partitions_asset("/lake/flights")]),
        replace(RESULT, partitions=odd),
    )
    assert len(events[partitions_asset("/lake/flights")].partition_keys) == MOST_KEYS
    assert "5 of 1005 partitions have no event" in caplog.text


def test_the_event_of_a_partition_is_read_as_one_of_it() -> None:
    told = {"base_path": "/t", "instant": "1", "operation": "upsert"}
    events = [SimpleNamespace(extra=told, partition_key="x=1")]
    (found,) = events_from({"triggering_asset_events": {partitions_asset("/t"): events}})
    assert (found.partitions, found.instants, found.records) == (("x=1",), ("1",), {})


def test_events_of_tasks_and_watchers_are_read_alike() -> None:
    by_task = {"base_path": "/t", "instant": "2", "operation": "upsert", "records": {"inserted": 1}}
    payload = {"base_path": "/t", "instants": ["1", "3"], "count": 9, "operations": ["insert"]}
    by_watcher = {"from_trigger": True, "payload": payload}
    events = [SimpleNamespace(extra=each) for each in (by_watcher, by_task, {}, {"other": 1})]
    context = {"triggering_asset_events": {table_asset("/t"): events}}
    first, second = events_from(context)
    assert (first.instants, first.count, first.is_watched) == (("2",), 1, False)
    assert (second.instants, second.count, second.is_watched) == (("1", "3"), 9, True)
    assert (first.asset, first.operations) == ("pyhudi://file/t", ("upsert",))
    assert instants_from(context) == ["1", "2", "3"]


def test_events_of_inlets_are_read_where_no_event_started_the_run() -> None:
    asset, other = table_asset("/t"), Asset("other")
    told = [SimpleNamespace(extra={"base_path": "/t", "instant": "1"})]
    context = {
        "triggering_asset_events": {},
        "inlet_events": {asset: told},
        "task": SimpleNamespace(inlets=[other, asset]),
    }
    assert instants_from(context) == ["1"]
    assert instants_from({}) == []
