"""Merge-on-read tables that real Hudi writes, as Spark data frames of ours."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import pyhudi.spark
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row, assert_same_rows, rows_of, user_columns
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_hudi_tables import payload
from tests.interop.test_merge_on_read import COMPACTED, MERGE_ON_READ

BY_NAME = {s.name: s for s in SCENARIOS}
QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"


def rows_in(frame: DataFrame) -> list[Row]:
    """The rows of a data frame, collected without Python objects between."""
    batches = frame._collect_as_arrow()
    return rows_of(pa.Table.from_batches(batches)) if batches else []


def frame_rows(spark: SparkSession, table: Path, options: Any = None, **query: Any) -> list[Row]:
    return rows_in(pyhudi.spark.read(spark, table, options, **query))


@pytest.mark.parametrize(
    ("name", "block"),
    [("two_hive_partitions", "avro"), ("two_hive_partitions", "parquet"), ("every_type", "avro")],
)
def test_our_data_frames_hold_what_hudi_reads(
    name: str, block: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    """Some file groups are changed, others are not; then all are; then one is compacted."""
    scenario, table = BY_NAME[name], tmp_path / "table"
    always = {**MERGE_ON_READ, "hoodie.logfile.data.block.format": block, **payload(scenario)}
    first, later = scenario.batch(range(30), 1), scenario.batch(range(40), 3)
    in_asia = later.filter(pc.equal(later.column("region"), "asia"))
    steps = [
        ("upsert", in_asia, {}),
        ("delete", scenario.batch(range(5), 4), {}),
        ("upsert", scenario.batch(range(3, 12), 5), COMPACTED),
        ("upsert", scenario.batch(range(10, 14), 6), {}),
    ]
    options = {**scenario.options, **always}
    instants = [hudi.write(table, first, scenario.operation, options=options, mode="overwrite")]
    for operation, rows, more in steps:
        instants.append(hudi.write(table, rows, operation, options={**always, **more}))
        assert_same_rows(frame_rows(spark, table), hudi.read(table))
    for instant in instants[1:3]:
        asked = {"as.of.instant": instant}
        assert_same_rows(frame_rows(spark, table, asked), hudi.read(table, as_of=instant))
    optimized = {QUERY_TYPE: "read_optimized"}
    assert_same_rows(frame_rows(spark, table, optimized), hudi.read(table, optimized=True))
    changed = frame_rows(spark, table, {QUERY_TYPE: "incremental", BEGIN: instants[1]})
    assert_same_rows(user_columns(changed), user_columns(hudi.read(table, begin=instants[1])))
    some = {"columns": ["id", "ts"], "filters": pc.field("ts") >= 3_000}
    wanted = [
        {"id": row["id"], "ts": row["ts"]} for row in hudi.read(table) if int(row["ts"]) >= 3_000
    ]
    assert_same_rows(frame_rows(spark, table, **some), wanted)
