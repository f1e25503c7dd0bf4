"""Mapped tasks have names that tell them apart."""

from tests.airflow_live.server import LiveAirflow

DAG = "live_mapped"


def test_mapped_tasks_are_told_by_table_and_source(airflow: LiveAirflow) -> None:
    airflow.rest.wait_for_dag(DAG)
    airflow.rest.unpause(DAG)
    run = airflow.rest.trigger(DAG)
    airflow.rest.wait_for_run(DAG, run, 600)
    found = {(task["rendered_map_index"], task["state"]) for task in airflow.rest.tasks(DAG, run)}
    names = (f"flights · 2013-0{month}/flights.parquet" for month in (1, 2))
    assert found == {(name, "skipped") for name in names}
