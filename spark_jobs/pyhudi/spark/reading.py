"""A query to a Spark data frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pyhudi.basefile.open import open_base_file
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.read import ReadConfig
from pyhudi.errors import UnsupportedError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.read.snapshot import read_file
from pyhudi.spark.batch.arrow_map import arrow_for_spark, map_in_arrow
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table, open_table


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    options: Mapping[str, str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A data frame of a table's rows, the same that ``pyhudi.read_table`` gives.

    ``options`` are Hudi's (``hoodie.datasource.query.type``, ``as.of.instant``,
    ``hoodie.datasource.read.begin.instanttime`` …). The files are chosen here, once; Spark reads
    them with its own Parquet reader, so that conditions on the data frame are pushed down as in any
    Parquet table. Files of older schemas, and all files when ``filters`` or a query needs it, are
    read by the engine in Python workers.

    Raises: as ``pyhudi.read_table``; a file that is cleaned before it is read fails the Spark job.
    """
    table = open_table(os.fspath(path), storage_options)
    query = ReadConfig.from_options(options or {})
    plan = plan_read(table, query, columns=columns, filters=filters)
    _refuse_logs(table, plan)
    if _suits_spark(table.storage, plan):
        return _read_by_spark(spark, table.storage, plan)
    return _read_by_workers(spark, table.storage, plan)


def _refuse_logs(table: Table, plan: ReadPlan) -> None:
    if plan.slices:
        raise UnsupportedError(
            f"table {table.config.name} is MERGE_ON_READ, and its log files are not read into a "
            "data frame as yet; read it with pyhudi.read_table, or its base files alone with the "
            "query type read_optimized",
            where=table.storage.uri,
        )


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark types of an Arrow schema; a timestamp without a zone stays one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


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
    with storage.open_input(file.path) as source:
        return open_base_file(source, name=storage.absolute(file.path)).schema


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
    return reader.parquet(*(_uri(storage, file.path) for file in plan.files)).select(columns)


def _uri(storage: Storage, path: str) -> str:
    """The path as Hadoop finds it; a plain local path is not left to the default file system."""
    if storage.uri.startswith("file:") or "://" not in storage.uri:
        return f"file://{storage.absolute(path)}"
    return f"{storage.uri.rstrip('/')}/{path}"


def _read_by_workers(spark: SparkSession, storage: Storage, plan: ReadPlan) -> DataFrame:
    """One task for each file, which reads it as the engine does."""
    if not plan.files:
        return spark.createDataFrame([], spark_schema(plan.result_schema))
    count = len(plan.files)
    numbers = spark.range(0, count, numPartitions=count)
    return map_in_arrow(numbers, _file_reader(storage, plan), plan.result_schema)


def _file_reader(
    storage: Storage, plan: ReadPlan
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    given = arrow_for_spark(plan.result_schema)

    def rows_of_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in read_file(storage, plan, plan.files[number]):
                    yield from rows.cast(given).to_batches()

    return rows_of_files
