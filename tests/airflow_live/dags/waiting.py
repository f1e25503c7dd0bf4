"""Sensors of all kinds in all modes, and a reader that is started by commits of others."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_pyhudi.assets.changes import changes_of
from airflow_provider_pyhudi.assets.events import instants_from
from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.sensors.partition import PyhudiPartitionSensor
from airflow_provider_pyhudi.sensors.table_service import PyhudiTableServiceSensor

LAKE = Path(os.environ["LIVE_LAKE"])
WAITED, WATCHED = str(LAKE / "waited"), str(LAKE / "watched")
ORDERS = table_asset(WATCHED, watch=True, poke_interval=1)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
MODES: dict[str, dict[str, Any]] = {
    # Each look is a process here; looks that follow at once make Airflow lose count of them.
    "reschedule": {"mode": "reschedule", "poke_interval": 15, "retries": 2},
    # A pool of their own leaves the others their workers.
    "poke": {"mode": "poke", "poke_interval": 5, "pool": "pokes"},
    "deferrable": {"deferrable": True},
    "triggerer": {"start_from_trigger": True},
    "triggerer_alone": {"start_from_trigger": True, "end_from_trigger": True},
}

with DAG("waiting", schedule=None, start_date=START, catchup=False):
    for name, mode in MODES.items():
        given: dict[str, Any] = {
            "base_path": WAITED,
            "poke_interval": 1,
            "timeout": 600,
            "retry_delay": timedelta(seconds=1),
            **mode,
        }
        PyhudiInstantSensor(
            task_id=f"instant_{name}", partition="{{ dag_run.conf['partition'] }}", **given
        )
        PyhudiPartitionSensor(task_id=f"partition_{name}", partition="x", **given)
        PyhudiTableServiceSensor(task_id=f"service_{name}", max_pending_compactions=0, **given)


@task(inlets=[ORDERS])
def read(**context: Any) -> dict[str, Any]:
    """The keys that were committed since the run before, and the instants that were told of."""
    with changes_of(WATCHED, context) as changes:
        keys = [] if changes is None else changes.read(columns=["id"])["id"].to_pylist()
    return {"keys": keys, "told": instants_from(context)}


with DAG("watching", schedule=[ORDERS], start_date=START, catchup=False, max_active_runs=1):
    read()
