"""A dataset of Parquet files that is there becomes an Apache Hudi table, without being rewritten.

Without a parameter the dataset is the flights that left New York in 2013, which the first task
writes out as other tools would: folders ``origin=EWR/month=1`` and so on. Give ``source`` a path to
take over a dataset of your own, with the columns that name its records; its files are only read.

Then the table is written to as any other: changed rows are upserted on top of what was taken over.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, Param, task

from airflow_provider_pyhudi.operators.bootstrap import PyhudiBootstrapOperator
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = str(LAKE / "bootstrapped")
CHANGED_ROWS = 1_000


@task
def find_source(params: dict[str, Any] | None = None) -> str:
    """Where the dataset lies; the flights are laid out first if no other one is asked for."""
    asked = (params or {}).get("source")
    if asked:
        return str(asked)
    folder = LAKE / "dataset"
    lay_out_flights(folder)
    return str(folder)


@task
def change() -> str:
    """Write some rows of the table, changed, as a file to upsert, and say where it is."""
    from itertools import islice

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    import pyhudi

    own = [name for name in pyhudi.open_table(TABLE).schema().names if name[:8] != "_hoodie_"]
    batches = pyhudi.read_batches(TABLE, columns=own)
    rows = pa.Table.from_batches(list(islice(batches, 1))).slice(0, CHANGED_ROWS)
    if "arr_delay" in own:
        # The delays of flights whose arrival was never noted are made up; the flights are not.
        place = rows.schema.get_field_index("arr_delay")
        noted = pc.coalesce(rows["arr_delay"], rows["dep_delay"])
        rows = rows.set_column(place, "arr_delay", noted)
    path = LAKE / "landing" / "bootstrapped" / "changes.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    print(f"{rows.num_rows:,} rows in {path}")
    return str(path)


@task
def report() -> str:
    """Say what the table holds, read without Spark."""
    import pyhudi

    table = pyhudi.open_table(TABLE)
    keys = pyhudi.read_batches(TABLE, columns=["_hoodie_record_key"])
    rows = sum(batch.num_rows for batch in keys)
    files = table.latest_base_files()
    skeletons = sum(file.instant == "00000000000001" for file in files)
    text = (
        f"{rows:,} rows in {len(files)} file groups, {skeletons} of them still in the dataset; "
        f"{len(table.timeline.completed())} instants"
    )
    print(text)
    return text


def lay_out_flights(folder: Path) -> None:
    """The flights of 2013 as a dataset in Hive's style, by origin and month."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The folder of DAGs is on the path where tasks run.
    from flights import read_flights

    flights = read_flights()
    moment = pa.scalar(datetime(2014, 1, 1, tzinfo=timezone.utc), pa.timestamp("us", tz="UTC"))
    flights = flights.append_column("updated_at", pa.repeat(moment, flights.num_rows))
    pq.write_to_dataset(
        flights,
        folder,
        partition_cols=["origin", "month"],
        basename_template="part-{i}.parquet",
        existing_data_behavior="delete_matching",
    )


with DAG(
    dag_id="bootstrap",
    doc_md=__doc__,
    schedule=None,
    max_active_runs=1,
    params={
        "source": Param("", type="string", description="folder or URI; the flights unless given"),
        "record_key": Param("carrier,flight,origin,time_hour", type="string"),
        "ordering_field": Param("updated_at", type="string"),
        "selector": Param("metadata_only", enum=["metadata_only", "full_record"]),
        "save_mode": Param("overwrite", enum=["overwrite", "append", "ignore", "errorifexists"]),
    },
    tags=["pyhudi"],
):
    bootstrap = PyhudiBootstrapOperator(
        task_id="bootstrap",
        base_path=TABLE,
        source=find_source(),
        table_name="bootstrapped",
        record_key="{{ params.record_key }}",
        ordering_field="{{ params.ordering_field }}",
        selector="{{ params.selector }}",
        save_mode="{{ params.save_mode }}",
        outlets=[Asset(f"file://{TABLE}")],
        retries=2,
    )
    wait = PyhudiInstantSensor(
        task_id="wait",
        base_path=TABLE,
        instant="{{ ti.xcom_pull(task_ids='bootstrap')['instant'] }}",
        deferrable=True,
        poke_interval=5,
        timeout=600,
    )
    changes = change()
    upsert = PyhudiUpsertOperator(
        task_id="upsert",
        base_path=TABLE,
        source=changes,
        outlets=[Asset(f"file://{TABLE}")],
        retries=2,
    )
    bootstrap >> wait >> changes >> upsert >> report()
