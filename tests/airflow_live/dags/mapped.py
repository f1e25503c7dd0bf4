"""Sources that are mapped over; none of them is there, so that no Spark starts."""

import os
from datetime import datetime, timezone

from airflow.sdk import DAG

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

LAKE = os.environ["LIVE_LAKE"]

with DAG("live_mapped", start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), schedule=None):
    PyhudiUpsertOperator.partial(
        task_id="upsert",
        base_path=f"{LAKE}/flights",
        table_name="flights",
        record_key="id",
        if_source_missing="skip",
    ).expand(source=[f"{LAKE}/nowhere/2013-0{month}/flights.parquet" for month in (1, 2)])
