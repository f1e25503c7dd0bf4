"""Data frames and sources of jobs into tables."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from pyhudi.config.option import option_texts
from pyhudi.errors import MissingSourceError, OptionError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.spark.connectors import readable_source
from pyhudi.spark.failures import explained
from pyhudi.spark.source import rows_of_frame, rows_of_source
from pyhudi.spark.tasks.runner import SparkRunner
from pyhudi.table.result import without_source


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, object],
    mode: str = "append",
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Write a DataFrame into the Hudi table at a path, which is created if there is none.

    ``options`` are Hudi's own (``hoodie.datasource.write.operation`` …); what the table knows of
    itself need not be said again.

    Raises:
        RequestError: options, rows and table do not fit; nothing was written.
        ConflictError: another writer is at work; nothing of this write is visible.
        PlatformError: disk, network or Spark failed; nothing of this write is visible.
    Guarantees: the rows are in the table whole when this returns, and not at all when it raises.
    """
    if mode != "append":
        raise OptionError(
            f"mode is {mode!r}; only 'append' is supported, the operation says what is done"
        )
    with explained():
        storage = option_texts(storage_options, name="storage_options")
        environment = environment_on(SparkRunner(session=frame.sparkSession), storage)
        asked = option_texts(options)
        return write_rows(environment, rows_of_frame(frame), os.fspath(path), asked)


def run_upsert(spark: SparkSession, request: UpsertRequest) -> JobResult:
    """Carry out the request of the job ``upsert.py``."""
    options = request.options()
    with explained():
        rows = None
        if request.source:
            try:
                rows = rows_of_source(
                    spark,
                    readable_source(spark, request.source, request.storage_options),
                    source_format=request.source_format,
                    source_options=request.source_options,
                    sql=request.sql,
                )
            except MissingSourceError as error:
                return without_source(request, error)
        return write_rows(
            environment_on(SparkRunner(session=spark), request.storage_options),
            rows,
            request.base_path,
            options,
            commit_metadata=request.commit_metadata,
        )
