"""Backfilled days, and a run of another DAG for each partition that their commits wrote."""

from datetime import datetime, timezone

import pyhudi
from tests.airflow_live.processes import wait_until
from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import commits_by_hudi, commits_of, rows_and_keys_by_hudi
from tests.interop.hudi import RealHudi

DAG, CONSUMER = "flight_days", "flight_delays"
DAYS = {"2013-01-01": 842, "2013-01-02": 943}
"""How many flights left New York on these days."""
PATIENCE_S = 900


def test_each_partition_of_a_backfill_starts_a_run_that_knows_which(
    airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    for dag_id in (DAG, CONSUMER):
        airflow.rest.wait_for_dag(dag_id)
        airflow.rest.unpause(dag_id)
    first, last = (datetime(2013, 1, day, tzinfo=timezone.utc) for day in (1, 2))
    airflow.rest.backfill(DAG, first, last)
    runs = airflow.rest.wait_until_idle(DAG, PATIENCE_S)
    assert [run["state"] for run in runs] == ["success"] * 2, airflow.failures(DAG)

    table = airflow.lake / "flight_days"
    found = pyhudi.read_table(table, columns=["date"])["date"].value_counts().to_pylist()
    assert {each["values"]: each["counts"] for each in found} == DAYS
    assert len(commits_of(table)) == 2

    def ran_for() -> list[str]:
        ended = [run for run in airflow.rest.runs(CONSUMER) if run["state"] == "success"]
        return [str(run["partition_key"]) for run in ended]

    # The second day brought corrections to the first, whose run may have come between the two.
    wait_until(lambda: set(ran_for()) == set(DAYS), seconds=PATIENCE_S, what="a run for each day")
    runs = airflow.rest.wait_until_idle(CONSUMER, PATIENCE_S)
    assert {run["state"] for run in runs} == {"success"}, airflow.failures(CONSUMER)
    told = {run["partition_key"]: run["dag_run_id"] for run in runs}
    counts = {
        day: airflow.rest.xcom(CONSUMER, run, "delays")["flights"] for day, run in told.items()
    }
    assert counts == DAYS
    if hudi is not None:
        assert rows_and_keys_by_hudi(hudi, table) == (sum(DAYS.values()),) * 2
        assert commits_by_hudi(hudi, table) == 2
