"""A DataFrame that only reads Parquet files is left to the tasks to read, any other to Spark."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import pyhudi.spark
from pyhudi.pipeline.batch.source import ParquetRows
from pyhudi.spark.source import FrameRows, rows_of_frame
from tests.support.orders import OPTIONS, many, rows_of

pytestmark = pytest.mark.spark

_ROWS = many(range(6), 1, "new")


def _source(folder: Path) -> str:
    path = folder / "a landing zone" / "100%.parquet"
    path.parent.mkdir()
    pq.write_table(_ROWS, path)
    return str(path.parent)


def test_files_with_odd_names_are_read_by_the_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """With the rows and the schema that Spark sees."""
    frame = spark.read.parquet(_source(tmp_path))
    rows = rows_of_frame(frame)
    assert isinstance(rows, ParquetRows)
    assert all(field.nullable for field in rows.schema)
    pyhudi.spark.write(frame, tmp_path / "table", options=OPTIONS)
    assert len(rows_of(tmp_path / "table")) == 6


def test_dates_of_the_julian_calendar_are_left_to_spark(spark: SparkSession, tmp_path) -> None:
    """Spark moves them to the calendar of today; Arrow would read another day."""
    rebase = "spark.sql.parquet.datetimeRebaseModeInWrite"
    spark.conf.set(rebase, "LEGACY")
    try:
        dates = spark.sql("select 1 as id, date'1500-02-20' as day")
        dates.coalesce(1).write.parquet(str(tmp_path / "julian"))
    finally:
        spark.conf.unset(rebase)
    frame = spark.read.parquet(str(tmp_path / "julian"))
    assert isinstance(rows_of_frame(frame), FrameRows)
    keys = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.name": "julian",
    }
    pyhudi.spark.write(frame, tmp_path / "table", options=keys)
    [written] = pyhudi.spark.read(spark, tmp_path / "table").select("day").collect()
    assert str(written.day) == "1500-02-20"


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.where("ts > 0"),
        lambda frame: frame.limit(2),
        lambda frame: frame.select("id", "part", "ts", "value"),
        lambda frame: frame.withColumn("value", F.upper("value")),
        lambda frame: frame.union(frame),
        lambda frame: frame.sample(0.5, seed=1),
        lambda frame: frame.repartition(2),
    ],
    ids=["filter", "limit", "select", "computed", "union", "sample", "repartition"],
)
def test_anything_done_to_the_files_rows_is_left_to_spark(
    spark: SparkSession, tmp_path: Path, change: Callable[[DataFrame], DataFrame]
) -> None:
    """The files hold other rows than the DataFrame."""
    frame = change(spark.read.parquet(_source(tmp_path)))
    assert isinstance(rows_of_frame(frame), FrameRows)


def test_a_reader_with_options_or_a_schema_is_left_to_spark(spark: SparkSession, tmp_path) -> None:
    """They may change what Spark reads."""
    path = _source(tmp_path)
    merging = spark.read.option("mergeSchema", "true").parquet(path)
    narrowed = spark.read.schema("id string, ts long").parquet(path)
    assert isinstance(rows_of_frame(merging), FrameRows)
    assert isinstance(rows_of_frame(narrowed), FrameRows)


def test_folder_partitions_and_nanoseconds_are_left_to_spark(spark: SparkSession, tmp_path) -> None:
    """Spark adds the folder's column, and reads nanoseconds its own way."""
    folder = tmp_path / "by_part"
    pq.write_to_dataset(_ROWS, folder, partition_cols=["part"])
    assert isinstance(rows_of_frame(spark.read.parquet(str(folder))), FrameRows)
    exact = tmp_path / "exact.parquet"
    pq.write_table(
        pa.table({"t": pa.array([1], pa.timestamp("ns"))}),
        exact,
        use_deprecated_int96_timestamps=True,
    )
    assert isinstance(rows_of_frame(spark.read.parquet(str(exact))), FrameRows)


def test_both_ways_write_the_same_table(spark: SparkSession, tmp_path: Path) -> None:
    """Rows and schema do not tell which way they came."""
    plain = spark.read.parquet(_source(tmp_path))
    pyhudi.spark.write(plain, tmp_path / "one", options=OPTIONS)
    pyhudi.spark.write(plain.where("ts > 0"), tmp_path / "two", options=OPTIONS)
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two")
    one = pyhudi.open_table(tmp_path / "one").schema()
    assert one.equals(pyhudi.open_table(tmp_path / "two").schema())
