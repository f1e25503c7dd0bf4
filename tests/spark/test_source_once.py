"""The rows to write are asked for once, whatever becomes of them."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pyhudi.spark
from tests.support import orders as here
from tests.support.orders import OPTIONS, many, rows_of
from tests.support.spark_orders import frame

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "delete"])
def test_the_source_is_read_once(spark: SparkSession, tmp_path: Path, operation: str) -> None:
    """A second reading could give other rows than those that were looked up."""
    table = tmp_path / "table"
    here.write(table, many(range(10), 1, "old"))
    read = spark.sparkContext.accumulator(0)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    rows = frame(spark, many(range(5, 15), 2, "new"), tmp_path)
    options = {**OPTIONS, "hoodie.datasource.write.operation": operation}
    result = pyhudi.spark.write(rows.mapInArrow(counted, rows.schema), table, options=options)
    assert (result.status, read.value) == ("committed", 10)
    assert len(rows_of(table)) == {"upsert": 15, "delete": 5}.get(operation, 20)
