"""What Spark spilled to disk in some of its jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from py4j.protocol import Py4JError
from pyspark import SparkContext

_GROUP = "spark.jobGroup.id"
_DESCRIPTION = "spark.job.description"
_numbers = count()
_log = logging.getLogger(__name__)


@contextmanager
def job_group(description: str) -> Iterator[str]:
    """Name the jobs that run within the context; the caller's own names come back after it.

    Not: errors. What runs within it may have done its work when the JVM dies.
    """
    context = SparkContext._active_spark_context
    group = f"pyhudi-{next(_numbers)}"
    if context is None:
        yield group
        return
    before: dict[str, str | None] = {}
    with _unless_java_is_gone():
        before |= {name: context.getLocalProperty(name) for name in (_GROUP, _DESCRIPTION)}
        context.setLocalProperty(_GROUP, group)
        context.setLocalProperty(_DESCRIPTION, description)
    try:
        yield group
    finally:
        with _unless_java_is_gone():
            for name, value in before.items():
                context.setLocalProperty(name, value)


def spilled_bytes(group: str) -> int:
    """Bytes that the jobs of a group have spilled to disk; 0 where Spark no longer knows.

    Source: AppStatusStore.lastStageAttempt, Spark 3.5 and 4.2.
    """
    context = SparkContext._active_spark_context
    stages: set[int] = set()
    if context is None:
        return 0
    with _unless_java_is_gone():
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages |= {int(stage) for job in jobs if job is not None for stage in job.stageIds}
    return sum(_spilled(context, stage) for stage in stages)


@contextmanager
def _unless_java_is_gone() -> Iterator[None]:
    try:
        yield
    except (Py4JError, OSError) as error:
        _log.debug("Spark's JVM does not answer: %s", error)


def _spilled(context: SparkContext, stage: int) -> int:
    try:
        store = context._jsc.sc().statusStore()
        return int(store.lastStageAttempt(stage).diskBytesSpilled())
    except Py4JError as error:
        # A stage that was skipped, or that Spark has forgotten.
        _log.debug("Spark knows nothing of stage %s: %s", stage, error)
        return 0
