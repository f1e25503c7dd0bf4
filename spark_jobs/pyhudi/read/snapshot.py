"""The rows that a plan names, read with pyarrow alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.open import BaseFileReader, open_base_file
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.read import ReadConfig
from pyhudi.errors import CorruptTableError, MissingFileError, StorageError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.read.pruning import matching_row_groups, path_values
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.schema.evolution import reconcile
from pyhudi.storage.storage import Storage
from pyhudi.table.table import open_table

BATCH_ROWS = 65_536


def read_table(  # noqa: PLR0913 - one keyword for each thing a query can say
    path: str | os.PathLike[str],
    *,
    query_type: str = "snapshot",
    as_of: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Read a table, or what a query leaves of it, into memory.

    ``query_type`` is ``snapshot`` (the latest rows, or those ``as_of`` an instant),
    ``read_optimized`` (base files alone) or ``incremental`` (rows committed after ``begin``, up to
    and with ``end``). Instants are ``20260102030405678``, ``2026-01-02`` or
    ``2026-01-02 03:04:05.678`` in the table's timezone. ``filters`` is a condition on the rows, as
    in ``pyarrow.compute.field("price") > 10``; partitions, files and parts of files that cannot
    meet it are not read, nor are columns that neither it nor ``columns`` names.

    Shapes: the five meta columns, then the table's columns in schema order, or ``columns`` in
        theirs; rows in no order. Meta columns are null in a table that does not keep them.

    Raises:
        TableNotFoundError: no table at the path.
        RequestError: a column, filter or instant that the table has not.
        UnsupportedError: a kind of query or table that is not read here.
        MissingFileError: a file was cleaned away while it was wanted; a retry reads the new state.
    """
    query = ReadConfig.of(query_type=query_type, as_of=as_of, begin=begin, end=end)
    table = open_table(os.fspath(path), storage_options)
    plan = plan_read(table, query, columns=columns, filters=filters)

    # Few files are shared out by row groups, so that every core has something to do.
    shares = -(-pa.cpu_count() // max(1, len(plan.files)))
    work = [(file, share) for file in plan.files for share in range(shares)]

    def rows_of(item: tuple[BaseFile, int]) -> list[pa.Table]:
        file, share = item
        return list(read_file(table.storage, plan, file, share=share, shares=shares))

    with ThreadPoolExecutor(max_workers=pa.cpu_count()) as threads:
        parts = [part for found in threads.map(rows_of, work) for part in found]
    return pa.concat_tables([plan.result_schema.empty_table(), *parts])


def read_batches(  # noqa: PLR0913 - the same keywords
    path: str | os.PathLike[str],
    *,
    query_type: str = "snapshot",
    as_of: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> pa.RecordBatchReader:
    """Read what ``read_table`` reads, a batch at a time.

    The files are chosen at once and read as the batches are asked for.

    Guarantees: memory is bounded by a batch and a few pages of each column, whatever the table's
        size.
    Raises: as ``read_table``; MissingFileError while batches are read.
    """
    query = ReadConfig.of(query_type=query_type, as_of=as_of, begin=begin, end=end)
    table = open_table(os.fspath(path), storage_options)
    plan = plan_read(table, query, columns=columns, filters=filters)
    batches = (
        batch
        for file in plan.files
        for part in read_file(table.storage, plan, file)
        for batch in part.to_batches()
    )
    return pa.RecordBatchReader.from_batches(plan.result_schema, batches)


def read_file(
    storage: Storage, plan: ReadPlan, file: BaseFile, *, share: int = 0, shares: int = 1
) -> Iterator[pa.Table]:
    """The rows of one file that a plan asks for, or one share of them, some at a time.

    Shapes: ``plan.result_schema``; no empty tables. Each row is in exactly one of the ``shares``.
    """
    for rows in _stored_rows(storage, plan, file, slice(share, None, shares)):
        completed = _completed(rows, plan, file)
        if plan.filters is not None:
            completed = completed.filter(plan.filters)
        if completed.num_rows:
            yield completed.select(plan.columns)


def _stored_rows(
    storage: Storage, plan: ReadPlan, file: BaseFile, share: slice
) -> Iterator[pa.Table]:
    """The needed columns of the row groups that matter, as the file has them."""
    try:
        with storage.open_input(file.path) as source:
            reader = open_base_file(source, name=storage.absolute(file.path))
            groups = _row_groups(source, plan, reader)[share]
            if groups:
                names = _stored_columns(reader.schema, plan)
                yield from reader.iter_tables(names, groups, batch_rows=BATCH_ROWS)
    except MissingFileError as error:
        raise MissingFileError(
            f"{storage.absolute(file.path)} is gone: was it cleaned while the table was read? "
            "Retry to read the table as it is now",
            where=storage.uri,
        ) from error
    except (pa.ArrowInvalid, CorruptTableError) as error:
        title = BaseFileFormat(plan.config.base_file_format).title
        raise CorruptTableError(
            f"{storage.absolute(file.path)} is not a whole {title} file: {error}", where=storage.uri
        ) from error
    except OSError as error:
        raise StorageError(
            f"cannot read {storage.absolute(file.path)}: {error}", where=storage.uri
        ) from error


def _row_groups(source: pa.NativeFile, plan: ReadPlan, reader: BaseFileReader) -> list[int]:
    """The row groups that can hold rows the plan asks for."""
    found = None
    # Arrow does not tell the statistics of ORC files.
    has_statistics = isinstance(reader, ParquetReader)
    if has_statistics and plan.filters is not None and not set(plan.filtered) & set(plan.absent):
        found = matching_row_groups(source, plan.filters, plan.filtered, plan.schema)
    return list(range(reader.row_groups)) if found is None else found


def _stored_columns(found: pa.Schema, plan: ReadPlan) -> list[str]:
    names = [name for name in plan.held if name in found.names]
    # Without any column there would be no rows either, so one is read to count them.
    return names or [found.names[0]]


def _completed(rows: pa.Table, plan: ReadPlan, file: BaseFile) -> pa.Table:
    """The rows with every needed column, in the types of the plan."""
    held = reconcile(rows, pa.schema([plan.stored.field(name) for name in plan.held]))
    known = path_values(file.partition, plan.stored, plan.config) if plan.from_path else {}
    columns = []
    for name in plan.needed:
        kind = plan.schema.field(name).type
        if name in plan.held:
            column = held.column(name)
            columns.append(column if column.type == kind else column.cast(kind))
        else:
            columns.append(pa.repeat(known.get(name, pa.scalar(None, kind)), rows.num_rows))
    return pa.table(columns, schema=pa.schema([plan.schema.field(name) for name in plan.needed]))
