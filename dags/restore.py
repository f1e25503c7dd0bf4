"""A table goes back to a savepoint, once a person has seen what that undoes and said yes.

Start it with the name of a table of the lake, the flights unless given, and the instant of a
savepoint; without one it takes the latest. The task ``approve``
waits in Airflow's pages, under Required Actions, for as long as it takes. Whoever rejects leaves
the table as it is.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.restore import PyhudiRestoreOperator

LAKE = Path(os.environ.get("FLIGHTS_LAKE") or Path(__file__).parents[1] / ".demo" / "lake")
TABLE = f"{LAKE}/{{{{ params.table }}}}"


@task
def undone(params: dict[str, Any] | None = None) -> dict[str, Any]:
    """The savepoint to go back to, and the instants that were completed after it."""
    given = params or {}
    table = str(LAKE / given["table"])
    done = PyhudiHook().timeline(table).completed()
    saved = [each.time for each in done if each.action.value == "savepoint"]
    asked = given.get("savepoint") or max(saved, default=None)
    if asked is None or asked not in saved:
        raise AirflowFailException(
            f"{table} has no savepoint {asked or 'at all'}; there are {', '.join(saved) or 'none'}"
        )
    writes = [each.time for each in done.write_instants() if each.time > asked]
    return {"savepoint": asked, "count": len(writes), "writes": writes[-20:]}


with DAG(
    dag_id="restore",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2013, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=30)},
    params={
        "table": Param("flights", type="string", pattern=r"^\w[\w.-]*$"),
        "savepoint": Param(
            None,
            type=["null", "string"],
            description="Instant of the savepoint, by its digits; the latest unless given.",
        ),
    },
    tags=["pyhudi"],
):
    found = undone()
    approve = ApprovalOperator(
        task_id="approve",
        subject=(
            "Restore {{ params.table }} to {{ ti.xcom_pull(task_ids='undone')['savepoint'] }}?"
        ),
        body=(
            "{% set found = ti.xcom_pull(task_ids='undone') %}"
            "{{ found['count'] }} writes are undone: {{ found['writes'] | join(', ') }}"
        ),
    )
    restore = PyhudiRestoreOperator(
        task_id="restore",
        base_path=TABLE,
        instant="{{ ti.xcom_pull(task_ids='undone')['savepoint'] }}",
    )
    found >> approve >> restore
