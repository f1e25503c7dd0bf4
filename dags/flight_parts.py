"""The flights of a month from three sources, each by a task of its own, then each partition.

Airports deliver their flights in files of their own. Mapped tasks are told apart by name in
Airflow's pages: those that write by table and source, those of a partition by its path.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.partition import PyhudiPartitionSensor

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = str(LAKE / "flight_parts")


@task
def land(params: dict[str, Any] | None = None) -> list[str]:
    """Write the flights of the month as Parquet, a folder an airport, and say where."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # The folder of DAGs is on the path where tasks run.
    from flights import read_flights

    everything = read_flights()
    flights = everything.filter(pc.equal(everything["month"], (params or {})["month"]))
    paths = []
    for airport in sorted(pc.unique(flights["origin"]).to_pylist()):
        path = LAKE / "landing" / airport / "flights.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(flights.filter(pc.equal(flights["origin"], airport)), path)
        paths.append(str(path))
    return paths


@task
def partitions(results: list[dict[str, Any]]) -> list[str]:
    """The partitions that any of the writes has changed."""
    return sorted({path for result in results for path in result["partitions"]})


@task(map_index_template="{{ task.op_kwargs['partition'] }}")
def count(partition: str) -> int:
    """How many flights a partition holds."""
    import pyarrow.compute as pc

    import pyhudi

    wanted = pc.field("origin") == partition.partition("=")[2]
    return int(pyhudi.read_table(TABLE, columns=["flight"], filters=wanted).num_rows)


with DAG(
    dag_id="flight_parts",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    params={"month": Param(1, type="integer", minimum=1, maximum=12)},
    tags=["pyhudi"],
):
    upsert = PyhudiUpsertOperator.partial(
        task_id="upsert",
        base_path=TABLE,
        table_name="flight_parts",
        record_key=["carrier", "flight", "origin", "time_hour"],
        partition_path="origin",
        hoodie_conf={"hoodie.datasource.write.hive_style_partitioning": "true"},
        ordering_field="airflow.data_interval_end",
        # They would wait for each other inside their jobs, each with a Spark of its own.
        max_active_tis_per_dagrun=1,
        retries=2,
    ).expand(source=land())
    written = partitions(upsert.output)
    fresh = PyhudiPartitionSensor.partial(
        task_id="fresh",
        base_path=TABLE,
        fresher_than=timedelta(hours=1),
        map_index_template="{{ task.partition }}",
    ).expand(partition=written)
    fresh >> count.expand(partition=written)
