"""Errors an Airflow user sees; the type says whether a retry can help."""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from pyhudi.errors import HudiError


class PyhudiRequestError(AirflowFailException):
    """The request is wrong and stays wrong: the task fails at once, retries or not."""


class PyhudiConflictError(AirflowException):
    """Another writer committed first: the next try starts from its commit."""


class PyhudiEnvironmentError(AirflowException):
    """Disk, network, Java or Spark failed: the next try can succeed."""


def job_error(exit_code: int | None, message: str) -> AirflowException:
    """The error for a job that ended with an exit code other than 0."""
    match exit_code:
        case 2:
            return PyhudiRequestError(message)
        case 3:
            return PyhudiConflictError(message)
    return PyhudiEnvironmentError(message)


def engine_error(error: HudiError) -> AirflowException:
    """The error for one that the engine raised in this process."""
    return job_error(error.exit_code, str(error))
