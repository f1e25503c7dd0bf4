"""Cleans, as tasks of Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import SparkSession

from pyhudi.config.instant_text import instant_text
from pyhudi.config.option import option_texts
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def clean(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    mode: str = "schedule_and_execute",
    instant: str | datetime | None = None,
    dry_run: bool = False,
    options: Mapping[str, object] | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Delete the files of a table that no retained instant needs.

    ``mode`` is ``schedule``, ``execute`` or ``schedule_and_execute``; ``instant`` names the clean
    to execute, else all that are planned are executed. With ``dry_run`` nothing is deleted, and the
    result's ``by_partition`` says what would be.
    ``options`` are Hudi's own (``hoodie.clean.policy`` …).

    Raises:
        RequestError: options and table do not fit, or there is no such clean.
        PlatformError: disk, network or Spark failed; a clean that was planned stays planned, and is
            finished by whoever cleans next.
    Guarantees: readers of retained instants find every file before, meanwhile and afterwards.
    """
    request = CleanRequest(
        base_path=os.fspath(path),
        mode=mode,
        instant=None if instant is None else instant_text(instant),
        dry_run=dry_run,
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_clean(spark, request)


def run_clean(spark: SparkSession, request: CleanRequest) -> JobResult:
    """Carry out the request of the job ``clean.py``."""
    with explained():
        return clean_table(
            environment_on(SparkRunner(session=spark), request.storage_options), request
        )
