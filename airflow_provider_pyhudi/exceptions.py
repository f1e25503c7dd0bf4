"""Errors an Airflow user sees; the type says whether a retry can help.

Which exit codes of a job are worth a retry is said in ``pyhudi.errors``.
"""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from pyhudi.errors import EXIT_CONFLICT, EXIT_INTERNAL, FINAL_EXIT_CODES, HudiError


class PyhudiRequestError(AirflowFailException):
    """The request is wrong and stays wrong: the task fails at once, retries or not."""


class PyhudiInternalError(AirflowFailException):
    """The engine contradicts itself, and would again: the task fails at once, retries or not."""


class PyhudiConflictError(AirflowException):
    """Another writer committed first: the next try starts from its commit."""


class PyhudiEnvironmentError(AirflowException):
    """Disk, network, Java or Spark failed: the next try can succeed."""


def job_error(exit_code: int | None, message: str) -> AirflowException:
    """The error for a job that ended with an exit code other than 0; its message is one line."""
    message = " ".join(message.split())
    if exit_code in FINAL_EXIT_CODES:
        is_internal = exit_code == EXIT_INTERNAL
        return PyhudiInternalError(message) if is_internal else PyhudiRequestError(message)
    is_conflict = exit_code == EXIT_CONFLICT
    return PyhudiConflictError(message) if is_conflict else PyhudiEnvironmentError(message)


def engine_error(error: HudiError) -> AirflowException:
    """The error for one that the engine raised in this process."""
    return job_error(error.exit_code, str(error))
