"""When a task that failed is tried again."""

from datetime import timedelta
from typing import Any

from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.exceptions import (
    PyhudiConflictError,
    PyhudiEnvironmentError,
    PyhudiRequestError,
)
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator
from airflow_provider_pyhudi.retries import SpreadRetries
from tests.support.airflow import task_context

DELAY = timedelta(seconds=100)


def make(**settings: Any) -> PyhudiCompactionOperator:
    return PyhudiCompactionOperator(task_id="compact", base_path="/t", retries=3, **settings)


NO_NETWORK = PyhudiEnvironmentError("no network")


def delays(task: PyhudiCompactionOperator, error: BaseException = NO_NETWORK) -> list[Any]:
    policy, context = task.retry_policy, task_context(task)
    assert policy is not None
    return [policy.evaluate(error, 1, 3, context) for _ in range(50)]


def test_retries_of_tasks_that_failed_together_come_apart() -> None:
    decisions = delays(make(retry_delay=DELAY))
    found = [decision.retry_delay / DELAY for decision in decisions]
    assert {decision.action for decision in decisions} == {RetryAction.RETRY}
    assert min(found) >= 0.5
    assert max(found) <= 1.5
    assert len({round(each, 2) for each in found}) > 5


def test_a_conflict_is_tried_again_soon_and_never_later_than_the_task_says() -> None:
    error = PyhudiConflictError("another writer was faster")
    for delay, most in ((DELAY, 15), (timedelta(seconds=2), 3)):
        decisions = delays(make(retry_delay=delay), error)
        found = [decision.retry_delay.total_seconds() for decision in decisions]
        assert {decision.action for decision in decisions} == {RetryAction.RETRY}
        assert max(found) <= most
        assert len({round(each, 2) for each in found}) > 5


def test_a_wrong_request_is_no_matter_of_a_policy() -> None:
    assert issubclass(PyhudiRequestError, AirflowFailException)


def test_delays_that_airflow_spreads_itself_are_left_to_it() -> None:
    decisions = delays(make(retry_delay=DELAY, retry_exponential_backoff=2))
    assert {decision.action for decision in decisions} == {RetryAction.DEFAULT}


def test_a_policy_of_the_task_s_own_is_kept() -> None:
    own = ExceptionRetryPolicy(rules=[])
    assert make(retry_policy=own).retry_policy is own
    assert make(default_args={"retry_policy": own}).retry_policy is own
    assert isinstance(make().retry_policy, SpreadRetries)
