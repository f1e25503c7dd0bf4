"""Every type goes through a write and comes back, whichever way the rows came."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.pipeline.batch.source import ParquetRows
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.spark.source import rows_of_source
from pyhudi.spark.writing import run_upsert
from tests.support.golden import row_texts
from tests.support.orders import NO_SMALL_FILES, OPTIONS, SMALL_FILES

pytestmark = pytest.mark.spark

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
LOCAL = NOW.replace(tzinfo=None)
INNER = pa.struct({"at": pa.timestamp("us", "UTC"), "price": pa.decimal128(9, 2)})
SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "part": pa.string(),
        "ts": pa.int64(),
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "int": pa.int32(),
        "float": pa.float32(),
        "double": pa.float64(),
        "decimal": pa.decimal128(38, 10),
        "binary": pa.binary(),
        "date": pa.date32(),
        "micros": pa.timestamp("us", "UTC"),
        "millis": pa.timestamp("ms", "UTC"),
        "local": pa.timestamp("us"),
        "list": pa.list_(INNER),
        "lists": pa.list_(pa.list_(pa.int32())),
        "map": pa.map_(pa.string(), INNER),
        "struct": pa.struct({"inner": INNER, "texts": pa.list_(pa.string())}),
    }
)
PRICED = {"at": NOW, "price": Decimal("-12.50")}


def row(key: str, ts: int) -> dict[str, object]:
    first = ("é\n", ts, True, -128, 2**31 - 1, 0.5, 0.1, Decimal("1.0000000001"), b"\x00\xff")
    when = (NOW.date(), NOW, NOW.replace(microsecond=678000), LOCAL)
    nested = (
        [PRICED, None, {"at": None, "price": None}],
        [[1, None], [], None],
        [("k", PRICED), ("ü", None)],
        {"inner": PRICED, "texts": [None, ""]},
    )
    return dict(zip(SCHEMA.names, (key, *first, *when, *nested), strict=True))


def nothing(key: str, ts: int) -> dict[str, object]:
    return {**dict.fromkeys(SCHEMA.names), "id": key, "part": "é\n", "ts": ts}


def empty(key: str, ts: int) -> dict[str, object]:
    struct = {"inner": None, "texts": None}
    return {**nothing(key, ts), "list": [], "lists": [], "map": [], "struct": struct}


FIRST = [row("a", 1), nothing("b", 1), empty("c", 1), row("d", 1)]
SECOND = [nothing("a", 2), row("b", 2), row("e", 2)]
LAST = [nothing("a", 2), row("b", 2), empty("c", 1), row("d", 1), row("e", 2)]


@pytest.mark.parametrize("way", ["frame", "logged", "parquet", "sorted"])
def test_every_type_goes_through_a_write_and_back(spark: SparkSession, tmp_path, way: str) -> None:
    table = tmp_path / "table"
    for number, rows in enumerate((FIRST, SECOND)):
        source = str(tmp_path / f"{number}.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), source)
        if way in ("frame", "logged"):
            options = NO_SMALL_FILES if way == "logged" else OPTIONS
            pyhudi.spark.write(spark.read.parquet(source), table, options=options)
        else:
            is_sorted = way == "sorted" and number == 0
            run_upsert(spark, request_for(table, source, SORTED if is_sorted else {}))
    expected = row_texts(pa.Table.from_pylist(LAST, schema=SCHEMA))
    assert row_texts(pyhudi.read_table(table).drop_columns(list(META_FIELDS))) == expected
    frame = pyhudi.spark.read(spark, table).drop(*META_FIELDS)
    # Rows with log records are merged in Python, whose tasks hand every type to Spark.
    assert ("MapInArrow" in frame._jdf.queryExecution().toString()) == (way == "logged")
    assert row_texts(pa.Table.from_batches(frame._collect_as_arrow())) == expected


SORTED = {
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
}


def request_for(table: Path, source: str, more: dict[str, str]) -> UpsertRequest:
    return UpsertRequest(
        base_path=str(table),
        source=source,
        table_name="orders",
        record_key="id",
        partition_path="part",
        ordering_field="ts",
        hoodie_conf={**SMALL_FILES, **more},
    )


def test_plain_parquet_files_go_around_spark(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(pa.Table.from_pylist(FIRST, schema=SCHEMA), tmp_path / f"{number}.parquet")
    found = rows_of_source(
        spark, f"{tmp_path}/*.parquet", source_format="parquet", source_options={}, sql=None
    )
    assert isinstance(found, ParquetRows)
    (splits,) = found.tasks
    assert [Path(split.path).name for split in splits] == [f"{n}.parquet" for n in range(3)]
