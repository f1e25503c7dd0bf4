"""Tables whose base files are ORC, written through Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.errors import TableMismatchError, UnsupportedError
from pyhudi.spark.reading import read
from pyhudi.table.table import open_table
from tests.support.golden import row_texts
from tests.support.orders import OPTIONS, many, orders, rows_of, write
from tests.support.tree import data_files

pytestmark = pytest.mark.spark

ORC = {**OPTIONS, "hoodie.table.base.file.format": "ORC"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


def test_a_table_of_orc_files_lives_through_every_operation(
    spark: SparkSession, table: Path
) -> None:
    write(spark, table, many(range(40), 1, "old"), "bulk_insert", ORC)
    first = write(spark, table, many(range(40, 50), 1, "old"), "insert", ORC)
    # What the table knows of itself need not be said again.
    second = write(spark, table, many(range(30, 60), 2, "new"))
    assert second.records == {"inserted": 10, "updated": 20, "deleted": 0, "failed": 0}
    third = write(spark, table, many(range(5), 3, "gone"), "delete")
    assert third.records["deleted"] == 5

    kept = tuple(many(range(5, 30), 1, "old").to_pylist())
    changed = tuple(many(range(30, 60), 2, "new").to_pylist())
    assert rows_of(table) == sorted(tuple(row.values()) for row in (*kept, *changed))
    assert open_table(str(table)).config.base_file_format == "ORC"
    names = data_files(table)
    assert names
    assert all(name.endswith(".orc") for name in names)
    metadata = orc.ORCFile(table / names[0]).metadata
    assert b"orc.avro.schema" in metadata
    assert b"org.apache.hudi.bloomfilter" in metadata

    assert len(rows_of(table, as_of=first.instant)) == 50
    found = rows_of(table, query_type="incremental", begin=first.instant)
    assert {row[3] for row in found} == {"new"}
    assert row_texts(_arrow(read(spark, table))) == row_texts(pyhudi.read_table(table))


def test_an_existing_table_keeps_its_format(spark: SparkSession, table: Path) -> None:
    write(spark, table, many(range(4), 1, "old"), "insert", ORC)
    parquet = {**OPTIONS, "hoodie.base.file.format": "parquet"}
    with pytest.raises(TableMismatchError, match="base file format ORC, the request says PARQUET"):
        write(spark, table, many(range(4), 2, "new"), "upsert", parquet)
    assert {row[3] for row in rows_of(table)} == {"old"}


def test_a_format_that_is_not_written_is_refused(spark: SparkSession, table: Path) -> None:
    hfile = {**OPTIONS, "hoodie.table.base.file.format": "HFILE"}
    with pytest.raises(UnsupportedError, match="supported are PARQUET, ORC"):
        write(spark, table, many(range(4), 1, "old"), "insert", hfile)
    assert not table.exists()


def test_a_file_that_is_full_is_followed_by_another(spark: SparkSession, table: Path) -> None:
    small = {**ORC, "hoodie.orc.max.file.size": "1000", "hoodie.orc.compression.codec": "zstd"}
    rows = pa.concat_tables([orders(*((f"k{n}", "p", 1, "x"),)) for n in range(3)])
    many_rows = pa.table(
        {
            "id": [f"k{n:06d}" for n in range(150_000)],
            "part": ["p"] * 150_000,
            "ts": pa.array([1] * 150_000, pa.int64()),
            "value": [f"{n * 7919 % 104_729}" for n in range(150_000)],
        },
        schema=rows.schema,
    )
    result = write(spark, table, many_rows, "bulk_insert", small)
    assert len(data_files(table, f"_{result.instant}")) > 1
    assert pyhudi.read_table(table).num_rows == 150_000


def _arrow(frame) -> pa.Table:
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return pa.Table.from_batches(frame._collect_as_arrow())
