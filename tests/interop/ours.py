"""This engine's side: write rows with options, read a table whole, read it with hudi-rs."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hudi import HudiTableBuilder
from pyspark.sql import DataFrame, SparkSession

import pyhudi
import pyhudi.spark
from tests.interop.rows import Row, rows_of


def data_frame(spark: SparkSession, rows: pa.Table, folder: str, source: str) -> DataFrame:
    """The rows as Parquet files that Spark has only planned to read, or as computed rows."""
    path = f"{folder}/source.parquet"
    pq.write_table(rows, path)
    frame = spark.read.parquet(path)
    return frame if source == "parquet" else frame.repartition(2)


def write(
    spark: SparkSession,
    table: Path,
    rows: pa.Table,
    operation: str,
    options: Mapping[str, str],
    *,
    source: str = "parquet",
) -> Any:
    """Write with this engine; answer its CommitResult."""
    chosen = {**options, "hoodie.datasource.write.operation": operation}
    with tempfile.TemporaryDirectory(prefix="pyhudi-source-") as folder:
        frame = data_frame(spark, rows, folder, source)
        return pyhudi.spark.write(frame, str(table), options=chosen, mode="append")


def read(table: Path, **query: Any) -> list[Row]:
    """All rows with their meta columns, read without Spark."""
    return rows_of(pyhudi.read_table(str(table), **query))


def read_with_hudi_rs(table: Path) -> list[Row]:
    """All rows as the independent reader hudi-rs finds them."""
    batches = HudiTableBuilder.from_base_uri(str(table)).build().read()
    return rows_of(pa.Table.from_batches(batches)) if batches else []
