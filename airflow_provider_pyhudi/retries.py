"""When a task that failed is tried again: not in step with others that failed beside it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from airflow.sdk import RetryPolicy
from airflow.sdk.definitions.retry_policy import RetryDecision

if TYPE_CHECKING:
    from airflow.sdk import Context

SPREAD = (0.5, 1.5)


class SpreadRetries(RetryPolicy):
    """Try again after the task's ``retry_delay``, by chance up to half of it sooner or later.

    Runs of a backfill that met at a table would meet again after delays of one length. A task with
    ``retry_exponential_backoff`` is left to Airflow, which spreads those itself.
    """

    def evaluate(
        self,
        exception: BaseException,  # noqa: ARG002 - Airflow's signature
        try_number: int,  # noqa: ARG002
        max_tries: int,  # noqa: ARG002
        context: Context | None = None,
    ) -> RetryDecision:
        """The delay of this retry; whether there is one at all stays with ``retries``."""
        task: Any = context["task"] if context else None
        if task is None or task.retry_exponential_backoff:
            return RetryDecision.default()
        return RetryDecision.retry(delay=task.retry_delay * random.uniform(*SPREAD))
