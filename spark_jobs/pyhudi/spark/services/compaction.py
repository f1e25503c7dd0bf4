"""Compactions of log files, as tasks of Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import SparkSession

from pyhudi.config.instant_text import instant_text
from pyhudi.config.option import option_texts
from pyhudi.jobs.compaction import COMPACTION_KIND, CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def compact(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    kind: str = COMPACTION_KIND,
    mode: str = "schedule_and_execute",
    instant: str | datetime | None = None,
    options: Mapping[str, object] | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Compact the log files of a merge-on-read table into new base files.

    With the ``kind`` ``log_compaction`` the log blocks of a file slice become one block instead,
    where ``hoodie.log.compaction.blocks.threshold`` of them have gathered; no base file is written.
    ``mode`` is ``schedule``, ``execute``, ``schedule_and_execute`` or ``unschedule``; ``instant``
    names the compaction to execute or unschedule, by its digits or as a time with milliseconds,
    else the oldest pending one is executed.
    ``options`` are Hudi's own (``hoodie.compaction.strategy`` …). Whether a compaction is due is
    decided as after a write, by default after 5 delta commits.

    Raises:
        RequestError: options and table do not fit, or there is no such compaction.
        ConflictError: another job runs the compaction, or a writer is at work while it is planned.
        PlatformError: disk, network or Spark failed; a compaction that was planned stays planned.
    Guarantees: readers see every row once before, meanwhile and afterwards.
    """
    request = CompactionRequest(
        base_path=os.fspath(path),
        kind=kind,
        mode=mode,
        instant=None if instant is None else instant_text(instant),
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_compaction(spark, request)


def run_compaction(spark: SparkSession, request: CompactionRequest) -> JobResult:
    """Carry out the request of the job ``compaction.py``."""
    with explained():
        return compact_table(
            environment_on(SparkRunner(session=spark), request.storage_options), request
        )
