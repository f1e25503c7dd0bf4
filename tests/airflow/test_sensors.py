"""The sensors of instants, partitions and services in all modes, on tables that were written."""

import asyncio
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.exceptions import AirflowRescheduleException, TaskDeferred
from airflow.serialization.serialized_objects import DagSerialization
from airflow.triggers.base import TaskSuccessEvent

from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.sensors.instant import PyhudiInstantSensor
from airflow_provider_pyhudi.sensors.partition import PyhudiPartitionSensor
from airflow_provider_pyhudi.sensors.table_service import PyhudiTableServiceSensor
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.support.airflow import stamped_commit, task_context, timeline_folder
from tests.support.golden import GoldenReplay, golden_instants, golden_table
from tests.support.in_process import (
    APPENDED,
    ARCHIVING,
    REWRITTEN,
    Rows,
    compaction,
    write,
)

FIRST, SECOND, THIRD = (f"2026010{day}000000000" for day in (1, 2, 3))
INTERVALS = {
    FIRST: ("2025-12-30T00:00:00+00:00", "2025-12-31T00:00:00+00:00"),
    SECOND: ("2025-12-31T00:00:00+00:00", "2026-01-01T00:00:00+00:00"),
}


def written(folder: Path, rows: Rows, **options: str) -> str:
    """Rows written as production writes them; the instant."""
    given = {**REWRITTEN, **{name.replace("__", "."): value for name, value in options.items()}}
    done = write(open_storage(str(folder)), rows, SystemClock(), options=given)
    assert done.instant is not None
    return done.instant


def wait(task: Any) -> Any:
    context = task_context(task)
    task.render_template_fields(context)
    return task.execute(context)


def _goes_on_later(task: Any) -> bool:
    try:
        wait(task)
    except (AirflowRescheduleException, TaskDeferred):
        return True
    return False


def is_waited_for(kind: Any, **settings: Any) -> bool:
    """Whether the sensor is not done, told alike by all modes."""
    given = {"task_id": "wait", "poke_interval": 60, "timeout": 600} | settings
    modes: list[Any] = [{"mode": "reschedule"}, {"deferrable": True}]
    waits = [_goes_on_later(kind(**given, **mode)) for mode in modes]
    assert len(set(waits)) == 1
    return waits[0]


def found(kind: Any, **settings: Any) -> Any:
    """What the sensor finds at once, told alike by all modes, those in the triggerer too."""
    given = {"task_id": "wait", "poke_interval": 60, "timeout": 600} | settings
    answers = [wait(kind(**given)), wait(kind(**given, deferrable=True))]
    for ending in (False, True):
        task = kind(**given, start_from_trigger=True, end_from_trigger=ending)
        event = fired(task)
        if isinstance(event, TaskSuccessEvent):
            assert event.xcoms is not None
            answers.append(event.xcoms["return_value"])
        else:
            answers.append(task.execute_complete({}, event.payload))
    assert all(answer == answers[0] for answer in answers), answers
    return answers[0]


def fired(task: Any) -> Any:
    """The event of the trigger in which a task starts, its arguments as the database has them."""
    start = task.start_trigger_args
    arguments = json.loads(json.dumps(start.trigger_kwargs))
    trigger = import_string(start.trigger_cls)(**arguments)

    async def first() -> Any:
        return await anext(trigger.run())

    return asyncio.run(asyncio.wait_for(first(), timeout=20))


@pytest.fixture
def table(tmp_path: Path) -> str:
    made = timeline_folder(tmp_path / "flights")
    for time, dag, partition in ((FIRST, "early", "JFK"), (SECOND, "late", "LGA")):
        begin, end = INTERVALS[time]
        stamped_commit(
            made,
            time,
            partition,
            dag_id=dag,
            run_id=f"scheduled__{end}",
            data_interval_start=begin,
            data_interval_end=end,
        )
    return made


@pytest.mark.parametrize(
    ("condition", "instant"),
    [
        pytest.param({"partition": "JFK"}, FIRST, id="to a partition"),
        pytest.param({"partition": ["EWR", "J*"]}, FIRST, id="to one of several, by a pattern"),
        pytest.param({"written_by_dag": "early"}, FIRST, id="by a DAG"),
        pytest.param({"written_by_run": f"scheduled__{INTERVALS[SECOND][1]}"}, SECOND, id="a run"),
        pytest.param({"written_by_dag": "late", "after": FIRST}, SECOND, id="by a DAG, after one"),
        pytest.param(
            {"interval_start": INTERVALS[FIRST][0], "interval_end": INTERVALS[FIRST][1]},
            FIRST,
            id="of an interval",
        ),
        pytest.param(
            {"interval_start": INTERVALS[FIRST][0], "interval_end": INTERVALS[SECOND][1]},
            SECOND,
            id="of an interval that two commits cover",
        ),
        pytest.param(
            {
                "interval_start": datetime(2025, 12, 30, 6, tzinfo=timezone.utc),
                "interval_end": datetime(2025, 12, 30, 7, tzinfo=timezone.utc),
            },
            FIRST,
            id="of an hour of an interval",
        ),
    ],
)
def test_an_instant_is_told_by_what_its_commit_says(
    table: str, condition: Any, instant: str
) -> None:
    assert found(PyhudiInstantSensor, base_path=table, **condition) == instant


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param({"partition": "EWR"}, id="no such partition"),
        pytest.param({"partition": "JFK", "after": FIRST}, id="to a partition, before"),
        pytest.param({"written_by_dag": "early", "partition": "LGA"}, id="two that differ"),
        pytest.param(
            {"interval_start": INTERVALS[SECOND][0], "interval_end": "2026-01-02T00:00:00+00:00"},
            id="half of an interval",
        ),
    ],
)
def test_an_instant_that_no_commit_says_is_waited_for(table: str, condition: Any) -> None:
    assert is_waited_for(PyhudiInstantSensor, base_path=table, **condition)


def test_the_interval_of_the_run_can_be_waited_for(table: str) -> None:
    stamped_commit(
        table,
        THIRD,
        "EWR",
        data_interval_start="2013-02-01T00:00:00+00:00",
        data_interval_end="2013-03-01T00:00:00+00:00",
    )
    given = {
        "interval_start": "{{ data_interval_start }}",
        "interval_end": "{{ data_interval_end }}",
    }
    assert wait(PyhudiInstantSensor(task_id="wait", base_path=table, **given)) == THIRD


def test_a_commit_that_was_archived_is_found_from_its_time_on(tmp_path: Path) -> None:
    options = {**REWRITTEN, **ARCHIVING}
    storage, clock = open_storage(str(tmp_path)), SystemClock()
    begin, end = (
        datetime(2013, 1, 1, tzinfo=timezone.utc),
        datetime(2013, 1, 2, tzinfo=timezone.utc),
    )
    stamp = {
        "airflow.dag_id": "early",
        "airflow.data_interval_start": begin.isoformat(),
        "airflow.data_interval_end": end.isoformat(),
    }
    metadata = {"hoodie.datasource.write.commitmeta.key.prefix": "airflow."}
    landed = write(storage, {("x", "a"): (1, "a")}, clock, options={**options, **stamp, **metadata})
    for number in range(5):
        write(storage, {("x", "b"): (number, "b")}, clock, options=options)
    assert not (tmp_path / ".hoodie" / f"{landed.instant}.commit").exists()
    path = str(tmp_path)
    of_interval = {"interval_start": begin, "interval_end": end}
    assert found(PyhudiInstantSensor, base_path=path, **of_interval) == landed.instant
    by_dag = {"written_by_dag": "early", "after": "2013-01-01"}
    assert found(PyhudiInstantSensor, base_path=path, **by_dag) == landed.instant
    assert is_waited_for(PyhudiInstantSensor, base_path=path, written_by_dag="early")


def test_conditions_that_do_not_go_together_fail_at_once(table: str) -> None:
    for wrong in ({"interval_start": "2013-01-01"}, {"partition": "JFK", "actions": ["clean"]}):
        with pytest.raises(PyhudiRequestError):
            wait(PyhudiInstantSensor(task_id="wait", base_path=table, **wrong))


def test_a_partition_is_there_once_it_has_files(tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    assert is_waited_for(PyhudiPartitionSensor, base_path=path, partition="x")
    first = written(tmp_path / "orders", {("y", "a"): (1, "a")})
    assert is_waited_for(PyhudiPartitionSensor, base_path=path, partition="x")
    second = written(tmp_path / "orders", {("x", "a"): (1, "a")})
    assert found(PyhudiPartitionSensor, base_path=path, partition="x") == second
    assert found(PyhudiPartitionSensor, base_path=path, partition="y") == first
    gone = {"hoodie__datasource__write__partitions__to__delete": "x"}
    options = {**REWRITTEN, **{name.replace("__", "."): value for name, value in gone.items()}}
    storage = open_storage(path)
    assert write(storage, None, SystemClock(), "delete_partition", options).instant
    assert is_waited_for(PyhudiPartitionSensor, base_path=path, partition="x")


def test_a_partition_is_fresh_by_its_last_write(tmp_path: Path) -> None:
    first = written(tmp_path, {("x", "a"): (1, "a")})
    written(tmp_path, {("y", "a"): (1, "a")})
    given = {"base_path": str(tmp_path), "partition": "x"}
    assert found(PyhudiPartitionSensor, **given, fresher_than=first) == first
    assert found(PyhudiPartitionSensor, **given, fresher_than=timedelta(hours=1)) == first
    assert found(PyhudiPartitionSensor, **given, fresher_than=3600) == first
    assert is_waited_for(PyhudiPartitionSensor, **given, fresher_than=timedelta(0))
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
    assert is_waited_for(PyhudiPartitionSensor, **given, fresher_than=tomorrow)


def test_a_compaction_makes_no_partition_fresh(tmp_path: Path) -> None:
    storage, clock = open_storage(str(tmp_path)), SystemClock()
    for number in range(2):
        done = write(storage, {("x", "a"): (number, "a")}, clock, options=APPENDED)
    service = compaction(storage, clock)
    planned = service.schedule()
    assert planned is not None
    service.execute(service.oldest_pending())
    given = {"base_path": str(tmp_path), "partition": "x"}
    assert found(PyhudiPartitionSensor, **given) == done.instant


def test_data_is_complete_where_intervals_go_on_without_a_gap(tmp_path: Path) -> None:
    table = timeline_folder(tmp_path / "flights")
    written_days = (1, 3, 2)
    given = {"base_path": table, "partition": "JFK"}
    made = Path(table, "JFK")
    for number, day in enumerate(written_days):
        stamped_commit(
            table,
            f"2026010{number + 1}000000000",
            "JFK" if day == 1 else "LGA",
            data_interval_start=f"2013-01-0{day}T00:00:00+00:00",
            data_interval_end=f"2013-01-0{day + 1}T00:00:00+00:00",
        )
        up_to_4 = {**given, "complete_up_to": "2013-01-04T00:00:00Z"}
        assert is_waited_for(PyhudiPartitionSensor, **up_to_4)
    made.mkdir()
    (made / f"a-0_0-0-0_{FIRST}.parquet").write_bytes(b"PAR1")
    assert found(PyhudiPartitionSensor, **up_to_4) == FIRST
    from_1 = {**up_to_4, "complete_from": "2013-01-01"}
    assert found(PyhudiPartitionSensor, **from_1) == FIRST
    assert is_waited_for(PyhudiPartitionSensor, **up_to_4, complete_from="2012-12-31")
    assert is_waited_for(PyhudiPartitionSensor, **{**given, "complete_up_to": "2013-01-05"})


def test_a_table_is_looked_after_once_all_lies_within_bounds(tmp_path: Path) -> None:
    storage, clock = open_storage(str(tmp_path)), SystemClock()
    for number in range(3):
        write(storage, {("x", "a"): (number, "a")}, clock, options=APPENDED)
    service = compaction(storage, clock)
    service.schedule()
    given = {"base_path": str(tmp_path)}
    assert is_waited_for(PyhudiTableServiceSensor, **given, max_pending_compactions="0")
    assert is_waited_for(PyhudiTableServiceSensor, **given, max_log_ratio=0.01)
    assert is_waited_for(PyhudiTableServiceSensor, **given, max_small_files=0)
    measured = found(
        PyhudiTableServiceSensor, **given, max_pending_compactions=1, max_small_files=1
    )
    assert measured["pending_compactions"] == 1
    assert measured["small_files"] == 1
    assert 0 < measured["log_ratio"] < 1
    service.execute(service.oldest_pending())
    bounds = {"max_pending_compactions": 0, "max_log_ratio": 0.0}
    after = found(PyhudiTableServiceSensor, **given, **bounds)
    assert (after["pending_compactions"], after["log_ratio"]) == (0, 0.0)
    limit = {"max_small_files": "0", "small_file_limit": "1"}
    assert found(PyhudiTableServiceSensor, **given, **limit)["small_files"] == 0


@pytest.mark.parametrize("name", ["v6_cow_basic", "v6_mor_basic", "v9_cow_basic", "v9_mor_basic"])
def test_what_hudi_commits_is_waited_for_like_our_own(tmp_path: Path, name: str) -> None:
    table = GoldenReplay(name, tmp_path)
    insert, upsert, delete = sorted(each["requested"] for each in golden_instants(name))
    given = {"base_path": str(table.path)}
    assert is_waited_for(PyhudiInstantSensor, **given)
    assert is_waited_for(PyhudiPartitionSensor, **given, partition="north")
    table.go_on()
    assert found(PyhudiInstantSensor, **given, partition="north") == insert
    assert found(PyhudiPartitionSensor, **given, partition="north") == insert
    assert is_waited_for(PyhudiInstantSensor, **given, instant=upsert)
    assert is_waited_for(PyhudiInstantSensor, **given, after=insert)
    assert is_waited_for(PyhudiPartitionSensor, **given, partition="north", fresher_than=upsert)
    table.go_on()
    assert found(PyhudiInstantSensor, **given, instant=upsert) == upsert
    assert found(PyhudiInstantSensor, **given, after=insert) == upsert
    fresh = {"partition": "north", "fresher_than": upsert}
    assert found(PyhudiPartitionSensor, **given, **fresh) == upsert
    table.go_on()
    assert found(PyhudiInstantSensor, **given, after=insert) == delete


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_compactions_of_hudi_are_waited_for(version: str) -> None:
    pending, done = (
        {"base_path": str(golden_table(f"{version}_mor_{state}"))}
        for state in ("pending_compaction", "compacted")
    )
    bound = {"max_pending_compactions": 0}
    assert is_waited_for(PyhudiTableServiceSensor, **pending, **bound)
    assert found(PyhudiTableServiceSensor, **done, **bound)["pending_compactions"] == 0


@pytest.mark.parametrize("wrong", [{}, {"max_small_files": "few"}, {"max_log_ratio": -1}])
def test_bounds_that_are_none_fail_at_once(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(PyhudiRequestError):
        wait(PyhudiTableServiceSensor(task_id="wait", base_path=str(tmp_path), **wrong))


SENSORS = [
    pytest.param(
        PyhudiInstantSensor, {"after": datetime(2026, 1, 1, tzinfo=timezone.utc)}, id="instant"
    ),
    pytest.param(PyhudiPartitionSensor, {"fresher_than": timedelta(hours=1)}, id="partition"),
    pytest.param(PyhudiTableServiceSensor, {"max_log_ratio": 0.5}, id="service"),
]


@pytest.mark.parametrize(("kind", "conditions"), SENSORS)
def test_every_trigger_survives_serialisation(kind: Any, conditions: Any) -> None:
    task = kind(task_id="wait", base_path="/nowhere", start_from_trigger=True, **conditions)
    start = task.start_trigger_args
    trigger = import_string(start.trigger_cls)(**start.trigger_kwargs)
    path, arguments = trigger.serialize()
    again = import_string(path)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)


@pytest.mark.parametrize(("kind", "conditions"), SENSORS)
def test_a_sensor_that_starts_in_the_triggerer_is_serialised_with_its_dag(
    kind: Any, conditions: Any
) -> None:
    with DAG("waits", schedule=None) as dag:
        kind(task_id="wait", base_path="{{ dag.dag_id }}", start_from_trigger=True, **conditions)
        kind(task_id="plain", base_path="/t", **conditions)
    again = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    task = again.get_task("wait")
    assert task.start_from_trigger
    assert not again.get_task("plain").start_from_trigger
    assert task.start_trigger_args.trigger_cls.startswith("airflow_provider_pyhudi.triggers.")


def test_an_output_of_a_task_cannot_be_waited_for_before_a_worker_is_there() -> None:
    with DAG("waits", schedule=None):
        upsert = EmptyOperator(task_id="upsert")
        given = {"task_id": "wait", "base_path": "/t", "instant": upsert.output}
        with pytest.raises(PyhudiRequestError, match="instant of 'wait'"):
            PyhudiInstantSensor(**given, start_from_trigger=True)


def test_a_secret_is_not_kept_with_a_dag() -> None:
    secret = {"access_key": "AK", "secret_key": "hidden"}
    given = {"task_id": "wait", "base_path": "s3://b/t", "storage_options": secret}
    with pytest.raises(PyhudiRequestError, match="secret_key") as refused:
        PyhudiInstantSensor(**given, start_from_trigger=True)
    assert "hidden" not in str(refused.value)


def test_a_sensor_in_the_triggerer_waits_for_nothing_that_was_not_written(table: str) -> None:
    for ending in (False, True):
        task = PyhudiInstantSensor(
            task_id="wait",
            base_path=table,
            instant="None",
            start_from_trigger=True,
            end_from_trigger=ending,
        )
        event = fired(task)
        assert (event.xcoms["return_value"] if ending else event.payload["found"]) is None
