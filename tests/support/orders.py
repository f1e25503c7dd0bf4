"""A small table of orders: rows, options, and writing them with Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs import JobResult

Row = tuple[str, str, int, str]

SCHEMA = pa.schema({"id": pa.string(), "part": pa.string(), "ts": pa.int64(), "value": pa.string()})
_NUMBERS = count()
# A bloom filter of usual size takes 400 KB of every file.
SMALL_FILES = {"hoodie.index.bloom.num_entries": "100"}
OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    **SMALL_FILES,
}
WITHOUT_ORDERING = {key: value for key, value in OPTIONS.items() if "precombine" not in key}
OPERATION = "hoodie.datasource.write.operation"


def orders(*rows: Row) -> pa.Table:
    """Rows as (id, part, ts, value)."""
    columns = list(zip(*rows, strict=True)) if rows else [[]] * len(SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def many(keys: Iterable[int], ts: int, value: str, parts: int = 2) -> pa.Table:
    """A row for each number, spread over partitions p0, p1 …"""
    return orders(*((f"k{n:04d}", f"p{n % parts}", ts, value) for n in keys))


def frame(spark: SparkSession, rows: pa.Table, folder: Path) -> DataFrame:
    """The rows as one task of Spark reads them, in their order."""
    # Spark answers from its cache for a path that it knows, whatever the file holds by now.
    path = folder / f"source-{next(_NUMBERS)}.parquet"
    pq.write_table(rows, path)
    return spark.read.parquet(str(path))


def write(
    spark: SparkSession,
    table: Path,
    rows: pa.Table,
    operation: str = "upsert",
    options: Mapping[str, str] = OPTIONS,
    **more: Any,
) -> JobResult:
    """Write rows through Spark; the source lies beside the table while that runs."""
    chosen = {**options, OPERATION: operation}
    return pyhudi.spark.write(frame(spark, rows, table.parent), table, options=chosen, **more)


def rows_of(table: Path, **query: Any) -> list[Row]:
    """The rows of the table of orders, sorted."""
    return tuples(pyhudi.read_table(table, **query).select(SCHEMA.names))


def tuples(*tables: pa.Table) -> list[Row]:
    """The rows of tables as sorted tuples."""
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


def commit_of(table: Path, instant: str | None) -> dict[str, Any]:
    """What the completed commit at an instant says."""
    found: dict[str, Any] = json.loads((table / ".hoodie" / f"{instant}.commit").read_text())
    return found


def stats_of(table: Path, instant: str | None) -> list[dict[str, Any]]:
    """The write statistics of the commit at an instant."""
    by_partition = commit_of(table, instant)["partitionToWriteStats"]
    return [stat for stats in by_partition.values() for stat in stats]
