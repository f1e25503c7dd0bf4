"""The rows to write: from a DataFrame, or from files that the tasks read themselves.

Turning Spark rows into Arrow batches is the dearest step of a write, so plain Parquet files go
around it: Spark plans and schedules, each task reads its row groups with Arrow.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from pyhudi.errors import MissingSourceError, SourceError
from pyhudi.pipeline.batch.source import SourceRows, parquet_rows
from pyhudi.runner.runner import TaskFunction
from pyhudi.spark.scan import scanned_files
from pyhudi.spark.tasks.runner import SparkRows, SparkRunner
from pyhudi.storage.local_source import local_files

# What Spark says when nothing is there, by the condition it names.
_ABSENT = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRows:
    """Rows of a DataFrame."""

    frame: DataFrame
    schema: pa.Schema

    def map(self, function: TaskFunction, schema: pa.Schema) -> SparkRows:
        """What a function makes of the Arrow batches of each partition."""
        return SparkRows(frame=self.frame).map(function, schema)

    def in_large_tasks(self, most_bytes: int) -> FrameRows:
        """The same rows: Spark has cut them into tasks already."""
        del most_bytes
        return self

    def with_dictionaries(self, names: Iterable[str]) -> FrameRows:
        """The same rows: Spark gives plain texts."""
        del names
        return self


def rows_of_frame(frame: DataFrame) -> SourceRows:
    """The rows of a DataFrame, with their schema in Arrow.

    One that only reads Parquet files is left to the tasks to read.
    """
    schema = _frame_schema(frame)
    paths = scanned_files(frame)
    if paths:
        rows = parquet_rows(SparkRunner(session=frame.sparkSession), sorted(paths))
        if rows is not None and rows.schema.equals(schema):
            return rows
    return FrameRows(frame=frame, schema=schema)


def _frame_schema(frame: DataFrame) -> pa.Schema:
    # Releases of Spark differ in whether they ask for the zone.
    asks = "timezone" in inspect.signature(to_arrow_schema).parameters
    zone = {"timezone": "UTC"} if asks else {}
    return to_arrow_schema(frame.schema, **zone)


def rows_of_source(
    spark: SparkSession,
    source: str,
    *,
    source_format: str,
    source_options: Mapping[str, str],
    sql: str | None,
) -> SourceRows:
    """The rows that a request names.

    ``source`` is a path, a glob, a comma-separated list of them, or a table of the Spark catalog;
    ``sql`` sees it as the view ``source``.

    Raises:
        MissingSourceError: nothing is there.
        SourceError: nothing that can be read in that format.
    """
    plain = source_format == "parquet" and not source_options and not sql
    paths = local_files(source) if plain else None
    if paths:
        rows = parquet_rows(SparkRunner(session=spark), paths)
        if rows is not None:
            return rows
    return rows_of_frame(_frame(spark, source, source_format, source_options, sql))


def _frame(
    spark: SparkSession,
    source: str,
    source_format: str,
    source_options: Mapping[str, str],
    sql: str | None,
) -> DataFrame:
    try:
        if _is_catalog_name(source) and spark.catalog.tableExists(source):
            frame = spark.table(source)
        else:
            reader = spark.read.format(source_format).options(**source_options)
            frame = reader.load([part.strip() for part in source.split(",")])
        if sql:
            frame.createOrReplaceTempView("source")
            frame = spark.sql(sql)
    except AnalysisException as error:
        message = next((line for line in str(error).splitlines() if line.strip()), "")
        if any(f"[{condition}]" in message for condition in _ABSENT):
            raise MissingSourceError(
                f"the source {source} has nothing to read as {source_format}: {message}"
            ) from error
        raise SourceError(
            f"cannot read the source {source} as {source_format}: {message}"
        ) from error
    return frame


def _is_catalog_name(source: str) -> bool:
    return "/" not in source and "," not in source and "*" not in source
