"""The DAGs that the pages show, as Airflow parses them."""

from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from tests.support.airflow import task_context
from tests.support.snippets import Snippet, snippets

SHOWN = snippets("python", runner="airflow")
UPSERT = "PyhudiUpsertOperator("
DAGS = [
    shown for shown in SHOWN if "DAG(" in shown.values[0].code and UPSERT in shown.values[0].code
]


@pytest.mark.parametrize("snippet", SHOWN)
def test_a_dag_of_a_page_imports_clean_and_has_tasks(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(snippet.code, encoding="utf-8")
    bag = DagBag(dag_folder=str(tmp_path))
    assert bag.import_errors == {}
    assert any(dag.tasks for dag in bag.dags.values()) == ("DAG(" in snippet.code)


@pytest.mark.parametrize("snippet", DAGS)
def test_a_dag_of_a_page_is_green_for_a_month_without_data_and_takes_turns_in_a_backfill(
    snippet: Snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backfill of the form has up to sixteen active runs, and its first month may be any."""
    code = snippet.code.replace("/landing/", f"{tmp_path}/landing/")
    (tmp_path / "shown.py").write_text(code, encoding="utf-8")
    (dag,) = DagBag(dag_folder=str(tmp_path)).dags.values()
    monkeypatch.setattr(PyhudiSparkSubmitHook, "check_machine", lambda _: None)
    (task,) = [task for task in dag.tasks if isinstance(task, PyhudiUpsertOperator)]
    context = task_context(task)
    task.render_template_fields(context)
    with pytest.raises(AirflowSkipException, match="landing/2013-02 does not exist"):
        task.execute(context)
    assert task.max_active_tis_per_dag == 1
