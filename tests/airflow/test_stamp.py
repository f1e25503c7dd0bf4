"""Which tries are one execution, and what a commit says about the task that made it."""

from datetime import datetime, timezone
from typing import Any

import pytest

from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.stamp import commit_stamp, first_try, idempotency_key, key_since
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
