"""Spark's Python workers live on from task to task; a new one imports everything again."""

import gc
import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pyhudi.pipeline.batch.source import ParquetRows, SourceRows
from pyhudi.runner.task import TaskIdentity
from pyhudi.spark.source import rows_of_frame
from pyhudi.spark.tasks.arrow_map import map_in_arrow

pytestmark = pytest.mark.spark

_PID = pa.schema([pa.field("pid", pa.int64())])
_OBJECTS = pa.schema([pa.field("collected", pa.int64()), pa.field("spared", pa.int64())])
_TIMES = 6


def _pid(_task: TaskIdentity, _batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array([os.getpid()], pa.int64())], schema=_PID)


def _pids(rows: SourceRows) -> set[int]:
    return {rows.map(_pid, _PID).collect()[0].pid for _ in range(_TIMES)}


def test_a_task_that_reads_files_itself_leaves_its_worker_alive(spark, tmp_path) -> None:
    """It has no use for the rows that Spark hands to it."""
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "source.parquet")
    rows = rows_of_frame(spark.read.parquet(str(tmp_path / "source.parquet")))
    assert isinstance(rows, ParquetRows)
    assert len(_pids(rows)) < _TIMES


def test_a_task_that_leaves_rows_unread_leaves_its_worker_alive(spark: SparkSession) -> None:
    numbers = spark.range(0, 100_000, 1, numPartitions=1)
    assert len({map_in_arrow(numbers, _pid, _PID).collect()[0].pid for _ in range(_TIMES)}) < _TIMES


def test_what_a_worker_has_imported_is_not_looked_through_after_every_task(spark) -> None:
    numbers = spark.range(0, 1, 1, numPartitions=1)
    runs = [map_in_arrow(numbers, _objects, _OBJECTS).collect()[0] for _ in range(_TIMES)]
    spared = [run for run in runs if run.spared]
    assert len(spared) >= _TIMES - 2
    # Spark 3.5 leaves some 13,000 objects of its own, of 117,000.
    share = 6 if spark.version.startswith("3.") else 10
    assert max(run.collected for run in spared) < min(run.spared for run in spared) / share


def _objects(_task: TaskIdentity, _batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    counts = [len(gc.get_objects()), gc.get_freeze_count()]
    yield pa.RecordBatch.from_arrays([pa.array([n], pa.int64()) for n in counts], schema=_OBJECTS)
