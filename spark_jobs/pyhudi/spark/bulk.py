"""Bulk insert: rows straight from the source to new files, each task on its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from pyhudi.actions.commit import WriteStat
from pyhudi.config.write import BulkInsertConfig, BulkInsertSortMode
from pyhudi.errors import RequestError
from pyhudi.schema.metafields import PARTITION_PATH, RECORD_KEY
from pyhudi.spark.arrow_map import BatchFunction, arrow_for_spark, map_in_arrow
from pyhudi.spark.pieces import rechunk, this_task
from pyhudi.spark.source import Rows
from pyhudi.spark.staging import Keying, problem_of, revive, split_by_path
from pyhudi.spark.writing import STAT_SCHEMA, stat_batch
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.write.create import PartitionedWriter
from pyhudi.write.job import WriteJob

_BATCH_ROWS = 262_144
_BATCH_BYTES = 64 << 20


def bulk_insert(
    rows: Rows, keying: Keying, config: BulkInsertConfig, job: WriteJob
) -> list[WriteStat]:
    """Write every row to new file groups and give the files' statistics.

    NONE keeps the source's order and needs no shuffle; GLOBAL_SORT sorts by partition path and
    record key over all tasks, PARTITION_SORT within each task.

    Raises: what keying raises; files written until then belong to the instant and go with it.
    Source: BulkInsertSortMode and its partitioners with rows, Hudi 0.15.
    """
    if config.sort_mode is BulkInsertSortMode.NONE:
        written = rows.map_batches(_write_unsorted(keying, job), _RESULT_SCHEMA)
    else:
        keyed = rows.map_batches(_key(keying), _keyed_schema(keying))
        ordered = _sorted(keyed, config)
        written = map_in_arrow(ordered, _write_keyed(keying, job), _RESULT_SCHEMA)
    found = written.collect()
    problems = sorted(row.problem for row in found if row.problem is not None)
    if problems:
        raise revive(problems[0])
    return [WriteStat.from_json(json.loads(row.stat)) for row in found if row.stat is not None]


_RESULT_SCHEMA = pa.schema([*STAT_SCHEMA, pa.field("problem", pa.string())])


def _sorted(keyed: DataFrame, config: BulkInsertConfig) -> DataFrame:
    by = (PARTITION_PATH, RECORD_KEY)
    tasks = config.parallelism
    if config.sort_mode is BulkInsertSortMode.GLOBAL_SORT:
        ordered = keyed.repartitionByRange(tasks, *by) if tasks else keyed.repartitionByRange(*by)
        return ordered.sortWithinPartitions(*by)
    spread = keyed.coalesce(tasks) if tasks else keyed
    return spread.sortWithinPartitions(*by)


def _keyed_schema(keying: Keying) -> pa.Schema:
    return arrow_for_spark(pa.schema([pa.field(PARTITION_PATH, pa.string()), *keying.schema]))


def _key(keying: Keying) -> BatchFunction:
    schema = _keyed_schema(keying)

    def key(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rechunk(batches, rows=_BATCH_ROWS, size_bytes=_BATCH_BYTES):
            rows, paths = keying.key_rows(batch)
            yield from rows.add_column(0, PARTITION_PATH, paths).cast(schema).to_batches()

    return key


def _write_unsorted(keying: Keying, job: WriteJob) -> BatchFunction:
    def keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, pa.StringArray]]:
        for batch in rechunk(batches, rows=_BATCH_ROWS, size_bytes=_BATCH_BYTES):
            yield keying.key_rows(batch)

    return _writing(keyed, job)


def _write_keyed(keying: Keying, job: WriteJob) -> BatchFunction:
    def keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, pa.StringArray]]:
        for batch in rechunk(batches, rows=_BATCH_ROWS, size_bytes=_BATCH_BYTES):
            paths = batch.column(PARTITION_PATH).combine_chunks()
            yield batch.drop_columns([PARTITION_PATH]).cast(keying.schema), paths

    return _writing(keyed, job)


def _writing(
    keyed: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[pa.Table, pa.StringArray]]],
    job: WriteJob,
) -> BatchFunction:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            with PartitionedWriter(
                job, this_task(), new_file_id_prefix=new_file_id_prefix
            ) as writer:
                for rows, paths in keyed(batches):
                    for path, part in split_by_path(rows, paths):
                        writer.write(path, part)
        except RequestError as error:
            yield _result(stat=None, problem=problem_of(error))
            return
        stats = stat_batch(writer.stats).column(0)
        nothing = pa.nulls(len(stats), pa.string())
        yield pa.RecordBatch.from_arrays([stats, nothing], schema=_RESULT_SCHEMA)

    return write


def _result(*, stat: str | None, problem: str | None) -> pa.RecordBatch:
    columns = [pa.array([stat], pa.string()), pa.array([problem], pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=_RESULT_SCHEMA)
