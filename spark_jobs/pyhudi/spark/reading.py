"""A query to a Spark data frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pyhudi.config.access.connectors import as_s3a, scheme_of
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.known import check_read
from pyhudi.config.option import option_texts
from pyhudi.config.read import ReadConfig
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.opener import home_of, open_base
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.runner import NumberedFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.microseconds import in_microseconds
from pyhudi.spark.connectors import has_connector
from pyhudi.spark.local_folder import with_local_folder
from pyhudi.spark.tasks.runner import SparkRunner
from pyhudi.storage.objects.storage import ObjectStorage
from pyhudi.storage.storage import Storage
from pyhudi.table.table import open_table
from pyhudi.write.plan.sharing import share_tasks

Work: TypeAlias = BaseFile | FileSlice

_OPEN_BYTES: Final = 4 << 20
"""What it costs to open a file, as the bytes that could be read meanwhile."""
_MOST_TASK_BYTES: Final = 128 << 20


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    options: Mapping[str, object] | None = None,
    *,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> DataFrame:
    """A data frame of a table's rows, the same that ``pyhudi.read_table`` gives.

    ``options`` are Hudi's (``hoodie.datasource.query.type``, ``as.of.instant``,
    ``hoodie.datasource.read.begin.instanttime`` …); one that Hudi does not have is an error, and
    keys of Spark's own are passed over. The files are chosen here, once; Spark reads
    them with its own Parquet reader, so that conditions on the data frame are pushed down as in any
    Parquet table. Files of older schemas, and all files when ``filters`` or a query needs it, are
    read by the engine in Python workers.

    So are files whose rows lie where the table was bootstrapped from, and the file slices of a
    merge-on-read table that have log files: Spark gets their merged
    rows, and can push neither its conditions nor its choice of columns into the merge. What is
    given here as ``columns`` and ``filters`` reaches it: columns that neither names, and merging
    does not need, are not read.

    Raises: as ``pyhudi.read_table``; a file that is cleaned before it is read fails the Spark job.
    """
    asked = option_texts(options)
    check_read(asked)
    table = open_table(os.fspath(path), option_texts(storage_options, name="storage_options"))
    query = ReadConfig.from_options(asked, zone=table.config.timezone)
    plan = plan_read(table, query, columns=columns, filters=filters)
    alone = replace(plan, files=tuple(file for file in plan.files if file.source is None))
    if not (_is_reached_by(spark, table.storage) and _suits_spark(table.storage, alone)):
        return _read_by_workers(spark, table.storage, plan)
    frame = _read_by_spark(spark, table.storage, alone)
    # Spark's own reader knows no files side by side.
    beside = tuple(file for file in plan.files if file.source is not None)
    if not (plan.slices or beside):
        return frame
    merged = _read_by_workers(spark, table.storage, replace(plan, files=beside))
    return frame.union(merged) if alone.files else merged


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark types of an Arrow schema; a timestamp without a zone stays one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _is_reached_by(spark: SparkSession, storage: Storage) -> bool:
    """Whether Spark itself opens the files, by a connector that needs no options of ours."""
    if scheme_of(storage.uri) in ("", "file"):
        return True
    has_options = isinstance(storage, ObjectStorage) and storage.place.connection.given.are_some
    return not has_options and has_connector(spark, as_s3a(storage.uri))


def _suits_spark(storage: Storage, plan: ReadPlan) -> bool:
    """Whether Spark's Parquet reader gives the rows that the engine's own gives."""
    if plan.filters is not None or plan.from_path or plan.absent or plan.schema != plan.stored:
        return False
    if plan.config.base_file_format != BaseFileFormat.PARQUET.value:
        return False  # Spark takes the timestamps of ORC files for times of its own zone.
    if len({name.lower() for name in plan.stored.names}) < len(plan.stored.names):
        return False  # Spark would not tell such columns apart.
    # All files of a write have one schema; commits do not say which when they only move rows.
    one_of_each_write = {file.instant: file for file in plan.files}.values()
    return all(is_readable_as(_written_schema(storage, f), plan.stored) for f in one_of_each_write)


def is_readable_as(found: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether Spark reads a file of one schema in another without converting a value.

    Columns the file has not are null, those it has must be of the same Spark type, nested ones
    included: Spark 3.5 widens no type, and 4.x fewer than Hudi does.
    """
    given = {field.name: field for field in spark_schema(found)}
    return all(
        field.name not in given
        or given[field.name].dataType.simpleString() == field.dataType.simpleString()
        for field in spark_schema(wanted)
    )


def _written_schema(storage: Storage, file: BaseFile) -> pa.Schema:
    with open_base(storage, file) as base:
        return base.schema


def _read_by_spark(spark: SparkSession, storage: Storage, plan: ReadPlan) -> DataFrame:
    schema = spark_schema(plan.stored)
    columns = [F.col(f"`{name}`") for name in plan.columns]
    if not plan.files:
        return spark.createDataFrame([], schema).select(columns)
    reader = (
        spark.read.schema(schema)
        # File names are names, not patterns, and folder names are no columns.
        .option("__globPaths__", "false")
        .option("recursiveFileLookup", "true")
        # Files that Spark did not write have the calendar of today too; Spark 3 would refuse them.
        .option("datetimeRebaseMode", "CORRECTED")
    )
    return reader.parquet(*(_uri(*home_of(storage, file)) for file in plan.files)).select(columns)


def _uri(storage: Storage, path: str) -> str:
    """The path as Hadoop finds it; a plain local path is not left to the default file system."""
    if storage.uri.startswith("file:") or "://" not in storage.uri:
        return f"file://{storage.absolute(path)}"
    return as_s3a(f"{storage.uri.rstrip('/')}/{path}")


def _read_by_workers(spark: SparkSession, storage: Storage, plan: ReadPlan) -> DataFrame:
    """Tasks that read files, and merge file slices, as the engine does; small ones share a task."""
    work: tuple[Work, ...] = (*plan.files, *plan.slices)
    if not work:
        return spark.createDataFrame([], spark_schema(plan.result_schema))
    tasks = shared_work(work, spark.sparkContext.defaultParallelism)
    reader = _reader(storage, plan, tasks)
    return SparkRunner(session=spark).tasks(len(tasks), reader, plan.result_schema).frame


def shared_work(work: Sequence[Work], cores: int) -> tuple[tuple[Work, ...], ...]:
    """The files and slices that one task each reads.

    Source: FilePartition.maxSplitBytes, Spark 3.5 and 4.2 (what Spark puts together of the files
    that it reads itself).
    """
    costs = [_cost(each) for each in work]
    most = min(_MOST_TASK_BYTES, max(_OPEN_BYTES, sum(costs) // max(1, cores)))
    shared = share_tasks([(cost, 1) for cost in costs], bounds=(most, len(work)))
    return tuple(tuple(work[number] for number in numbers) for numbers in shared)


def _cost(work: Work) -> int:
    if isinstance(work, BaseFile):
        return _OPEN_BYTES + work.bytes_to_read
    base = 0 if work.base_file is None else _OPEN_BYTES + work.base_file.bytes_to_read
    return base + sum(_OPEN_BYTES + file.size_bytes for file in work.log_files)


def _reader(storage: Storage, plan: ReadPlan, tasks: Sequence[Sequence[Work]]) -> NumberedFunction:
    given = in_microseconds(plan.result_schema)
    # Tasks are told what to read by ``tasks``.
    plan = replace(plan, files=(), slices=())

    def rows_of_task(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        local = _with_local_folder(plan)
        for work in tasks[number]:
            for rows in _rows(storage, local, work):
                yield from rows.cast(given).to_batches()

    return rows_of_task


def _with_local_folder(plan: ReadPlan) -> ReadPlan:
    if plan.reading is None:
        return plan
    local = replace(plan.reading, memory=with_local_folder(plan.reading.memory))
    return replace(plan, reading=local)


def _rows(storage: Storage, plan: ReadPlan, work: Work) -> Iterator[pa.Table]:
    if isinstance(work, BaseFile):
        return read_file(storage, plan, work)
    return read_slice(storage, plan, work)
