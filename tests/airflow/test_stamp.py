"""Which tries are one execution, and what a commit says about the task that made it."""

from datetime import datetime, timezone
from typing import Any

import pytest

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.stamp import (
    commit_stamp,
    first_try,
    idempotency_key,
    key_since,
    slot_key,
    slot_since,
)
from tests.support.airflow import task_context


@pytest.fixture
def task() -> PyhudiUpsertOperator:
    return PyhudiUpsertOperator(task_id="upsert", base_path="/t", source="/s", retries=2)


def test_all_tries_of_an_execution_share_a_key(task: Any) -> None:
    keys = {idempotency_key(task_context(task, try_number=number)) for number in (1, 2, 3)}
    assert len(keys) == 1


def test_clearing_the_task_makes_a_new_key(task: Any) -> None:
    before = idempotency_key(task_context(task, try_number=1))
    assert idempotency_key(task_context(task, try_number=2, cleared=1)) != before


def test_the_first_try_after_a_clear_is_counted_on(task: Any) -> None:
    assert first_try(task_context(task, try_number=4, cleared=2)) == 3


@pytest.mark.parametrize("field", ["dag_id", "task_id", "run_id", "map_index"])
def test_another_task_or_run_has_another_key(task: Any, field: str) -> None:
    other = task_context(task)
    setattr(other["ti"], field, "another")
    assert idempotency_key(other) != idempotency_key(task_context(task))


def test_a_key_is_looked_for_since_its_run_began_or_was_to_begin(task: Any) -> None:
    context = task_context(task)
    run = context["dag_run"]
    run.run_after = datetime(2013, 3, 1, tzinfo=timezone.utc)
    run.start_date = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert key_since(context, is_own_key=False) == "2026-01-01T00:00:00+00:00"
    assert key_since(context, is_own_key=True) == "2013-03-01T00:00:00+00:00"
    run.clear_number = 1  # its start is that after the clear
    assert key_since(context, is_own_key=False) == "2013-03-01T00:00:00+00:00"


def test_the_stamp_names_the_task_and_its_interval(task: Any) -> None:
    stamp = commit_stamp(task_context(task))
    assert stamp["airflow.dag_id"] == "flights"
    assert stamp["airflow.data_interval_end"] == "2013-03-01T00:00:00+00:00"
    assert all(isinstance(value, str) for value in stamp.values())


def test_a_run_without_dates_is_stamped_without_them(task: Any) -> None:
    context = task_context(task)
    for name in ("logical_date", "data_interval_start", "data_interval_end"):
        del context[name]
    assert not [name for name in commit_stamp(context) if "interval" in name or "logical" in name]


def test_a_slot_is_the_interval_whichever_run_and_execution_it_is_of(task: Any) -> None:
    backfilled = task_context(task, try_number=3, cleared=2)
    backfilled["ti"].run_id = "backfill__2013-03-01T00:00:00+00:00"
    assert slot_key(backfilled) == slot_key(task_context(task))
    later = task_context(task)
    later["data_interval_end"] = datetime(2013, 4, 1, tzinfo=timezone.utc)
    assert slot_key(later) != slot_key(task_context(task))


@pytest.mark.parametrize("field", ["dag_id", "task_id", "map_index"])
def test_another_task_has_other_slots(task: Any, field: str) -> None:
    other = task_context(task)
    setattr(other["ti"], field, "another")
    assert slot_key(other) != slot_key(task_context(task))


def test_a_run_without_an_interval_has_a_slot_of_its_own_unless_it_has_a_partition(
    task: Any,
) -> None:
    runs = [task_context(task) for _ in range(3)]
    for number, context in enumerate(runs):
        for name in ("logical_date", "data_interval_start", "data_interval_end"):
            context[name] = None
        context["ti"].run_id = f"manual__{number}"
    assert len({slot_key(context) for context in runs}) == 3
    for context in runs:
        context["dag_run"].partition_key = "2026-11-20"
    assert len({slot_key(context) for context in runs}) == 1


def test_a_slot_is_looked_for_since_it_could_first_be_written(task: Any) -> None:
    context = task_context(task)
    context["dag_run"].run_after = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert slot_since(context) == "2013-03-01T00:00:00+00:00"
