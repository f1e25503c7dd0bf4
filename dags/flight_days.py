"""The flights of 2013 day by day, and the delays of each day that a commit has changed.

``flight_days`` writes the flights of its data interval into a table partitioned by date. What was
not known of the day before comes with it, so a run may change two dates. Backfill some days: in
whatever order they run, and however often, the latest word on a flight stays.

``flight_delays`` runs once for each date that was written, as Airflow's partitioned schedules have
it: the operator names the partitions of its commit, and a mapper makes dates of them.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    CronDataIntervalTimetable,
    PartitionedAssetTimetable,
    StartOfDayMapper,
    task,
)
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.assets.table import partitions_asset
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = str(LAKE / "flight_days")
DAYS = partitions_asset(TABLE)
RETRIES = {"retries": 2, "retry_delay": timedelta(seconds=30)}


@task
def land(data_interval_start: datetime | None = None) -> str:
    """Write the flights of the day as Parquet, with corrections to the day before; say where."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The folder of DAGs is on the path where tasks run.
    from flights import corrected, read_flights

    if data_interval_start is None:
        raise AirflowFailException("this run has no day: start it as a backfill of days in 2013")
    everything = read_flights()
    before = corrected(flights_of(everything, data_interval_start - timedelta(days=1)))
    flights = pa.concat_tables([flights_of(everything, data_interval_start), before])
    path = LAKE / "landing" / f"{data_interval_start:%Y-%m-%d}" / "flights.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(flights, path)
    print(f"{flights.num_rows:,} flights in {path}, {before.num_rows} of them of the day before")
    return str(path)


def flights_of(everything: Any, day: datetime) -> Any:
    """The flights that left on a day, with its date as a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = (pc.equal(everything[name], getattr(day, name)) for name in ("year", "month", "day"))
    year, month, on_day = parts
    flights = everything.filter(pc.and_(year, pc.and_(month, on_day)))
    return flights.append_column("date", pa.repeat(f"{day:%Y-%m-%d}", flights.num_rows))


@task
def delays(partition_key: str | None = None) -> dict[str, Any]:
    """How many flights left on the date of this run, and how late they came, as is known now."""
    import pyarrow.compute as pc

    import pyhudi

    if partition_key is None:
        raise AirflowFailException("this run has no date: it is started by commits to the table")
    wanted = pc.field("date") == partition_key
    flights = pyhudi.read_table(TABLE, columns=["arr_delay"], filters=wanted)
    late = pc.mean(flights["arr_delay"]).as_py()
    found = {"date": partition_key, "flights": flights.num_rows, "mean_arrival_delay": late}
    print(found)
    return found


with DAG(
    dag_id="flight_days",
    doc_md=__doc__,
    # A plain "@daily" has intervals of length zero, so that no row would lie in them.
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    end_date=datetime(2013, 12, 31, tzinfo=timezone.utc),
    # With True the scheduler itself would run all days.
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
    tags=["pyhudi"],
):
    PyhudiUpsertOperator(
        task_id="upsert",
        base_path=TABLE,
        table_name="flight_days",
        record_key=["carrier", "flight", "origin", "time_hour"],
        partition_path="date",
        hoodie_conf={"hoodie.datasource.write.hive_style_partitioning": "true"},
        # The flights have no column that says when something was noted.
        ordering_field="airflow.data_interval_end",
        source=land(),
        outlets=[DAYS],
        # A backfill has a limit of its own for active runs; the days take turns all the same.
        max_active_tis_per_dag=1,
    )

with DAG(
    dag_id="flight_delays",
    doc_md=__doc__,
    schedule=PartitionedAssetTimetable(
        assets=DAYS,
        # The key is the path of a partition; "2013-01-05" is what the runs have.
        default_partition_mapper=StartOfDayMapper(input_format="date=%Y-%m-%d"),
    ),
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    default_args=RETRIES,
    tags=["pyhudi"],
):
    delays()
