"""The write pipeline: request, target, keys, lookup, file groups, files, commit.

Insert and overwrites skip the lookup, bulk insert skips lookup and file groups, delete brings keys
alone, and delete_partition writes nothing. A bulk insert that must know the keys of its rows needs
them together, and goes the way of an insert that leaves existing files alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from pyhudi.config.options.operations import Operation
from pyhudi.errors import ConflictError, InvariantError, OptionError
from pyhudi.jobs import JobResult, UpsertRequest
from pyhudi.spark.batch.source import Rows, rows_of_frame, rows_of_source
from pyhudi.spark.batch.staging import stage
from pyhudi.spark.bulk import bulk_insert
from pyhudi.spark.compaction import compact_after
from pyhudi.spark.failures import explained
from pyhudi.spark.replacing import delete_partitions, replaced_groups
from pyhudi.spark.staged import write_staged
from pyhudi.spark.work import Work, note_files, prepare
from pyhudi.table.table import Table
from pyhudi.transaction.instant_run import InstantRun


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, str],
    mode: str = "append",
    storage_options: Mapping[str, str] | None = None,
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
            f"mode is {mode!r}; only 'append' is supported, the operation says what becomes of rows"
        )
    with explained():
        return write_rows(rows_of_frame(frame), os.fspath(path), options, storage_options)


def run_upsert(spark: SparkSession, request: UpsertRequest) -> JobResult:
    """Carry out the request of the job ``upsert.py``."""
    options = request.options()
    with explained():
        rows = None
        if request.source is not None:
            rows = rows_of_source(
                spark,
                request.source,
                source_format=request.source_format,
                source_options=request.source_options,
                sql=request.sql,
            )
        return write_rows(
            rows,
            request.base_path,
            options,
            request.storage_options,
            commit_metadata=request.commit_metadata,
        )


def write_rows(
    rows: Rows | None,
    path: str,
    options: Mapping[str, str],
    storage_options: Mapping[str, str] | None = None,
    *,
    commit_metadata: Mapping[str, str] | None = None,
) -> JobResult:
    """The whole write, stage by stage; see ``write``.

    ``rows`` may be None when partitions are deleted that the options name.
    """
    work = prepare(
        None if rows is None else rows.schema, path, options, storage_options, commit_metadata
    )
    if work.landed is not None:
        return work.already(work.landed)
    result = _write(work, rows)
    compact_after(work, result)
    return result


def _write(work: Work, rows: Rows | None) -> JobResult:
    named = work.config.batch.partitions_to_delete
    if work.config.operation is Operation.DELETE_PARTITION and named is not None:
        return _begin(work, lambda *begun: delete_partitions(work, named, *begun))
    if rows is None:
        raise InvariantError("a request without a source has no rows to write")
    if work.config.is_streamed:
        return _begin(work, lambda *begun: _write_streamed(work, rows, *begun))
    with work.watch.stage("key") as noted:
        staged = stage(rows, work.target.keying)
        noted.moved(staged.count_rows, staged.size_bytes)
    work = work.with_failures(staged.failures)
    try:
        if not staged.pieces and work.is_nothing((), None) and not work.config.acts_without_rows:
            return work.nothing()
        if work.config.operation is Operation.DELETE_PARTITION:
            partitions = staged.partitions
            return _begin(work, lambda *begun: delete_partitions(work, partitions, *begun))
        return _begin(work, lambda *begun: write_staged(work, staged, *begun))
    finally:
        staged.release()


def _begin(work: Work, write_files: Callable[[InstantRun, Table], JobResult]) -> JobResult:
    """Begin the write, unless the table is no longer the one that the request was held against."""
    with work.begin() as run:
        table = work.open()
        landed = work.landed_meanwhile(table)
        if landed is not None:
            run.withdraw()
            return work.already(landed)
        if work.has_other_schema(table):
            run.withdraw()
            raise ConflictError(
                "another writer has changed the table's schema meanwhile; retry",
                where=table.storage.uri,
            )
        return write_files(run, table)


def _write_streamed(work: Work, rows: Rows, run: InstantRun, table: Table) -> JobResult:
    run.start(None)
    with work.watch.stage("write") as noted:
        job = work.job(table, run.instant)
        stats, failures = bulk_insert(
            rows, work.target.keying, work.config.bulk_insert, job, save_to=work.failed_storage()
        )
        note_files(noted, stats)
    work = work.with_failures(failures)
    written = sorted({stat.partition_path or "" for stat in stats})
    return work.commit(run, stats, replaced_groups(work, table, written))
