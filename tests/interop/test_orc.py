"""Tables of ORC files: what real Hudi makes of ours, and we of its.

Hudi's bundles are not at home with ORC, and each lacks something else:

- 1.1.1 reads such tables with Spark's vectorised ORC reader switched off, and not otherwise.
- 0.15.0 cannot look keys up with the SIMPLE index (nor, its protobuf being another one, with
  BLOOM): it reads and inserts, but does not update.
- Both write no decimal of less than ten digits, and lose fractions of seconds.
"""

import dataclasses
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.interop import ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.model import TableModel
from tests.interop.rows import assert_same_rows, user_columns, without
from tests.interop.scenarios import LOCAL_TIMES, TYPES, Scenario, every_type, local_time

ORC = {"hoodie.table.base.file.format": "ORC"}
# Hudi's row writer makes Parquet files alone.
BY_HUDI = {**ORC, "hoodie.datasource.write.row.writer.enable": "false"}
NO_FRACTIONS = pa.schema([field for field in TYPES if field.name != "c_small_decimal"])


def even(value: Any, before: int = 9999) -> Any:
    """The value with whole seconds in what lies before a year."""
    if isinstance(value, dict):
        return {key: even(inner, before) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(even(inner, before) for inner in value)
    has_fraction = hasattr(value, "microsecond") and value.year < before
    return value.replace(microsecond=0) if has_fraction else value


def every_type_in_orc(number: int, generation: int) -> dict[str, Any]:
    """A row of TYPES that an ORC file can hold: no fractions of seconds before 1970."""
    return {name: even(value, 1970) for name, value in every_type(number, generation).items()}


def whole_seconds(number: int, generation: int) -> dict[str, Any]:
    """A row of NO_FRACTIONS: what Hudi's own writer of ORC files keeps as it is."""
    row = even(every_type(number, generation))
    return {name: row[name] for name in NO_FRACTIONS.names}


ORDERS = Scenario("orc_orders", partitions=("region",), operation="bulk_insert", more=ORC)
EVERY_TYPE = Scenario(
    "orc_types",
    partitions=("region",),
    schema=TYPES,
    make=every_type_in_orc,
    more=ORC,
    source="rows",
)
WHOLE_SECONDS = Scenario(
    "orc_seconds", partitions=("region",), schema=NO_FRACTIONS, make=whole_seconds, more=ORC
)
LOCAL = Scenario("orc_local", schema=LOCAL_TIMES, make=local_time, more=ORC)
ZSTD = dataclasses.replace(
    ORDERS, name="orc_zstd", more={**ORC, "hoodie.orc.compression.codec": "zstd"}
)


def name_of(scenario: Scenario) -> str:
    return scenario.name


@dataclass(frozen=True)
class Written:
    """A table that this engine wrote: first rows, an upsert, a delete."""

    path: Path
    model: TableModel
    after_first: TableModel
    first_instant: str


@pytest.fixture(scope="session")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    return {
        scenario.name: write_three_times(scenario, spark, tmp_path_factory.mktemp(scenario.name))
        for scenario in (ORDERS, EVERY_TYPE, WHOLE_SECONDS, LOCAL, ZSTD)
    }


def write_three_times(scenario: Scenario, spark: SparkSession, folder: Path) -> Written:
    path, model = folder / "table", scenario.model()
    first, second, gone = (
        scenario.batch(range(40), 1),
        scenario.batch(range(30, 50), 2),
        scenario.batch(range(5), 3),
    )
    done = ours.write(spark, path, first, scenario.operation, scenario.options)
    model.upsert(first)
    after_first = model.copy()
    ours.write(spark, path, second, "upsert", scenario.options, source=scenario.source)
    model.upsert(second)
    ours.write(spark, path, gone, "delete", scenario.options, source=scenario.source)
    model.delete(gone)
    return Written(path, model, after_first, done.instant)


@pytest.fixture
def orc_hudi(hudi: RealHudi) -> Iterator[RealHudi]:
    """Real Hudi with what it needs to read ORC files at all."""
    name = "spark.sql.orc.enableVectorizedReader"
    if hudi.version.startswith("1."):
        hudi.ask("set_spark", name=name, value="false")
    yield hudi
    hudi.ask("set_spark", name=name, value=None)


@pytest.mark.parametrize("scenario", [ORDERS, EVERY_TYPE, WHOLE_SECONDS, LOCAL, ZSTD], ids=name_of)
def test_hudi_reads_our_orc_files(
    scenario: Scenario, written: dict[str, Written], orc_hudi: RealHudi
) -> None:
    table = written[scenario.name]
    assert not list(table.path.rglob("*.parquet"))
    by_hudi = orc_hudi.read(table.path)
    assert_same_rows(user_columns(by_hudi), table.model.rows())
    assert_same_rows(ours.read(table.path), by_hudi)

    before = orc_hudi.read(table.path, as_of=table.first_instant)
    assert_same_rows(user_columns(before), table.after_first.rows())
    assert_same_rows(ours.read(table.path, as_of=table.first_instant), before)

    changed = orc_hudi.read(table.path, begin=table.first_instant)
    wanted = [row for row in by_hudi if row["_hoodie_commit_time"] > table.first_instant]
    assert_same_rows(without(changed, scenario.partitions), without(wanted, scenario.partitions))
    mine = ours.read(table.path, query_type="incremental", begin=table.first_instant)
    assert_same_rows(mine, wanted)


@pytest.mark.parametrize("scenario", [ORDERS, WHOLE_SECONDS, ZSTD], ids=name_of)
def test_hudi_writes_on_to_our_orc_files(
    scenario: Scenario,
    written: dict[str, Written],
    orc_hudi: RealHudi,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    path, model = tmp_path / "table", written[scenario.name].model.copy()
    shutil.copytree(written[scenario.name].path, path)
    theirs = scenario.batch(range(60, 70), 4)
    orc_hudi.write(path, theirs, "insert", options=BY_HUDI)
    model.upsert(theirs)
    changed = scenario.batch(range(40, 65), 5)
    if orc_hudi.version.startswith("1."):
        orc_hudi.write(path, changed, "upsert", options=BY_HUDI)
        model.upsert(changed)
        gone = scenario.batch(range(10, 15), 6)
        orc_hudi.write(path, gone, "delete", options=BY_HUDI)
        model.delete(gone)
    else:
        with pytest.raises(HudiError, match="Custom key generator is not supported yet"):
            orc_hudi.write(path, changed, "upsert", options=BY_HUDI)
    assert_same_rows(user_columns(ours.read(path)), model.rows())
    assert_same_rows(ours.read(path), orc_hudi.read(path))

    mine = scenario.batch(range(45, 75), 7)
    ours.write(spark, path, mine, "upsert", scenario.options, source=scenario.source)
    model.upsert(mine)
    by_hudi = orc_hudi.read(path)
    assert_same_rows(user_columns(by_hudi), model.rows())
    assert_same_rows(ours.read(path), by_hudi)


@pytest.mark.parametrize("scenario", [ORDERS, WHOLE_SECONDS, LOCAL], ids=name_of)
def test_we_write_on_to_orc_files_of_hudi(scenario: Scenario, orc_hudi: RealHudi, spark, tmp_path):
    if scenario is LOCAL and not orc_hudi.version.startswith("1."):
        pytest.skip("Hudi 0.15 writes no timestamps without a zone")
    table, model = tmp_path / "table", scenario.model()
    first = scenario.batch(range(30), 1)
    payload = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    options = {
        **scenario.options,
        **BY_HUDI,
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.payload.class": payload,
    }
    orc_hudi.write(table, first, scenario.operation, options=options, mode="overwrite")
    model.upsert(first)
    assert_same_rows(user_columns(ours.read(table)), model.rows())
    assert_same_rows(ours.read(table), orc_hudi.read(table))

    second, gone = scenario.batch(range(20, 50), 2), scenario.batch(range(5), 3)
    ours.write(spark, table, second, "upsert", scenario.options)
    model.upsert(second)
    ours.write(spark, table, gone, "delete", scenario.options)
    model.delete(gone)
    by_hudi = orc_hudi.read(table)
    assert_same_rows(user_columns(by_hudi), model.rows())
    assert_same_rows(ours.read(table), by_hudi)


def test_hudi_keeps_fractions_of_seconds_in_orc_files(
    written: dict[str, Written], orc_hudi: RealHudi, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    shutil.copytree(written[EVERY_TYPE.name].path, path)
    before = {row["id"]: row["c_timestamp"] for row in orc_hudi.read(path)}
    schema = pa.schema([f for f in TYPES if f.name != "c_small_decimal"])
    orc_hudi.write(path, EVERY_TYPE.batch([60], 4).select(schema.names), "insert", options=BY_HUDI)
    after = {row["id"]: row["c_timestamp"] for row in orc_hudi.read(path)}
    assert {key: after[key] for key in before} == before
