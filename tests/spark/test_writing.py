"""What is Spark's of a write: sources, ranges of sorted rows, and errors of its workers."""

import hashlib
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.errors import HudiError, OptionError, SourceError
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.spark.writing import run_upsert
from tests.support import orders as here
from tests.support.golden import row_texts
from tests.support.orders import OPTIONS, SCHEMA, many, orders, report_to, rows_of
from tests.support.spark_orders import arrow_of, write
from tests.support.tree import data_files, tree

pytestmark = pytest.mark.spark

SORTED = {**OPTIONS, "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}
IN_THREE = {"hoodie.bulkinsert.shuffle.parallelism": "3"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    here.write(tmp_path / "table", many(range(6), 1, "old"), "insert")
    return tmp_path / "table"


def test_an_unknown_mode_is_refused(spark: SparkSession, table: Path) -> None:
    before = tree(table)
    with pytest.raises(OptionError, match="'overwrite'; only 'append'"):
        write(spark, table, many(range(6), 1, "new"), mode="overwrite")
    assert tree(table) == before


def test_a_source_that_is_missing_or_no_parquet_is_named(spark: SparkSession, table: Path) -> None:
    folder = table.parent / "landing"
    folder.mkdir()
    (folder / "text.parquet").write_text("this is no parquet file")
    pq.write_table(many(range(1000), 1, "v"), folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "flipped.parquet").write_bytes(whole[:8] + b"\xff" * 400 + whole[408:])
    before = tree(table)
    for name in ("gone.parquet", "*.csv", "text.parquet", "cut.parquet", "flipped.parquet"):
        request = UpsertRequest(base_path=str(table), source=f"{folder}/{name}")
        with pytest.raises(SourceError) as caught:
            run_upsert(spark, request)
        assert f"{folder}/{name}" in str(caught.value)
        assert tree(table) == before


def test_an_error_in_a_worker_arrives_as_one_of_the_engine(spark, table: Path) -> None:
    """A base file that is gone is found missing by the task that reads it."""
    for name in data_files(table):
        (table / name).write_bytes(b"no parquet")
    with pytest.raises(HudiError) as caught:
        write(spark, table, many(range(6), 2, "new"))
    assert "parquet" in str(caught.value).lower()
    assert "Traceback" not in str(caught.value)


def test_global_sort_gives_files_of_one_range_of_keys(spark: SparkSession, tmp_path: Path) -> None:
    rows = many([*range(1, 60, 2), *range(0, 60, 2)], 1, "v")
    write(spark, tmp_path / "t", rows, "bulk_insert", {**SORTED, **IN_THREE})
    ranges: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in data_files(tmp_path / "t"):
        keys = pq.read_table(tmp_path / "t" / name).column("id").to_pylist()
        ranges[name.split("/")[0]].append((keys[0], keys[-1]))
    assert sum(map(len, ranges.values())) > 2, "one file a partition says nothing of ranges"
    for found in ranges.values():
        edges = [edge for bounds in sorted(found) for edge in bounds]
        assert edges == sorted(edges)


def test_a_sorted_bulk_insert_makes_files_of_the_wanted_size(spark: SparkSession, tmp_path) -> None:
    """However many tasks the sort would have had."""
    table, target = tmp_path / "table", 200_000
    values = [hashlib.sha256(str(number).encode()).hexdigest() * 4 for number in range(8000)]
    batch = orders(*((f"k{n:05d}", f"p{n % 3}", n, values[n]) for n in range(8000)))
    sized = {**SORTED, "hoodie.parquet.max.file.size": str(target)}
    write(spark, table, batch, "bulk_insert", sized)
    sizes = [path.stat().st_size for path in table.glob("p*/*.parquet")]
    assert len(sizes) <= 3 + sum(sizes) / target * 2
    assert max(sizes) < 2 * target


@pytest.mark.parametrize("sort_mode", ["NONE", "GLOBAL_SORT"])
def test_a_bulk_insert_saves_each_failed_record_once(spark, tmp_path, sort_mode: str) -> None:
    """Though texts that repeat come encoded, and though ranges are looked for first."""
    good = [(f"k{number:04}", f"p{number % 3}", number, "v") for number in range(900)]
    bad = [(None, "p1", number, "v") for number in range(900, 1000)]
    rows = orders(*good, *bad)  # type: ignore[arg-type]
    options = {**OPTIONS, **IN_THREE, **report_to(tmp_path / "failed")}
    options["hoodie.bulkinsert.sort.mode"] = sort_mode
    result = write(spark, tmp_path / "table", rows, "bulk_insert", options)
    assert (result.records["inserted"], result.records["failed"]) == (900, 100)
    lost = pq.read_table(tmp_path / "failed")["row"].to_pylist()
    assert len(set(lost)) == len(lost) == 100
    assert rows_of(tmp_path / "table") == good


def test_a_data_frame_of_orc_files_has_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    options = {**OPTIONS, "hoodie.table.base.file.format": "ORC"}
    here.write(tmp_path / "t", many(range(9), 1, "old"), "insert", options)
    write(spark, tmp_path / "t", many(range(5, 12), 2, "new"))
    frame = pyhudi.spark.read(spark, tmp_path / "t")
    assert row_texts(arrow_of(frame)) == row_texts(pyhudi.read_table(tmp_path / "t"))
    assert frame.columns[5:] == SCHEMA.names
