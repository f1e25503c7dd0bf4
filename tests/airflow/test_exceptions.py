"""What Airflow does with an error is what the engine says of it."""

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_pyhudi.exceptions import (
    PyhudiInternalError,
    cause_to_show,
    engine_error,
    job_error,
)
from pyhudi import errors
from pyhudi.errors import HudiError, InvariantError

KINDS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, HudiError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_airflow_retries_what_the_engine_calls_retryable(kind: type[HudiError]) -> None:
    error = kind("why")
    assert isinstance(engine_error(error), AirflowFailException) is not error.retryable


def test_whatever_a_job_says_a_task_fails_with_one_line() -> None:
    error = job_error(4, "Cannot execute: spark-submit\n  --name x.\n Error code is: 1.")
    assert str(error) == "Cannot execute: spark-submit --name x. Error code is: 1."


def test_a_state_that_must_never_be_is_no_fault_of_the_request() -> None:
    assert isinstance(engine_error(InvariantError("why")), PyhudiInternalError)


def test_the_stack_is_shown_of_what_must_never_be_alone() -> None:
    assert [kind for kind in KINDS if cause_to_show(kind("why"))] == [
        HudiError,
        InvariantError,
    ]
