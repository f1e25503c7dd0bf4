"""An upsert whose processes are killed, each run on a table of its own; a run has no date."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow.sdk import DAG

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

LAKE = os.environ["LIVE_LAKE"]
TRAPPED = str(Path(os.environ["PYTHONPATH"].split(":")[0]) / "tests/airflow_live/trapped.py")

with DAG(
    "live_killed",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    schedule=None,
    max_active_runs=16,
):
    PyhudiUpsertOperator(
        task_id="upsert",
        base_path=LAKE + "/killed/{{ run_id }}",
        source=LAKE + "/landing/orders.parquet",
        table_name="orders",
        record_key="id",
        partition_path="part",
        ordering_field="airflow.data_interval_end",
        hoodie_conf={"hoodie.index.bloom.num_entries": 100},
        application=TRAPPED,
        env_vars={"PYHUDI_TRAPS": LAKE + "/traps/{{ run_id }}"},
        conf={"spark.python.daemon.module": "tests.support.traps", "spark.ui.enabled": "false"},
        driver_memory="512m",
        retries=3,
        retry_delay=timedelta(seconds=1),
    )
