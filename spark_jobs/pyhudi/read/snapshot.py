"""The rows that a plan names, read with pyarrow alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.option import option_texts
from pyhudi.config.read import ReadConfig
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.table.table import open_table

# Opening a file once more is worth less than reading this much.
_SHARED_BYTES = 8 << 20


def read_table(  # noqa: PLR0913 - one keyword for each thing a query can say
    path: str | os.PathLike[str],
    *,
    query_type: str = "snapshot",
    as_of: str | date | None = None,
    begin: str | date | None = None,
    end: str | date | None = None,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    custom_merger: str | None = None,
    merge_memory: int | None = None,
    skip_damaged: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> pa.Table:
    """Read a table, or what a query leaves of it, into memory.

    ``query_type`` is ``snapshot`` (the latest rows, or those ``as_of`` an instant),
    ``read_optimized`` (base files alone) or ``incremental`` (rows committed after ``begin``, up to
    and with ``end``). They say when rows were committed: as ``20260102030405678``, ``2026-01-02``,
    ``2026-01-02 03:04``, ``2026-01-02T03:04:05+01:00``, or as a ``datetime`` or ``date``; a time
    without a zone is in that of the table's timeline, UTC or else the local one, and one without
    milliseconds means the last of its second. ``filters`` is a condition on the rows, as
    in ``pyarrow.compute.field("price") > 10``; partitions, files and parts of files that cannot
    meet it are not read, nor are columns that neither it nor ``columns`` names.

    Shapes: the five meta columns, then the table's columns in schema order, or ``columns`` in
        theirs; rows in no order. Meta columns are null in a table that does not keep them.

    The rows of a merge-on-read table are its base files with their log files merged in; without
    these it is read by ``read_optimized``. Where a Python class merges them, ``custom_merger`` has
    to name it, as writes do. The log records of a file slice, of which each thread merges one, take
    up to ``merge_memory`` bytes, 1 GiB without it; what goes beyond waits in a temporary file.

    Files are held against what the table's commits say of them; with ``skip_damaged`` what was
    committed and is gone or damaged is passed over, so that its rows are missing or older.

    Raises:
        TableNotFoundError: no table at the path.
        CorruptTableError: a file that was committed is gone, cut short or damaged.
        RequestError: a column, filter or instant that the table has not.
        UnsupportedError: a kind of query or table that is not read here.
        MissingFileError: a file was cleaned away while it was wanted; a retry reads the new state.
        StorageError: a file cannot be read, or the disk has no room for log records.
    """
    table = open_table(os.fspath(path), option_texts(storage_options, name="storage_options"))
    query = ReadConfig.of(
        query_type=query_type,
        as_of=as_of,
        begin=begin,
        end=end,
        custom_merger=custom_merger,
        merge_memory=merge_memory,
        skip_damaged=skip_damaged,
        zone=table.config.timezone,
    )
    plan = plan_read(table, query, columns=columns, filters=filters)

    reads: list[Callable[[], Iterator[pa.Table]]] = [
        partial(read_slice, table.storage, plan, each) for each in plan.slices
    ]
    reads += [
        partial(read_file, table.storage, plan, file, share=share, shares=shares)
        for file, shares in zip(plan.files, _shares(plan, pa.cpu_count()), strict=True)
        for share in range(shares)
    ]
    with ThreadPoolExecutor(max_workers=pa.cpu_count()) as threads:
        found = threads.map(lambda read: list(read()), reads)
        parts = [part for tables in found for part in tables]
    return pa.concat_tables([plan.result_schema.empty_table(), *parts])


def _shares(plan: ReadPlan, cores: int) -> Iterator[int]:
    """By how many threads each file is read, row groups shared out, so that no core is left idle.

    That is one, but for those last files that are fewer than the cores; where others are read
    before them only if they are large.
    """
    count = len(plan.slices) + len(plan.files)
    last = count % cores
    for place, file in enumerate(plan.files, start=len(plan.slices)):
        is_worth_it = count < cores or file.bytes_to_read >= _SHARED_BYTES
        yield -(-cores // last) if place >= count - last and is_worth_it else 1


def read_batches(  # noqa: PLR0913 - the same keywords
    path: str | os.PathLike[str],
    *,
    query_type: str = "snapshot",
    as_of: str | date | None = None,
    begin: str | date | None = None,
    end: str | date | None = None,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    custom_merger: str | None = None,
    merge_memory: int | None = None,
    skip_damaged: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> pa.RecordBatchReader:
    """Read what ``read_table`` reads, a batch at a time.

    The files are chosen at once and read as the batches are asked for, one after the other; of a
    file without log files the columns are read beside each other.

    Guarantees: memory is bounded by a batch, a few pages of each column and, up to
        ``merge_memory`` bytes, the log records of one file slice, whatever the table's size.
    Raises: as ``read_table``; MissingFileError while batches are read.
    """
    table = open_table(os.fspath(path), option_texts(storage_options, name="storage_options"))
    query = ReadConfig.of(
        query_type=query_type,
        as_of=as_of,
        begin=begin,
        end=end,
        custom_merger=custom_merger,
        merge_memory=merge_memory,
        skip_damaged=skip_damaged,
        zone=table.config.timezone,
    )
    plan = plan_read(table, query, columns=columns, filters=filters)
    parts = chain(
        *(read_slice(table.storage, plan, each) for each in plan.slices),
        *(read_file(table.storage, plan, file, threads=True) for file in plan.files),
    )
    batches = (batch for part in parts for batch in part.to_batches())
    return pa.RecordBatchReader.from_batches(plan.result_schema, batches)
