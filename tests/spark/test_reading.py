"""A table as a Spark data frame holds the rows that reading without Spark gives."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import pyhudi
from pyhudi.errors import CorruptTableError, OptionError
from pyhudi.spark.reading import is_readable_as, read
from tests.support.golden import golden_copy, golden_names, golden_table, row_texts
from tests.support.spark_orders import arrow_of

pytestmark = pytest.mark.spark

READABLE = [name for name in golden_names("v6_cow_") if name != "v6_cow_custom_keygen_long"]
READABLE += ["v8_cow_types", "v9_cow_clustered"]
READ_BY_WORKERS = {
    "v6_cow_drop_partition_columns": "a column is in no file",
    "v6_cow_no_meta_fields": "meta columns are null whatever the files hold",
    "v6_cow_timestamp_keygen": "a number is given as text",
}


def rows_of(frame: DataFrame) -> list[str]:
    return row_texts(arrow_of(frame))


def is_read_by_workers(frame: DataFrame) -> bool:
    """Whether the engine reads the files in Python, rather than Spark's own reader."""
    return "MapInArrow" in frame._jdf.queryExecution().toString()


@pytest.mark.parametrize("name", READABLE)
def test_a_data_frame_holds_the_rows_of_the_table(spark: SparkSession, name: str) -> None:
    frame, table = read(spark, golden_table(name)), pyhudi.read_table(golden_table(name))
    assert frame.columns == table.column_names
    assert rows_of(frame) == row_texts(table)
    if table.num_rows:
        assert is_read_by_workers(frame) == (name in READ_BY_WORKERS)


def test_files_of_an_older_schema_are_read_in_the_tables(spark: SparkSession, tmp_path) -> None:
    path = golden_copy("v6_cow_evolution", tmp_path)
    for file in (path / "south").glob("*.parquet"):
        if not file.stem.endswith("_20261121105213543"):
            file.unlink()
    with pytest.raises(CorruptTableError, match="is not there"):
        read(spark, path)
    frame = read(spark, path, {"pyhudi.read.skip.damaged": True})
    assert is_read_by_workers(frame)
    assert dict(frame.dtypes)["qty"] == "bigint"
    assert rows_of(frame) == row_texts(pyhudi.read_table(path, skip_damaged=True))


def test_a_data_frame_of_an_earlier_time_holds_the_rows_of_then(spark: SparkSession) -> None:
    path, as_of = golden_table("v6_cow_evolution"), "20261121105214132"
    frame = read(spark, path, {"as.of.instant": as_of})
    assert rows_of(frame) == row_texts(pyhudi.read_table(path, as_of=as_of))


def test_a_data_frame_of_changes_holds_those_alone(spark: SparkSession) -> None:
    path, begin = golden_table("v6_cow_basic"), "20261121111003365"
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": begin,
    }
    expected = pyhudi.read_table(path, query_type="incremental", begin=begin)
    assert rows_of(read(spark, path, options)) == row_texts(expected)


@pytest.mark.parametrize("name", ["v6_cow_basic", "v6_cow_evolution"])
def test_columns_and_filters_leave_the_same_rows(spark: SparkSession, name: str) -> None:
    path, wanted = golden_table(name), {"columns": ["qty", "id"], "filters": pc.field("qty") > 5}
    assert rows_of(read(spark, path, **wanted)) == row_texts(pyhudi.read_table(path, **wanted))


def test_files_a_filter_rules_out_are_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy("v6_cow_hive", tmp_path)
    for file in (table / "part=south").glob("*.parquet"):
        file.write_bytes(b"not opened")
    frame = read(spark, table, filters=pc.field("part") == "north")
    assert {row.part for row in frame.select("part").collect()} == {"north"}


def test_conditions_on_the_data_frame_reach_the_files(spark: SparkSession) -> None:
    frame = read(spark, golden_table("v6_cow_basic")).where(F.col("qty") > 5).select("id")
    plan = frame._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(qty), GreaterThan(qty,5)]" in plan
    assert "ReadSchema: struct<id:string,qty:int>" in plan


OLD = pa.schema({"a": pa.int32(), "s": pa.struct({"x": pa.int32()})})


@pytest.mark.parametrize(
    ("wanted", "is_readable"),
    [
        pytest.param(OLD, True, id="same"),
        pytest.param(OLD.append(pa.field("b", pa.int64())), True, id="added_column"),
        pytest.param(OLD.set(0, pa.field("a", pa.int64())), False, id="widened_column"),
        pytest.param(
            OLD.set(1, pa.field("s", pa.struct({"x": pa.int32(), "y": pa.int32()}))),
            False,
            id="added_field",
        ),
    ],
)
def test_spark_reads_the_files_whose_schema_it_need_not_change(
    wanted: pa.Schema, is_readable: bool
) -> None:
    assert is_readable_as(OLD, wanted) is is_readable


def test_a_misspelt_option_is_refused(spark: SparkSession) -> None:
    path = golden_table("v6_cow_evolution")
    with pytest.raises(
        OptionError, match=r"no option as\.of\.instnt; did you mean as\.of\.instant"
    ):
        read(spark, path, {"as.of.instnt": "20261121105214132"})


def test_options_may_be_values_that_have_a_text(spark: SparkSession) -> None:
    path = golden_table("v6_cow_evolution")
    then = datetime(2026, 11, 21, 10, 52, 14, 132000)  # noqa: DTZ001 - the zone of the timeline
    frame = read(spark, path, {"as.of.instant": then, "hoodie.datasource.query.type": None})
    assert rows_of(frame) == row_texts(pyhudi.read_table(path, as_of=then))
    assert rows_of(frame) != row_texts(pyhudi.read_table(path))
