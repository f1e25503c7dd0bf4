"""Errors an Airflow user sees; the type says whether a retry can help.

Which exit codes of a job are worth a retry is said in ``pyhudi.errors``.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_provider_pyhudi.wording import in_arguments
from pyhudi.errors import (
    EXIT_CONFLICT,
    EXIT_INTERNAL,
    EXIT_PLATFORM,
    EXIT_REQUEST,
    EXIT_SETUP,
    HudiError,
)


class PyhudiRequestError(AirflowFailException):
    """The request is wrong and stays wrong: the task fails at once, retries or not."""


class PyhudiInternalError(AirflowFailException):
    """The engine contradicts itself, and would again: the task fails at once, retries or not."""


class PyhudiSetupError(AirflowFailException):
    """The machine lacks something, such as Java, that no retry brings: the task fails at once."""


class NoSuchPlaceError(LookupError):
    """No table has this name on the page, or the user may not see it; nobody is told which."""


class PyhudiConflictError(AirflowException):
    """Another writer committed first: the next try starts from its commit."""


class PyhudiEnvironmentError(AirflowException):
    """Disk, network or Spark failed, or the source is late: the next try can succeed."""


_KINDS: Mapping[int | None, type[AirflowException]] = {
    EXIT_REQUEST: PyhudiRequestError,
    EXIT_CONFLICT: PyhudiConflictError,
    EXIT_INTERNAL: PyhudiInternalError,
    EXIT_SETUP: PyhudiSetupError,
}


def job_error(exit_code: int | None, message: str) -> AirflowException:
    """The error for a job that ended with an exit code other than 0.

    Its message is one line, with advice in arguments.
    """
    line = in_arguments(" ".join(message.split()))
    return _KINDS.get(exit_code, PyhudiEnvironmentError)(line)


def exit_code_of(error: AirflowException) -> int:
    """The exit code that an error of this module, or another one of Airflow's, stands for."""
    codes = (code for code, kind in _KINDS.items() if code is not None and isinstance(error, kind))
    return next(codes, EXIT_PLATFORM)


def engine_error(error: HudiError) -> AirflowException:
    """The error for one that the engine raised in this process."""
    return job_error(error.exit_code, str(error))


def cause_to_show(error: HudiError) -> HudiError | None:
    """What Airflow shows below ``engine_error``: the stack of an engine that contradicts itself.

    Of any other error that would only say the same again, last and in the words of a job.
    """
    return error if error.exit_code == EXIT_INTERNAL else None
