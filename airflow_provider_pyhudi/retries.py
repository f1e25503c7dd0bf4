"""When a task that failed is tried again: not in step with others that failed beside it."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import RetryPolicy
from airflow.sdk.definitions.retry_policy import RetryDecision

from airflow_provider_pyhudi.exceptions import PyhudiConflictError

if TYPE_CHECKING:
    from airflow.sdk import Context

SPREAD = (0.5, 1.5)
AFTER_A_CONFLICT = timedelta(seconds=10)
"""Another writer was faster, and has ended by then: there is nothing to wait for."""


class SpreadRetries(RetryPolicy):
    """Try again after the task's ``retry_delay``, by chance up to half of it sooner or later.

    A conflict with another writer is tried again within seconds, what a disk or network did after
    the whole delay. A wrong request is never: it fails with an error that Airflow does not retry.

    Runs of a backfill that met at a table would meet again after delays of one length. A task with
    ``retry_exponential_backoff`` is left to Airflow, which spreads those itself.
    """

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,  # noqa: ARG002 - Airflow's signature
        max_tries: int,  # noqa: ARG002
        context: Context | None = None,
    ) -> RetryDecision:
        """The delay of this retry; whether there is one at all stays with ``retries``."""
        task: Any = context["task"] if context else None
        if task is None or task.retry_exponential_backoff:
            return RetryDecision.default()
        delay: timedelta = task.retry_delay
        if isinstance(exception, PyhudiConflictError):
            delay = min(delay, AFTER_A_CONFLICT)
        return RetryDecision.retry(delay=delay * random.uniform(*SPREAD))
