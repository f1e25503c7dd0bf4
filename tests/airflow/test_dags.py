"""The example DAGs as Airflow parses them."""

import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException

import pyhudi
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from tests.support.orders import HERE, write

NAMES = [
    *("bootstrap", "flight_changes", "flight_days", "flight_delays", "flight_parts", "flights"),
    *("maintenance", "restore"),
]
DAGS = Path(__file__).resolve().parents[2] / "dags"
MOST_S = 0.1
"""CPU seconds that a file may take once Airflow and the provider are loaded."""
PARSING = f"""
import json, sys, time
from pathlib import Path

sys.path[:0] = {[path for path in sys.path if path]!r}
import airflow.providers.apache.spark.operators.spark_submit
from airflow.dag_processing.dagbag import DagBag

taken, before = {{}}, set(sys.modules)
for _ in range(3):
    for file in Path({str(DAGS)!r}).glob("*.py"):
        began = time.process_time()
        DagBag(dag_folder=str(file))
        taken.setdefault(file.name, []).append(time.process_time() - began)
heavy = {{"fastavro", "numpy", "pandas", "pyarrow", "pyspark"}}
print(json.dumps([taken, sorted(heavy & (set(sys.modules) - before))]))
"""
"""Reads each file thrice, the first time with what it imports, in a process that has no more."""


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(dag_folder=str(DAGS))


def test_every_dag_imports_clean(bag: DagBag) -> None:
    assert (bag.import_errors, sorted(bag.dags)) == ({}, NAMES)


def test_a_dag_processor_reads_each_file_at_once_and_loads_nothing_heavy_for_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARSING], capture_output=True, text=True, check=True
    )
    taken, heavy = json.loads(done.stdout.splitlines()[-1])
    assert heavy == []
    assert {file: times for file, times in taken.items() if min(times) > MOST_S} == {}


def test_each_day_of_a_backfill_takes_its_turn_and_each_partition_starts_a_run(
    bag: DagBag,
) -> None:
    days, delays = bag.dags["flight_days"], bag.dags["flight_delays"]
    assert days.get_task("upsert").max_active_tis_per_dag == 1
    (asset,) = (each for each in days.get_task("upsert").outlets if each.uri.endswith("/*"))
    assert delays.timetable.asset_condition == asset


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


def test_flights_are_laid_out_bootstrapped_changed_and_counted(
    bag: DagBag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every function of the DAG on some flights, and in place of its jobs what these run."""
    dag, table = bag.dags["bootstrap"], tmp_path / "bootstrapped"
    tasks = {task.task_id: task for task in dag.tasks}
    of_the_module = tasks["change"].python_callable.__globals__
    monkeypatch.setitem(of_the_module, "LAKE", tmp_path)
    monkeypatch.setitem(of_the_module, "TABLE", str(table))
    monkeypatch.setitem(sys.modules, "flights", SimpleNamespace(read_flights=some_flights))
    source = tasks["find_source"].python_callable(params={"source": ""})
    assert source == str(tmp_path / "dataset")
    folders = {path.parent.relative_to(source).as_posix() for path in Path(source).rglob("*.parq*")}
    assert folders == {"origin=EWR/month=1", "origin=EWR/month=2", "origin=JFK/month=1"}
    asked = {name: dag.params[name] for name in ("record_key", "ordering_field", "selector")}
    request = BootstrapRequest(
        base_path=str(table), source=source, table_name="bootstrapped", **asked
    )
    done = bootstrap_table(HERE, request)
    assert (done.records["inserted"], done.instant) == (4, "00000000000001")
    changes = tasks["change"].python_callable()
    changed = write(table, pq.ParquetFile(changes).read(), "upsert", {})
    assert changed.records == {**changed.records, "inserted": 0}
    assert changed.records["updated"] >= 1
    said = tasks["report"].python_callable()
    assert said.startswith("4 rows in 3 file groups, ")
    assert said.endswith("still in the dataset; 2 instants")
    assert said in capsys.readouterr().out
    delays = pyhudi.read_table(table, columns=["flight", "arr_delay"]).to_pylist()
    assert {row["flight"] for row in delays} == {1, 2, 3, 4}


def some_flights() -> pa.Table:
    """Flights of two airports and months, of which one never arrived."""
    moment = datetime(2013, 1, 1, 5, tzinfo=timezone.utc)
    return pa.table(
        {
            "month": pa.array([1, 1, 2, 1], pa.int64()),
            "carrier": ["UA", "UA", "B6", "B6"],
            "flight": pa.array([1, 2, 3, 4], pa.int64()),
            "origin": ["EWR", "JFK", "EWR", "EWR"],
            "dep_delay": pa.array([2.0, 4.0, 6.0, 8.0]),
            "arr_delay": pa.array([3.0, None, 5.0, 7.0]),
            "time_hour": pa.array([moment] * 4, pa.timestamp("us", tz="UTC")),
        }
    )


def test_a_source_that_is_given_is_taken_as_it_is(bag: DagBag) -> None:
    find = bag.dags["bootstrap"].get_task("find_source").python_callable
    assert find(params={"source": "s3://lake/events"}) == "s3://lake/events"
