"""The table of orders, written through Spark."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

import pyhudi.spark
from pyhudi.jobs.result import JobResult
from tests.support.orders import OPERATION, OPTIONS

_NUMBERS = count()


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


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a data frame, collected without Python objects between."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return pa.Table.from_batches(frame._collect_as_arrow(), to_arrow_schema(frame.schema))
