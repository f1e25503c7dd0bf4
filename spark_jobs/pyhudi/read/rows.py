"""The rows that a plan asks for, of one base file or of one file slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from pyhudi.errors import InvariantError
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.opener import open_base
from pyhudi.fileslice.reader import slice_rows
from pyhudi.read.pruning import path_values
from pyhudi.read.query import ReadPlan
from pyhudi.storage.storage import Storage

_BATCH_ROWS = 65_536


def read_file(
    storage: Storage,
    plan: ReadPlan,
    file: BaseFile,
    *,
    share: int = 0,
    shares: int = 1,
    threads: bool = False,
) -> Iterator[pa.Table]:
    """The rows of one base file that a plan asks for, or one share of them, some at a time.

    With ``threads`` its columns may be read beside each other.

    Shapes: ``plan.result_schema``; no empty tables. Each row is in exactly one of the ``shares``.

    Raises:
        MissingFileError: the file is gone.
        CorruptTableError: it is no whole file of its format.
    """
    schema = pa.schema([plan.stored.field(name) for name in plan.held])
    with open_base(storage, file, threads=threads) as base:
        rows = base.rows(
            schema,
            condition=plan.condition,
            share=slice(share, None, shares),
            batch_rows=_BATCH_ROWS,
        )
        yield from _asked_for(rows, plan, file.partition)


def read_slice(storage: Storage, plan: ReadPlan, found: FileSlice) -> Iterator[pa.Table]:
    """The rows of a slice with log files that a plan asks for, some at a time.

    Rows are filtered once they are merged. What lies outside a range of commits is not merged at
    all.

    Shapes: ``plan.result_schema``; no empty tables.
    Guarantees, Raises: as ``open_slice``.
    """
    reading = plan.reading
    if reading is None:
        raise InvariantError("the plan says nothing of how log files are merged")
    wanted = reading.columns(plan.held, plan.stored.names) - {*plan.from_path, *plan.absent}
    schema = pa.schema([field for field in plan.stored if field.name in wanted])
    rows = slice_rows(
        storage, found, reading, schema, condition=plan.condition, batch_rows=_BATCH_ROWS
    )
    yield from _asked_for(rows, plan, found.partition)


def _asked_for(parts: Iterable[pa.Table], plan: ReadPlan, partition: str) -> Iterator[pa.Table]:
    """Of rows with the plan's held columns those it asks for, with its columns in its types."""
    for rows in parts:
        completed = _completed(rows, plan, partition)
        if plan.filters is not None:
            completed = completed.filter(plan.filters)
        if completed.num_rows:
            yield completed.select(plan.columns)


def _completed(rows: pa.Table, plan: ReadPlan, partition: str) -> pa.Table:
    """The rows with every needed column, in the types of the plan."""
    known = path_values(partition, plan.stored, plan.config) if plan.from_path else {}
    columns = []
    for name in plan.needed:
        kind = plan.schema.field(name).type
        if name in plan.held:
            column = rows.column(name)
            columns.append(column if column.type == kind else column.cast(kind))
        else:
            columns.append(pa.repeat(known.get(name, pa.scalar(None, kind)), rows.num_rows))
    return pa.table(columns, schema=pa.schema([plan.schema.field(name) for name in plan.needed]))
