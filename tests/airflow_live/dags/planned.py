"""Compactions that others planned, each run by a task of its own, which is named by its plan."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator

PLANNED = Path(os.environ["LIVE_LAKE"]) / "planned"


@task
def plans() -> list[dict[str, str]]:
    """What is planned and not done, of all tables of the folder."""
    hook = PyhudiHook()
    return [
        {"base_path": str(path), "instant": instant}
        for path in sorted(PLANNED.iterdir())
        for instant in hook.pending_compactions(str(path))
    ]


with DAG("live_planned", start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), schedule=None):
    PyhudiCompactionOperator.partial(
        task_id="compaction",
        mode="execute",
        driver_memory="512m",
        retries=1,
        retry_delay=timedelta(seconds=1),
    ).expand_kwargs(plans())
