"""A table in a DAG: the write and its services as tasks of a group."""

from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_pyhudi.assets.table import services_asset, table_asset
from airflow_provider_pyhudi.groups.table import APART, PyhudiTableGroup


def tasks_of(**settings: Any) -> dict[str, Any]:
    """The tasks of a group by their names in it, in their order."""
    given = {"base_path": "/lake/flights", "source": "/landing", "record_key": "id"}
    with DAG("flights", schedule=None) as dag:
        PyhudiTableGroup("table", **(given | settings))
    return {task.task_id.removeprefix("table."): task for task in dag.topological_sort()}


def test_a_table_is_written_compacted_cleaned_and_archived_in_turn() -> None:
    tasks = tasks_of(table_type="MERGE_ON_READ")
    assert list(tasks) == ["upsert", "compaction", "clean", "archive"]
    follows = {name: task.downstream_task_ids for name, task in tasks.items()}
    assert follows == {
        "upsert": {"table.compaction"},
        "compaction": {"table.clean"},
        "clean": {"table.archive"},
        "archive": set(),
    }


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        pytest.param({}, ["upsert", "clean", "archive"], id="copy on write has no log files"),
        pytest.param({"clean": None}, ["upsert", "archive"], id="no clean"),
        pytest.param({"clean": None, "archive": None}, ["upsert"], id="the write alone"),
    ],
)
def test_a_service_can_be_left_out(settings: Any, names: list[str]) -> None:
    assert list(tasks_of(**settings)) == names


def test_arguments_reach_the_tasks_that_have_them() -> None:
    tasks = tasks_of(
        table_type="MERGE_ON_READ",
        ordering_field="ts",
        conn_id="spark",
        retries=3,
        compaction={"max_delta_commits": 9, "retries": 5},
        clean={"retain_commits": 7},
        archive={"keep_min_commits": 30},
    )
    assert tasks["upsert"].ordering_field == "ts"
    assert {task.base_path for task in tasks.values()} == {"/lake/flights"}
    assert [task.retries for task in tasks.values()] == [3, 5, 3, 3]
    assert tasks["compaction"].max_delta_commits == 9
    assert tasks["clean"].retain_commits == 7
    assert tasks["archive"].keep_min_commits == 30


def test_the_write_leaves_the_services_to_the_tasks_after_it() -> None:
    tasks = tasks_of(hoodie_conf={"hoodie.parquet.max.file.size": "1000"})
    for task in tasks.values():
        assert task.hoodie_conf == {**APART, "hoodie.parquet.max.file.size": "1000"}


def test_rows_and_services_are_told_apart() -> None:
    tasks = tasks_of()
    assert tasks["upsert"].outlets == [table_asset("/lake/flights")]
    assert tasks["clean"].outlets == [services_asset("/lake/flights")]
