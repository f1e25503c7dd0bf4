"""Tables with log files as data frames: merged by the engine, beside files that Spark reads."""

from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import pyhudi
from pyhudi.errors import OptionError
from pyhudi.spark.reading import read
from tests.support.golden import (
    expected_rows,
    golden_names,
    golden_queries,
    golden_table,
    row_texts,
)
from tests.support.log_files import avro_block
from tests.support.mergers import JOINING
from tests.support.mor_table import SCHEMA, MorTable, Row, moment, records
from tests.support.spark_orders import arrow_of

pytestmark = pytest.mark.spark

READABLE = [
    *golden_names("v6_mor_"),
    "v9_as_v6_mor",
    "v8_mor_logs_avro",
    "v9_mor_ntz",
    "v9_mor_sql",
]
EVERY_QUERY = (
    "v6_cow_bootstrap",
    "v6_mor_bootstrap",
    "v6_mor_event_time",
    "v6_mor_hfile_logs",
    "v6_mor_pending_compaction",
    "v9_mor_pending_compaction",
)
QUERIES = [
    *((name, "snapshot") for name in READABLE),
    *((name, query) for name in EVERY_QUERY for query in golden_queries(name)),
]
QUERY_TYPE = "hoodie.datasource.query.type"
MERGED = "MapInArrow"


def rows_of(frame: DataFrame) -> list[str]:
    return row_texts(arrow_of(frame))


def plan_of(frame: DataFrame) -> str:
    return frame._jdf.queryExecution().toString()


def options_of(query: str) -> dict[str, str]:
    """Hudi's options for a query that is named as its file of expected rows."""
    if query.startswith("time_travel_"):
        return {"as.of.instant": query.removeprefix("time_travel_")}
    if query.startswith("incremental_"):
        begin, _, end = query.removeprefix("incremental_").partition("_")
        found = {QUERY_TYPE: "incremental", "hoodie.datasource.read.begin.instanttime": begin}
        return found | ({"hoodie.datasource.read.end.instanttime": end} if end else {})
    return {QUERY_TYPE: query}


@pytest.mark.parametrize(("name", "query"), dict.fromkeys(QUERIES))
def test_a_data_frame_holds_what_hudi_reads(spark: SparkSession, name: str, query: str) -> None:
    frame = read(spark, golden_table(name), options_of(query))
    _, is_travel, instant = query.rpartition("time_travel_")
    at = {"as_of": instant} if is_travel else {}
    assert frame.columns == pyhudi.read_table(golden_table(name), **at).column_names
    assert rows_of(frame) == expected_rows(name, query)
    if query == "read_optimized":
        # Spark itself does not read skeletons and their sources side by side.
        assert (MERGED in plan_of(frame)) == ("bootstrap" in name)


def rows_at(instant: str, *rows: Row) -> bytes:
    return avro_block(moment(instant), records(instant, *rows), SCHEMA)


@pytest.fixture
def half_merged(tmp_path: Path) -> MorTable:
    """A file group without log files beside one with them."""
    made = MorTable.make(tmp_path / "t")
    made.base("f", "1", records("1", ("a", 5, "1"), ("b", 5, "1")))
    made.base("g", "1", records("1", ("c", 5, "1"), ("d", 5, "1")))
    made.log("g", "1", rows_at("2", ("c", 6, "2"), ("d", 4, "2"), ("e", 1, "2")))
    made.commits("12")
    return made


def test_file_groups_without_log_files_are_left_to_spark(spark, half_merged: MorTable) -> None:
    frame = read(spark, half_merged.path)
    assert rows_of(frame) == row_texts(pyhudi.read_table(half_merged.path))
    chosen = frame.where(F.col("ts") > 5).select("id")
    assert "PushedFilters: [IsNotNull(ts), GreaterThan(ts,5)]" in plan_of(chosen)
    assert MERGED in plan_of(chosen)
    assert [row.id for row in chosen.collect()] == ["c"]
    assert read(spark, half_merged.path).count() == 5


def test_columns_and_filters_reach_the_merge(spark: SparkSession, half_merged: MorTable) -> None:
    wanted = {"columns": ["name", "id"], "filters": pc.field("ts") > 4}
    frame = read(spark, half_merged.path, **wanted)
    assert frame.columns == ["name", "id"]
    assert rows_of(frame) == row_texts(pyhudi.read_table(half_merged.path, **wanted))
    only = read(spark, half_merged.path, columns=["id"])
    assert sorted(row.id for row in only.collect()) == ["a", "b", "c", "d", "e"]


def test_log_records_wait_on_disk_past_the_memory_of_the_options(
    spark: SparkSession, half_merged: MorTable, tmp_path: Path
) -> None:
    spill = tmp_path / "spill"
    options = {"hoodie.memory.merge.max.size": "0", "hoodie.memory.spillable.map.path": str(spill)}
    with pytest.raises(Exception, match="log records cannot be put aside in"):
        read(spark, half_merged.path, options).collect()
    spill.mkdir()
    assert rows_of(read(spark, half_merged.path, options)) == rows_of(read(spark, half_merged.path))
    assert list(spill.iterdir()) == []


def test_a_merger_in_python_is_run_when_the_options_name_it(spark: SparkSession, tmp_path) -> None:
    made = MorTable.merged_by(JOINING, tmp_path / "t")
    made.base("f", "1", records("1", ("a", 5, "1"), ("b", 5, "1")))
    made.log("f", "1", rows_at("2", ("a", 6, "2")))
    made.commits("12")
    frame = read(spark, made.path, {"pyhudi.merge.custom.merger": JOINING}, columns=["name"])
    assert sorted(row.name for row in frame.collect()) == ["1", "1+2"]
    with pytest.raises(OptionError, match="are merged by the Python class"):
        read(spark, made.path)


def test_a_table_of_log_files_alone_is_read(spark: SparkSession, tmp_path: Path) -> None:
    made = MorTable.make(tmp_path / "t")
    made.log("f", "1", rows_at("1", ("a", 1, "1")))
    assert read(spark, made.path).collect() == []
    made.instant("1")
    assert [row.id for row in read(spark, made.path).collect()] == ["a"]
