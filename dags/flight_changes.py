"""What was written to the flights, read on as it comes and kept as Parquet files.

Each run is started by commits to the table, whoever makes them: a task of Airflow's or another
engine. It reads from its own mark up to the last commit and writes one file, named by the two. Runs
that come too often find nothing, runs that were missed leave nothing out, and a try that died is
made again as it was.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_pyhudi.assets.changes import changes_of
from airflow_provider_pyhudi.assets.events import instants_from
from airflow_provider_pyhudi.assets.table import table_asset

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = str(LAKE / "flights")
FLIGHTS = table_asset(TABLE, watch=True, poke_interval=10)


@task(inlets=[FLIGHTS])
def keep(**context: Any) -> str | None:
    """Write what was committed since the run before as one Parquet file, and say which."""
    import pyarrow.parquet as pq

    print(f"started by {instants_from(context) or 'nobody who commits'}")
    with changes_of(TABLE, context) as changes:
        if changes is None:
            print("nothing was committed since the last run")
            return None
        rows = changes.read()
        path = LAKE / "changes" / f"{changes.name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file is there whole or not at all, under the name that the same span always has.
        beside = path.with_suffix(".part")
        pq.write_table(rows, beside)
        beside.replace(path)
    print(f"{rows.num_rows:,} flights in {path}")
    return str(path)


with DAG(
    dag_id="flight_changes",
    doc_md=__doc__,
    schedule=[FLIGHTS],
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    # One reader has one mark, so its runs take turns.
    max_active_runs=1,
    tags=["pyhudi"],
):
    keep()
