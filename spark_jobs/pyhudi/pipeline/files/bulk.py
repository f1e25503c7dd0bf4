"""Bulk insert: rows straight from the source to new files, each task on its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.config.write import BulkInsertConfig, BulkInsertSortMode
from pyhudi.errors import RequestError
from pyhudi.pipeline.batch.failed import FailedRecords, Failures
from pyhudi.pipeline.batch.keying import Keying, keyed_batches
from pyhudi.pipeline.batch.pieces import rechunk
from pyhudi.pipeline.batch.sorting import keyed_for_sort, sorted_batches, sorting_schema
from pyhudi.pipeline.batch.source import SourceRows
from pyhudi.pipeline.batch.staging import problem_of, reported_failures, split_by_path
from pyhudi.pipeline.files.routing import STAT_SCHEMA, stat_batch
from pyhudi.runner.runner import SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import PARTITION_PATH, RECORD_KEY
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.write.context import WriteContext
from pyhudi.write.failed import FailedFile
from pyhudi.write.files.create import PartitionedWriter
from pyhudi.write.sorted_rows import Keyed, combine_sorted

_BATCH_ROWS = 262_144
_BATCH_BYTES = 64 << 20
# A task opens a file in each partition that its rows belong to, so it must be many files large.
_FILES_OF_A_TASK = 16

# Rows take about twice the room in a shuffle that they take in a base file.
_SHUFFLED_BYTES_A_FILE_BYTE = 2

_Arrival: TypeAlias = Callable[[Iterator[pa.Table], Keying, FailedRecords, int], Iterator[Keyed]]


def bulk_insert(
    rows: SourceRows,
    keying: Keying,
    config: BulkInsertConfig,
    context: WriteContext,
    *,
    save_to: Storage | None = None,
) -> tuple[list[WriteStat], Failures]:
    """Write every row to new file groups and give the files' statistics.

    Rows that cannot be written are saved in ``save_to``, where the keying has them saved.

    NONE keeps the source's order and needs no shuffle; of Parquet files each task then reads as
    much as fills its files. GLOBAL_SORT sorts by partition path and
    record key over all tasks, PARTITION_SORT within each task. Rows of one key become one where
    the job says so and the rows are sorted.

    Raises: what keying raises; files written until then belong to the instant and go with it.
    Source: BulkInsertSortMode and its partitioners with rows, Hudi 0.15.
    """
    if config.sort_mode is BulkInsertSortMode.NONE:
        rows = rows.in_large_tasks(_FILES_OF_A_TASK * context.max_file_size_bytes)
        rows = rows.with_dictionaries(keying.carried_texts)
        written = rows.map(_writing(keyed_batches, keying, context, save_to), _RESULT_SCHEMA)
    else:
        ordered = _sorted(rows, keying, config, context)
        written = ordered.map(_writing(sorted_batches, keying, context, save_to), _RESULT_SCHEMA)
    found = written.collect()
    report = reported_failures(row.problem for row in found if row.problem is not None)
    report.refuse_unless(is_saving=keying.failures.is_saving)
    # No stored row is looked at, so none is found newer.
    stats = [
        replace(WriteStat.from_json(json.loads(row.stat)), num_ignored=0)
        for row in found
        if row.stat is not None
    ]
    names = tuple(row.saved for row in found if row.saved is not None)
    return stats, Failures(report=report, path=keying.failures.path, names=names)


_RESULT_SCHEMA = pa.schema(
    [STAT_SCHEMA.field("stat"), pa.field("problem", pa.string()), pa.field("saved", pa.string())]
)


def _sorted(
    rows: SourceRows, keying: Keying, config: BulkInsertConfig, context: WriteContext
) -> SpreadRows:
    def key(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from keyed_for_sort(_chunks(batches), keying, task.partition_id)

    # Rows of one key that are to become one must meet in a task, in the order of their arrival.
    is_combining = context.combine_batch
    return rows.map(key, sorting_schema(keying)).sort(
        (PARTITION_PATH, RECORD_KEY),
        globally=is_combining or config.sort_mode is BulkInsertSortMode.GLOBAL_SORT,
        stable=is_combining,
        tasks=config.parallelism,
        task_bytes=_SHUFFLED_BYTES_A_FILE_BYTE * context.max_file_size_bytes,
    )


def _writing(
    arrive: _Arrival, keying: Keying, context: WriteContext, save_to: Storage | None
) -> TaskFunction:
    """Write the rows that arrive, of a key one where the job says so, and save those that failed.

    Rows become one as they come sorted; a job that has them combined has no others.
    """

    def write(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failed = FailedRecords(keying.failures)
        with FailedFile(save_to or context.storage, context.instant, task) as saved:
            arrived = arrive(_chunks(batches), keying, failed, task.partition_id)
            keyed = _saving(arrived, failed, saved)
            yield from _write(
                combine_sorted(keyed, context) if context.combine_batch else keyed, context, task
            )
        if failed.report.count:
            yield _result(problem=failed.report.to_text(), saved=saved.name)

    return write


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    return rechunk(batches, rows=_BATCH_ROWS, size_bytes=_BATCH_BYTES)


def _saving(keyed: Iterator[Keyed], failed: FailedRecords, saved: FailedFile) -> Iterator[Keyed]:
    for rows, paths in keyed:
        for records in failed.take():
            saved.write(records)
        yield rows, paths


def _write(
    keyed: Iterator[Keyed], context: WriteContext, task: TaskIdentity
) -> Iterator[pa.RecordBatch]:
    try:
        with PartitionedWriter(context, task, new_file_id_prefix=new_file_id_prefix) as writer:
            for rows, paths in keyed:
                for path, part in split_by_path(rows, paths):
                    writer.write(path, part)
    except RequestError as error:
        yield _result(problem=problem_of(error))
        return
    stats = stat_batch(writer.stats).column(0)
    nothing = pa.nulls(len(stats), pa.string())
    yield pa.RecordBatch.from_arrays([stats, nothing, nothing], schema=_RESULT_SCHEMA)


def _result(*, problem: str, saved: str | None = None) -> pa.RecordBatch:
    columns = [pa.array([text], pa.string()) for text in (None, problem, saved)]
    return pa.RecordBatch.from_arrays(columns, schema=_RESULT_SCHEMA)
