"""Archiving of old instants, as a job of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def run_archive(spark: SparkSession, request: ArchiveRequest) -> JobResult:
    """Carry out the request of the job ``archive.py``."""
    with explained():
        return archive_table(
            environment_on(SparkRunner(session=spark), request.storage_options), request
        )
