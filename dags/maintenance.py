"""The tables of a lake are looked after once a day: each its own task, named by its table.

Compactions that are planned are run, each by a task, then files that no reader needs are deleted.
A table that appears in the lake is looked after from the next day on.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.clean import PyhudiCleanOperator
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
NAME = "{{ task.base_path.rsplit('/', 1)[-1] }}"


@task
def tables() -> list[str]:
    """The paths of all tables in the lake."""
    return sorted(str(found.parent) for found in LAKE.glob("*/.hoodie"))


@task
def plans(paths: list[str]) -> list[dict[str, str]]:
    """The compactions that are planned and not done, of all tables."""
    hook = PyhudiHook()
    return [
        {"base_path": path, "instant": instant}
        for path in paths
        for instant in hook.pending_compactions(path)
    ]


with DAG(
    dag_id="maintenance",
    doc_md=__doc__,
    schedule="@daily",
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2},
    tags=["pyhudi"],
):
    paths = tables()
    compaction = PyhudiCompactionOperator.partial(
        task_id="compaction",
        mode="execute",
        map_index_template=f"{NAME} · {{{{ task.instant }}}}",
        max_active_tis_per_dagrun=2,
    ).expand_kwargs(plans(paths))
    clean = PyhudiCleanOperator.partial(
        task_id="clean",
        map_index_template=NAME,
        max_active_tis_per_dagrun=2,
        # A table without a planned compaction is cleaned all the same.
        trigger_rule="none_failed",
    ).expand(base_path=paths)
    compaction >> clean
