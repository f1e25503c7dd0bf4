"""Rollbacks, savepoints and restores from a Spark session, which deletes many files at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import SparkSession

from pyhudi.config.instant_text import instant_text
from pyhudi.config.option import option_texts
from pyhudi.jobs.request import Request
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.environment import Environment, environment_on
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.runner import SparkRunner


def rollback(
    spark: SparkSession,
    path: str | os.PathLike[str],
    instant: str | datetime,
    *,
    options: Mapping[str, object] | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Take back the latest completed write of a table, or one that did not complete.

    Raises:
        RequestError: there is no such write, or later writes, a savepoint or a plan are in the
            way. Nothing was changed.
        ConflictError: writers were at work for too long.
        PlatformError: disk, network or Spark failed; who writes next goes on from there.
    Guarantees: readers see the write whole or not at all.
    """
    request = RollbackRequest(
        base_path=os.fspath(path),
        instant=instant_text(instant),
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_rollback(spark, request)


def savepoint(
    spark: SparkSession,
    path: str | os.PathLike[str],
    instant: str | datetime | None = None,
    *,
    mode: str = "create",
    user: str = "",
    comment: str = "",
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Keep the files of a table as of a write, by default the latest, until that is given up.

    ``mode`` is ``create``, ``delete`` or ``list``.

    Raises:
        RequestError: the write is not there, or its files may have been cleaned.
        ConflictError: others took the write back, or cleaned, meanwhile.
        PlatformError: disk or network failed.
    """
    request = SavepointRequest(
        base_path=os.fspath(path),
        mode=mode,
        instant=None if instant is None else instant_text(instant),
        user=user,
        comment=comment,
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_savepoint(spark, request)


def restore(
    spark: SparkSession,
    path: str | os.PathLike[str],
    instant: str | datetime,
    *,
    options: Mapping[str, object] | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> JobResult:
    """Take a table back to a savepoint: everything after it is undone.

    Raises:
        RequestError: there is no such savepoint, or what it keeps is not there. Nothing was
            changed.
        ConflictError: writers were at work for too long.
        PlatformError: disk, network or Spark failed; who writes next finishes a restore that had
            begun.
    Guarantees: readers that open the table see it as before, or as at the savepoint.
    """
    request = RestoreRequest(
        base_path=os.fspath(path),
        instant=instant_text(instant),
        hoodie_conf=option_texts(options),
        storage_options=option_texts(storage_options, name="storage_options"),
    )
    return run_restore(spark, request)


def run_rollback(spark: SparkSession, request: RollbackRequest) -> JobResult:
    """Carry out the request of the job ``rollback.py``."""
    with explained():
        return rollback_table(_environment(spark, request), request)


def run_savepoint(spark: SparkSession, request: SavepointRequest) -> JobResult:
    """Carry out the request of the job ``savepoint.py``."""
    with explained():
        return savepoint_table(_environment(spark, request), request)


def run_restore(spark: SparkSession, request: RestoreRequest) -> JobResult:
    """Carry out the request of the job ``restore.py``."""
    with explained():
        return restore_table(_environment(spark, request), request)


def _environment(spark: SparkSession, request: Request) -> Environment:
    return environment_on(SparkRunner(session=spark), request.storage_options)
