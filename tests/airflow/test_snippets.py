"""The DAGs that the pages show, as Airflow parses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from tests.support.snippets import Snippet, snippets


@pytest.mark.parametrize("snippet", snippets("python", runner="airflow"))
def test_a_dag_of_a_page_imports_clean_and_has_tasks(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(snippet.code, encoding="utf-8")
    bag = DagBag(dag_folder=str(tmp_path))
    assert bag.import_errors == {}
    assert [dag.dag_id for dag in bag.dags.values() if dag.tasks]
