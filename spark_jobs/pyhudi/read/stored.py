"""The rows of base files as a plan needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.open import BaseFileReader, open_base_file
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import CorruptTableError, MissingFileError, StorageError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.read.pruning import matching_row_groups, path_values
from pyhudi.read.query import ReadPlan
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.storage.storage import Storage

BATCH_ROWS = 65_536


def stored_rows(
    storage: Storage,
    plan: ReadPlan,
    file: BaseFile,
    columns: Sequence[str],
    *,
    filters: pc.Expression | None,
    share: slice | None = None,
) -> Iterator[pa.Table]:
    """Columns of a base file in the table's types, some rows at a time.

    Row groups without a row that ``filters`` lets through are left out, going by their statistics;
    ``share`` picks among the others.

    Raises:
        MissingFileError: the file is gone.
        CorruptTableError: it is no whole file of its format.
    """
    target = pa.schema([plan.stored.field(name) for name in columns])
    try:
        with files_can_vanish(storage, file.path), storage.open_input(file.path) as source:
            reader = open_base_file(source, name=storage.absolute(file.path))
            groups = _row_groups(source, plan, reader, filters)
            if share is not None:
                groups = groups[share]
            if groups:
                names = _stored_columns(reader.schema, columns)
                for rows in reader.iter_tables(names, groups, batch_rows=BATCH_ROWS):
                    yield reconcile(rows, target) if columns else rows
    except (pa.ArrowInvalid, CorruptTableError) as error:
        title = BaseFileFormat(plan.config.base_file_format).title
        raise CorruptTableError(
            f"{storage.absolute(file.path)} is not a whole {title} file: {error}", where=storage.uri
        ) from error


@contextmanager
def files_can_vanish(storage: Storage, path: str) -> Iterator[None]:
    """Say of a file that is gone, or cannot be read, what happened to it.

    Raises:
        MissingFileError: it was cleaned since the plan was made.
        StorageError: any other failure to read it.
    """
    try:
        yield
    except MissingFileError as error:
        raise MissingFileError(
            f"{storage.absolute(path)} is gone: was it cleaned while the table was read? "
            "Retry to read the table as it is now",
            where=storage.uri,
        ) from error
    except OSError as error:
        raise StorageError(
            f"cannot read {storage.absolute(path)}: {error}", where=storage.uri
        ) from error


def asked_for(rows: pa.Table, plan: ReadPlan, partition: str) -> pa.Table:
    """Of rows with the plan's held columns those it asks for, with its columns in its types."""
    completed = _completed(rows, plan, partition)
    if plan.filters is not None:
        completed = completed.filter(plan.filters)
    return completed.select(plan.columns)


def _row_groups(
    source: pa.NativeFile, plan: ReadPlan, reader: BaseFileReader, filters: pc.Expression | None
) -> list[int]:
    """The row groups that can hold rows which a filter lets through."""
    found = None
    # Arrow does not tell the statistics of ORC files.
    has_statistics = isinstance(reader, ParquetReader)
    if has_statistics and filters is not None and not set(plan.filtered) & set(plan.absent):
        found = matching_row_groups(source, filters, plan.filtered, plan.schema)
    return list(range(reader.row_groups)) if found is None else found


def _stored_columns(found: pa.Schema, wanted: Sequence[str]) -> list[str]:
    names = [name for name in wanted if name in found.names]
    # Without any column there would be no rows either, so one is read to count them.
    return names or [found.names[0]]


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
