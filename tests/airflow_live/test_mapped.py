"""Mapped tasks have names that tell them apart, and each does its own part."""

import shutil

from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import check_by_hudi, rows_of, timeline_of
from tests.interop.hudi import RealHudi
from tests.support.golden import golden_table

DAG, PLANS = "live_mapped", "live_planned"
GOLDEN = "v6_mor_pending_compaction"


def test_mapped_tasks_are_told_by_table_and_source(airflow: LiveAirflow) -> None:
    airflow.rest.wait_for_dag(DAG)
    airflow.rest.unpause(DAG)
    run = airflow.rest.trigger(DAG)
    airflow.rest.wait_for_run(DAG, run, 600)
    found = {(task["rendered_map_index"], task["state"]) for task in airflow.rest.tasks(DAG, run)}
    names = (f"flights · 2013-0{month}/flights.parquet" for month in (1, 2))
    assert found == {(name, "skipped") for name in names}


def test_each_pending_plan_is_run_by_a_task_of_its_own(
    airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    folder = airflow.lake / "planned"
    tables = [shutil.copytree(golden_table(GOLDEN), folder / name) for name in ("one", "other")]
    (plan,) = timeline_of(golden_table(GOLDEN)).pending().instants
    columns = ("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_time")
    before = [rows_of(table, *columns) for table in tables]

    airflow.rest.wait_for_dag(PLANS)
    airflow.rest.unpause(PLANS)
    run = airflow.rest.trigger(PLANS)
    assert airflow.rest.wait_for_run(PLANS, run, 900) == "success", airflow.failures(PLANS)

    tasks = [task for task in airflow.rest.tasks(PLANS, run) if task["task_id"] == "compaction"]
    names = {f"{table.name} · {plan.time}" for table in tables}
    assert {task["rendered_map_index"] for task in tasks} == names
    for table, rows in zip(tables, before, strict=True):
        assert not timeline_of(table).pending().instants
        assert rows_of(table, *columns) == rows
        if hudi is not None:
            check_by_hudi(hudi, table, columns)
