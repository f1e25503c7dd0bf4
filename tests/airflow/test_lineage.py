"""What a task tells OpenLineage, and the links on its page."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.openlineage.extractors.base import DefaultExtractor

from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.assets.uri import dataset_name, to_openlineage
from airflow_provider_pyhudi.exceptions import PyhudiEnvironmentError
from airflow_provider_pyhudi.lineage.facets import column_sources
from airflow_provider_pyhudi.lineage.links import PyhudiSparkLink, PyhudiTableLink
from airflow_provider_pyhudi.operators.clean import PyhudiCleanOperator
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from pyhudi.jobs.request import APPLICATION_MARKER
from pyhudi.jobs.result import JobResult
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.support.airflow import catch_submissions, task_context
from tests.support.in_process import write


def ran(monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: Any) -> PyhudiUpsertOperator:
    """An upsert that wrote what its result says."""
    done = write(open_storage(str(folder)), {("x", "a"): (1, "a")}, SystemClock())
    result = JobResult(
        status="committed",
        instant=done.instant,
        operation="upsert",
        table="orders",
        base_path=str(folder),
        records={"inserted": 3, "updated": 2, "deleted": 1, "failed": 0},
        bytes_written=17,
        application={"id": "app-1", "ui": "http://worker:4040"},
    )
    catch_submissions(monkeypatch, result)
    given = {"task_id": "upsert", "base_path": str(folder), "source": "/landing/2013-02"}
    task = PyhudiUpsertOperator(**(given | settings))
    task.execute(task_context(task))
    return task


def extracted(task: Any, *, is_done: bool = True) -> Any:
    """The lineage of a task, as Airflow's provider of OpenLineage asks for it."""
    extractor = DefaultExtractor(task)
    return extractor.extract_on_complete(None) if is_done else extractor.extract()


def test_lineage_tells_of_source_table_rows_and_columns(monkeypatch, tmp_path: Path) -> None:
    found = extracted(ran(monkeypatch, tmp_path))
    (source,), (table,) = found.inputs, found.outputs
    assert (source.namespace, source.name) == ("file", "/landing/2013-02")
    assert (table.namespace, table.name) == dataset_name(str(tmp_path))
    statistics = table.outputFacets["outputStatistics"]
    assert (statistics.rowCount, statistics.size) == (6, 17)
    fields = {each.name: each.type for each in table.facets["schema"].fields}
    assert fields["id"] == "string"
    assert not any(name.startswith("_hoodie") for name in fields)
    lineage = table.facets["columnLineage"].fields
    assert {name: [each.field for each in told.inputFields] for name, told in lineage.items()} == {
        name: [name] for name in fields
    }


def test_lineage_of_sql_tells_which_columns_a_column_comes_from(
    monkeypatch, tmp_path: Path
) -> None:
    sql = "SELECT key AS id, part, ts, concat(first, last) AS value FROM source"
    (table,) = extracted(ran(monkeypatch, tmp_path, sql=sql)).outputs
    told = table.facets["columnLineage"].fields
    assert [each.field for each in told["id"].inputFields] == ["key"]
    assert [each.field for each in told["value"].inputFields] == ["first", "last"]


@pytest.mark.parametrize(
    ("sql", "sources"),
    [
        pytest.param(None, {"a": ["a"], "b": ["b"]}, id="no SQL"),
        pytest.param("SELECT * FROM source", {"a": ["a"], "b": ["b"]}, id="all"),
        pytest.param("SELECT *, x + y AS b FROM source", {"a": ["a"], "b": ["x", "y"]}, id="more"),
        pytest.param(
            "SELECT s.x AS a, o.b FROM source s JOIN other o ON s.k = o.k",
            {"a": ["x"], "b": []},
            id="of another table",
        ),
        pytest.param("no SQL at all", {}, id="not understood"),
    ],
)
def test_columns_are_followed_through_sql(sql: str | None, sources: Any) -> None:
    assert column_sources(sql, ["a", "b"]) == sources


def test_the_name_in_lineage_is_one_before_and_after_a_task(monkeypatch, tmp_path: Path) -> None:
    task = ran(monkeypatch, tmp_path)
    (before,), (after,) = extracted(task, is_done=False).outputs, extracted(task).outputs
    asset = to_openlineage(table_asset(str(tmp_path)), None)
    named = {(each.namespace, each.name) for each in (before, after, asset)}
    assert len(named) == 1


def test_a_task_that_wrote_nothing_tells_of_its_table_without_figures(tmp_path: Path) -> None:
    task = PyhudiCleanOperator(task_id="clean", base_path=str(tmp_path / "later"))
    for is_done in (False, True):
        found = extracted(task, is_done=is_done)
        assert found.inputs == []
        assert [each.name for each in found.outputs] == [str(tmp_path / "later")]


def test_a_table_of_the_catalog_is_no_dataset_of_a_storage(monkeypatch, tmp_path: Path) -> None:
    found = extracted(ran(monkeypatch, tmp_path, source="sales.orders"))
    assert found.inputs == []
    assert "columnLineage" not in found.outputs[0].facets


HISTORY = "http://history:18080/history/{application_id}/jobs/"


def link(kind: Any, task: Any) -> str:
    return str(kind().get_link(task, ti_key=SimpleNamespace()))


def test_a_task_links_to_its_table_at_its_instant(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://airflow/prefix/")
    task = ran(monkeypatch, tmp_path / "orders")
    assert task.told is not None
    path = str(tmp_path / "orders").replace("/", "%2F")
    address = f"http://airflow/prefix/pyhudi/find?table={path}&at={task.told['instant']}"
    assert link(PyhudiTableLink, task) == address
    assert link(PyhudiTableLink, PyhudiCleanOperator(task_id="c", base_path="/t")) == ""


@pytest.mark.parametrize("address", ["http://history:18080/", HISTORY])
def test_a_task_links_to_its_spark_application(monkeypatch, tmp_path: Path, address: str) -> None:
    task = ran(monkeypatch, tmp_path)
    # Its own page went with the job.
    assert link(PyhudiSparkLink, task) == ""
    monkeypatch.setenv("AIRFLOW__PYHUDI__SPARK_HISTORY_URL", address)
    assert link(PyhudiSparkLink, task) == "http://history:18080/history/app-1/jobs/"
    assert link(PyhudiSparkLink, PyhudiCleanOperator(task_id="c", base_path="/t")) == ""


def test_a_task_that_failed_links_to_where_it_came(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://airflow")
    monkeypatch.setenv("AIRFLOW__PYHUDI__SPARK_HISTORY_URL", HISTORY)
    binary = tmp_path / "bin" / "spark-submit"
    binary.parent.mkdir()
    said = f"INFO Spark 4 on local[2] is up after 2.1 s{APPLICATION_MARKER}local-17"
    binary.write_text(f"#!/bin/sh\necho '{said}'\nexit 4\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(binary.parent), prepend=":")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[2]"}')
    task = PyhudiCleanOperator(task_id="clean", base_path="/lake/orders")
    context = task_context(task)
    with pytest.raises(PyhudiEnvironmentError):
        task.execute(context)
    assert link(PyhudiTableLink, task) == "http://airflow/pyhudi/find?table=%2Flake%2Forders"
    assert link(PyhudiSparkLink, task) == "http://history:18080/history/local-17/jobs/"
