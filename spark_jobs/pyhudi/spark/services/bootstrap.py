"""Bootstraps, as tasks of Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from pyhudi.config.option import option_texts
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def bootstrap(  # noqa: PLR0913 - the public function: one keyword for each thing to say
    spark: SparkSession,
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, object],
    source_format: str = "parquet",
    mode: str = "append",
    dry_run: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Make a Hudi table of a dataset of Parquet or ORC files, which stays where it is.

    ``options`` are Hudi's own: name, type and keys of the table, and what becomes of each partition
    (``hoodie.bootstrap.mode.selector`` …). ``mode`` says what is done where a table is already:
    ``append`` (it must be empty), ``overwrite``, ``ignore`` or ``errorifexists``. With ``dry_run``
    nothing is written, and the result's ``by_partition`` says what would be.

    Raises:
        RequestError: options, source and table do not fit; nothing was written.
        ConflictError: another writer is at work.
        PlatformError: disk, network or Spark failed; nothing of the bootstrap is visible.
    Guarantees: readers see the table whole when this returns, and nothing when it raises. The
        source's files are not changed.
    """
    request = BootstrapRequest(
        base_path=os.fspath(path),
        source=os.fspath(source),
        source_format=source_format,
        save_mode=mode,
        dry_run=dry_run,
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_bootstrap(spark, request)


def run_bootstrap(spark: SparkSession, request: BootstrapRequest) -> JobResult:
    """Carry out the request of the job ``bootstrap.py``."""
    with explained():
        return bootstrap_table(
            environment_on(SparkRunner(session=spark), request.storage_options), request
        )
