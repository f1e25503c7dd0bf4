"""Parquet files that tasks read themselves: which, cut how, and what is written of them."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.errors import SourceError
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.batch.source import ParquetRows, parquet_rows
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.local_source import local_files
from tests.support.orders import HERE, OPERATION, OPTIONS, SCHEMA, many, report_to, rows_of

NANOS = pa.list_(pa.timestamp("ns"))
JULIAN = {"org.apache.spark.legacyDateTime": ""}


def source_of(folder: Path, *tables: pa.Table, **settings: int) -> ParquetRows:
    """Rows of a file a table."""
    folder.mkdir()
    for number, rows in enumerate(tables):
        pq.write_table(rows, folder / f"{number:02}.parquet", **settings)
    found = parquet_rows(InProcessRunner(), local_files(str(folder)) or [])
    assert found is not None
    return found


def written(rows: ParquetRows, table: Path, operation: str, **more: str) -> JobResult:
    return write_rows(HERE, rows, str(table), {**OPTIONS, **more, OPERATION: operation})


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        pytest.param("day=1/x.parquet", pa.table({"a": [1]}), id="folder partitions"),
        pytest.param("x.parquet", pa.table({"b": [1]}), id="another schema"),
        pytest.param("x.parquet", pa.table({"a": pa.array([1], pa.uint64())}), id="large numbers"),
        pytest.param("x.parquet", pa.table({"a": pa.array([1], pa.time64("us"))}), id="times"),
        pytest.param("x.parquet", pa.table({"a": pa.array([[1]], NANOS)}), id="nanoseconds"),
        pytest.param("x.parquet", pa.table({"a": [1]}, metadata=JULIAN), id="an old calendar"),
    ],
)
def test_files_that_spark_reads_otherwise_are_left_to_it(tmp_path: Path, name: str, rows: pa.Table):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    is_other = rows.column_names == ["b"]
    pq.write_table(rows, tmp_path / name)
    pq.write_table(pa.table({"a": [1]}) if is_other else rows, tmp_path / "y.parquet")
    paths = [str(tmp_path / name), *([str(tmp_path / "y.parquet")] if is_other else [])]
    assert parquet_rows(InProcessRunner(), paths) is None


def test_a_source_without_files_or_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no files"):
        parquet_rows(InProcessRunner(), [])
    (tmp_path / "text.parquet").write_text("no parquet")
    with pytest.raises(SourceError, match=r"text\.parquet cannot be read as Parquet"):
        parquet_rows(InProcessRunner(), [str(tmp_path / "text.parquet")])


def test_a_bulk_insert_of_files_makes_few_of_its_own(tmp_path: Path) -> None:
    """As few as its cores leave, however many files the rows come in."""
    tables = [many(range(number, 4000, 16), 1, "x" * 50, parts=3) for number in range(16)]
    found = source_of(tmp_path / "source", *tables)
    size = sum(split.size_bytes for task in found.tasks for split in task)
    spread = replace(found, tasks=tuple((split,) for task in found.tasks for split in task))
    cores = found.runner.parallelism
    for most_bytes, least in ((1 << 40, cores), (size // 8, 7)):
        large = spread.in_large_tasks(most_bytes)
        assert least <= len(large.tasks) <= least + 2
        assert [split for task in large.tasks for split in task] == [s for (s,) in spread.tasks]
    assert written(spread, tmp_path / "table", "bulk_insert").files["created"] <= 3 * cores
    assert len(rows_of(tmp_path / "table")) == 4000


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC"])
def test_texts_that_repeat_are_written_as_if_each_row_had_its_own(tmp_path: Path, file_format: str):
    tables = []
    for number, colors in enumerate((["red", None, "blue"], ["green", "red", "\U0001d11e"])):
        names = [f"id{row}" for row in range(number * 2000, number * 2000 + 2000)]
        texts = [colors[row % 3] for row in range(2000)]
        parts, times = [f"p{row % 2}" for row in range(2000)], [row % 7 for row in range(2000)]
        arrays = [pa.array(column) for column in (names, parts, times, texts)]
        tables.append(pa.Table.from_arrays(arrays, names=SCHEMA.names))
    lost = pa.table({"id": [None], "part": ["p0"], "ts": [1], "value": ["red"]}, schema=SCHEMA)
    first = pa.concat_tables([lost, tables[0]])
    found = source_of(tmp_path / "source", first, tables[1], row_group_size=700)
    assert found.with_dictionaries(SCHEMA.names).encoded == ("part", "value")
    assert found.with_dictionaries(["id", "value"]).encoded == ("value",)
    more = {"hoodie.table.base.file.format": file_format, **report_to(tmp_path / "failed")}
    table, expected = tmp_path / "table", pa.concat_tables(tables).sort_by("id")
    assert written(found, table, "bulk_insert", **more).records["failed"] == 1
    (failed,) = pq.read_table(tmp_path / "failed")["row"].to_pylist()
    assert json.loads(failed) == {"id": None, "part": "p0", "ts": 1, "value": "red"}
    assert pyhudi.read_table(table).select(SCHEMA.names).sort_by("id").equals(expected)
    assert written(found, table, "upsert", **more).records["updated"] == 4000
    assert pyhudi.read_table(table).select(SCHEMA.names).sort_by("id").equals(expected)
