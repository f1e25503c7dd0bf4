"""A table goes back to its savepoint when a person says yes, and stays as it is otherwise."""

from pathlib import Path

import pytest

from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import check_by_hudi, rows_of, timeline_of
from tests.interop.hudi import RealHudi
from tests.support.in_process import savepoint, write

DAG = "restore"
COLUMNS = ("id", "value")
PATIENCE_S = 600
SAVED, LATER = [("a", "saved")], [("a", "later"), ("b", "later")]


@pytest.fixture(scope="module")
def table(airflow: LiveAirflow) -> Path:
    """A table with a savepoint and two writes after it."""
    storage, clock = open_storage(str(airflow.lake / "saved")), SystemClock()
    write(storage, {("x", "a"): (1, "saved")}, clock)
    savepoint(storage, clock)
    write(storage, {("x", "a"): (2, "later")}, clock)
    write(storage, {("x", "b"): (2, "later")}, clock)
    return airflow.lake / "saved"


def run_with(airflow: LiveAirflow, choice: str) -> dict[str, str]:
    """A run in which somebody chooses when asked; the states of its tasks."""
    airflow.rest.wait_for_dag(DAG)
    airflow.rest.unpause(DAG)
    run = airflow.rest.trigger(DAG, conf={"table": "saved"})
    airflow.rest.wait_for_task(DAG, run, "approve", "awaiting_input", PATIENCE_S)
    told = airflow.rest.xcom(DAG, run, "undone")
    assert told["count"] == len(told["writes"]) == 2
    airflow.rest.answer(DAG, run, "approve", choice)
    assert airflow.rest.wait_for_run(DAG, run, PATIENCE_S) == "success", airflow.failures(DAG)
    return {each["task_id"]: each["state"] for each in airflow.rest.tasks(DAG, run)}


def test_a_table_is_restored_once_somebody_approves_and_not_before(
    airflow: LiveAirflow, table: Path, hudi: RealHudi | None
) -> None:
    assert run_with(airflow, "Reject")["restore"] == "skipped"
    assert rows_of(table, *COLUMNS) == LATER
    assert run_with(airflow, "Approve")["restore"] == "success"
    assert rows_of(table, *COLUMNS) == SAVED
    assert len(timeline_of(table).write_instants().completed()) == 1
    if hudi is not None:
        check_by_hudi(hudi, table, COLUMNS)
