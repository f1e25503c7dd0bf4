"""Archiving of old instants, the files of many being deleted as tasks of Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from pyhudi.config.option import option_texts
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def archive(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    dry_run: bool = False,
    options: Mapping[str, object] | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Move the instants that a table's timeline has too many of to its archive.

    ``options`` are Hudi's own (``hoodie.keep.min.commits`` …). With ``dry_run`` nothing is moved,
    and the result's ``by_instant`` says what would be.

    Raises:
        RequestError: options that do not fit.
        PlatformError: disk, network or Spark failed; the next call goes on from there.
    Guarantees: what readers, writers, cleans and compactions go by stays on the timeline.
    """
    request = ArchiveRequest(
        base_path=os.fspath(path),
        dry_run=dry_run,
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_archive(spark, request)


def run_archive(spark: SparkSession, request: ArchiveRequest) -> JobResult:
    """Carry out the request of the job ``archive.py``."""
    with explained():
        return archive_table(
            environment_on(SparkRunner(session=spark), request.storage_options), request
        )
