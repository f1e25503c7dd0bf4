"""A DataFrame that only reads Parquet files is left to the tasks to read, any other to Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import pyhudi.spark
from pyhudi.pipeline.batch.source import ParquetRows
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.spark.runner import SparkRunner
from pyhudi.spark.source import FrameRows, rows_of_frame
from tests.support.orders import OPERATION, OPTIONS, SCHEMA, commit_of, many, rows_of
from tests.support.spark_orders import write

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


def test_dates_of_the_julian_calendar_are_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
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


def test_a_reader_with_options_or_a_schema_is_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    """They may change what Spark reads."""
    path = _source(tmp_path)
    merging = spark.read.option("mergeSchema", "true").parquet(path)
    narrowed = spark.read.schema("id string, ts long").parquet(path)
    assert isinstance(rows_of_frame(merging), FrameRows)
    assert isinstance(rows_of_frame(narrowed), FrameRows)


def test_folder_partitions_and_nanoseconds_are_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
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


def test_the_commit_and_the_result_tell_what_each_stage_took(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows and bytes of every stage, and the tasks' time of merging."""
    table = tmp_path / "table"
    write(spark, table, _ROWS)
    result = write(spark, table, many(range(3, 9), 2, "newer"))
    assert set(result.stages) == {"key", "lookup", "write", "commit"}
    assert result.stages["key"]["rows"] == 6
    assert result.stages["lookup"]["rows"] == 3
    assert result.stages["write"]["rows"] == 9
    assert result.stages["write"]["bytes"] == result.bytes_written
    assert result.stages["write"]["merge_task_seconds"] > 0
    recorded = json.loads(commit_of(table, result.instant)["extraMetadata"]["pyhudi.metrics"])
    assert set(recorded) == {"key", "lookup", "write"}
    assert recorded["write"] == result.stages["write"]


def test_a_bulk_insert_of_a_plain_scan_makes_few_files(spark: SparkSession, tmp_path: Path) -> None:
    """As few as its cores leave, however many files the rows come in."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(16):
        rows = many(range(number, 4000, 16), 1, "x" * 50, parts=3)
        pq.write_table(rows, source / f"{number}.parquet")
    found = rows_of_frame(spark.read.parquet(str(source)))
    assert isinstance(found, ParquetRows)
    size = sum(split.size_bytes for task in found.tasks for split in task)
    spread = replace(found, tasks=tuple((split,) for task in found.tasks for split in task))
    cores = spark.sparkContext.defaultParallelism
    for most_bytes, least in ((1 << 40, cores), (size // 8, 7)):
        large = spread.in_large_tasks(most_bytes)
        assert least <= len(large.tasks) <= least + 2
        assert [split for task in large.tasks for split in task] == [s for (s,) in spread.tasks]
    table = tmp_path / "table"
    environment = environment_on(SparkRunner(session=spark))
    done = write_rows(
        environment,
        spread,
        str(table),
        {**OPTIONS, OPERATION: "bulk_insert"},
    )
    assert done.files["created"] <= 3 * cores
    assert len(rows_of(table)) == 4000


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC"])
def test_texts_that_repeat_are_written_as_if_each_row_had_its_own(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    written = []
    for number, colors in enumerate((["red", None, "blue"], ["green", "red", "\U0001d11e"])):
        names = [f"id{row}" for row in range(number * 2000, number * 2000 + 2000)]
        texts = [colors[row % 3] for row in range(2000)]
        parts, times = [f"p{row % 2}" for row in range(2000)], [row % 7 for row in range(2000)]
        columns = [names, parts, times, texts]
        written.append(pa.Table.from_arrays(list(map(pa.array, columns)), names=SCHEMA.names))
        pq.write_table(written[-1], source / f"{number}.parquet", row_group_size=700)
    lost = pa.table({"id": [None], "part": ["p0"], "ts": [1], "value": ["red"]}, schema=SCHEMA)
    pq.write_table(pa.concat_tables([lost, written[0]]), source / "0.parquet")
    environment = environment_on(SparkRunner(session=spark))
    found = rows_of_frame(spark.read.parquet(str(source)))
    assert isinstance(found, ParquetRows)
    assert found.with_dictionaries(SCHEMA.names).encoded == ("part", "value")
    assert found.with_dictionaries(["id", "value"]).encoded == ("value",)
    options = {
        **OPTIONS,
        OPERATION: "bulk_insert",
        "hoodie.table.base.file.format": file_format,
        "pyhudi.write.error.policy": "report",
        "pyhudi.write.error.path": str(tmp_path / "failed"),
    }
    done = write_rows(environment, found, str(tmp_path / "table"), options)
    assert done.records["failed"] == 1
    (failed,) = pq.read_table(tmp_path / "failed")["row"].to_pylist()
    assert json.loads(failed) == {"id": None, "part": "p0", "ts": 1, "value": "red"}
    read = pyhudi.read_table(tmp_path / "table").select(SCHEMA.names).sort_by("id")
    assert read.equals(pa.concat_tables(written).sort_by("id"))
    again = write_rows(
        environment,
        found,
        str(tmp_path / "table"),
        {**options, OPERATION: "upsert"},
    )
    assert again.records["updated"] == 4000
    read = pyhudi.read_table(tmp_path / "table").select(SCHEMA.names).sort_by("id")
    assert read.equals(pa.concat_tables(written).sort_by("id"))
