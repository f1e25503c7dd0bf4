"""The example DAGs as Airflow parses them."""

from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException

NAMES = ["bootstrap", "flight_changes", "flights", "maintenance", "restore"]
DAGS = Path(__file__).resolve().parents[2] / "dags"


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(dag_folder=str(DAGS))


def test_every_dag_imports_clean(bag: DagBag) -> None:
    assert (bag.import_errors, sorted(bag.dags)) == ({}, NAMES)


def test_the_flights_have_a_month_as_their_interval(bag: DagBag) -> None:
    assert type(bag.dags["flights"].timetable).__name__ == "CronDataIntervalTimetable"


def test_the_months_of_a_backfill_take_turns_at_the_table(bag: DagBag) -> None:
    assert bag.dags["flights"].get_task("upsert").max_active_tis_per_dag == 1


def test_a_run_without_a_month_is_told_so(bag: DagBag) -> None:
    land = bag.dags["flights"].get_task("land")
    with pytest.raises(AirflowFailException, match="this run has no month"):
        land.python_callable()


def test_the_flights_are_landed_written_awaited_and_reported(bag: DagBag) -> None:
    dag = bag.dags["flights"]
    order = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert order == {"land": {"upsert"}, "upsert": {"wait"}, "wait": {"report"}, "report": set()}


def test_a_dataset_is_bootstrapped_awaited_changed_and_reported(bag: DagBag) -> None:
    dag = bag.dags["bootstrap"]
    order = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert order == {
        "find_source": {"bootstrap"},
        "bootstrap": {"wait"},
        "wait": {"change"},
        "change": {"upsert"},
        "upsert": {"report"},
        "report": set(),
    }
    assert dag.params["source"] == ""


def test_a_source_that_is_given_is_taken_as_it_is(bag: DagBag) -> None:
    find = bag.dags["bootstrap"].get_task("find_source").python_callable
    assert find(params={"source": "s3://lake/events"}) == "s3://lake/events"
