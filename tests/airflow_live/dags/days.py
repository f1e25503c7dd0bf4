"""Three days, upserted into one table and inserted into another; an edition says how often."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

LAKE = Path(os.environ["LIVE_LAKE"])
SHARED = {
    "table_name": "days",
    "record_key": "id",
    "partition_path": "part",
    "hoodie_conf": {"hoodie.index.bloom.num_entries": 100},
    "conf": {"spark.ui.enabled": "false"},
    "driver_memory": "512m",
    "max_active_tis_per_dag": 1,
    "retries": 2,
    "retry_delay": timedelta(seconds=1),
}


@task
def land(data_interval_start: datetime | None = None) -> str:
    """Rows of a day: some with keys of their own, some that every day has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    day, edition = f"{data_interval_start:%Y-%m-%d}", (LAKE / "edition").read_text()
    keys = [*(f"{day}-{number}" for number in range(4)), *(f"every-{n}" for n in range(2))]
    rows = {
        "id": keys,
        "part": [f"p{number % 2}" for number in range(len(keys))],
        "value": [f"{day} {edition}"] * len(keys),
    }
    path = LAKE / "landing" / day / f"{edition}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows), path)
    return str(path)


with DAG(
    "live_days",
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    end_date=datetime(2026, 1, 3, tzinfo=timezone.utc),
    catchup=True,
    max_active_runs=3,
):
    landed = land()
    PyhudiUpsertOperator(
        task_id="upsert",
        base_path=str(LAKE / "upserted"),
        source=landed,
        ordering_field="airflow.data_interval_end",
        **SHARED,
    )
    PyhudiUpsertOperator(
        task_id="insert",
        base_path=str(LAKE / "inserted"),
        source=landed,
        operation="insert",
        **SHARED,
    )
