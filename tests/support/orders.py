"""A small table of orders: rows, options, and writing and serving it in this process."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import pyhudi
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.local_rows import LocalRows

Row = tuple[str, str, int | None, str]

SCHEMA = pa.schema({"id": pa.string(), "part": pa.string(), "ts": pa.int64(), "value": pa.string()})
# A bloom filter of usual size takes 400 KB of every file.
SMALL_FILES = {"hoodie.index.bloom.num_entries": "100"}
WAIT = "pyhudi.write.wait.seconds"
OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    # Who is in the way of another is told so at once, where a test does not say otherwise.
    WAIT: "0",
    **SMALL_FILES,
}
WITHOUT_ORDERING = {key: value for key, value in OPTIONS.items() if "precombine" not in key}
LOGGED = {**OPTIONS, "hoodie.datasource.write.table.type": "MERGE_ON_READ"}
NO_SMALL_FILES = {**LOGGED, "hoodie.parquet.small.file.limit": "0"}
OPERATION = "hoodie.datasource.write.operation"
DUE = {"hoodie.compact.inline.max.delta.commits": "1"}
HERE = environment_on(InProcessRunner())


def orders(*rows: Row) -> pa.Table:
    """Rows as (id, part, ts, value)."""
    columns = list(zip(*rows, strict=True)) if rows else [[]] * len(SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def many(keys: Iterable[int], ts: int, value: str, parts: int = 2) -> pa.Table:
    """A row for each number, spread over partitions p0, p1 …"""
    return orders(*((f"k{n:04d}", f"p{n % parts}", ts, value) for n in keys))


def marked(rows: pa.Table, *flags: bool | None) -> pa.Table:
    """The rows, those with a flag as deleted ones."""
    return rows.append_column("_hoodie_is_deleted", pa.array(flags, pa.bool_()))


def report_to(folder: Path) -> dict[str, str]:
    """Options of a write that saves the records that it cannot write."""
    return {"pyhudi.write.error.policy": "report", "pyhudi.write.error.path": str(folder)}


def write(
    table: Path,
    rows: pa.Table | None,
    operation: str = "upsert",
    options: Mapping[str, str] = OPTIONS,
    *others: pa.Table,
) -> JobResult:
    """Write the rows of tables, a task each; None is a request without a source."""
    source = None if rows is None else LocalRows.of(InProcessRunner(), rows, *others)
    return write_rows(HERE, source, str(table), {**options, OPERATION: operation})


def compact(table: Path, options: Mapping[str, str] | None = None, **asked: Any) -> JobResult:
    """Compact; ``asked`` is what else a request has."""
    request = CompactionRequest(base_path=str(table), hoodie_conf=options or {}, **asked)
    return compact_table(HERE, request)


def clean(table: Path, options: Mapping[str, str] | None = None, **asked: Any) -> JobResult:
    """Clean; ``asked`` is what else a request has."""
    request = CleanRequest(base_path=str(table), hoodie_conf=options or {}, **asked)
    return clean_table(HERE, request)


def rows_of(table: Path, **query: Any) -> list[Row]:
    """The rows of the table of orders, sorted."""
    return tuples(pyhudi.read_table(table, **query).select(SCHEMA.names))


def tuples(*tables: pa.Table) -> list[Row]:
    """The rows of tables as sorted tuples."""
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


def commit_of(table: Path, instant: str | None) -> dict[str, Any]:
    """What the completed instant of a write says."""
    (path,) = (table / ".hoodie").glob(f"{instant}.*commit")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def stats_of(table: Path, instant: str | None) -> list[dict[str, Any]]:
    """The write statistics of the commit at an instant."""
    by_partition = commit_of(table, instant)["partitionToWriteStats"]
    return [stat for stats in by_partition.values() for stat in stats]
