"""What is asked of a table, turned into the files and columns that answer it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.condition import RowCondition
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.keygen import TIMESTAMP, plain_class
from pyhudi.config.read import QueryType, ReadConfig
from pyhudi.config.table import TableConfig, TableType
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.reading import SliceReading
from pyhudi.read.pruning import filter_columns, matching_files, partition_filter, path_values
from pyhudi.read.retention import warn_of_no_rows
from pyhudi.read.span import Asked, asked_of
from pyhudi.schema.metafields import META_FIELDS, PARTITION_PATH
from pyhudi.table.row_sources import with_sources_there
from pyhudi.table.slice_reading import check_merger, slice_reading

if TYPE_CHECKING:
    from pyhudi.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """The files and columns that answer a query; nothing of them has been read yet.

    ``stored`` is the table's schema, ``schema`` the one rows are given in: the same columns, of
    which ``partition_text`` may have turned some to text. ``columns`` are those asked for, in that
    order, ``filtered`` those that ``filters`` looks at. Columns ``from_path`` lie in no file but in
    the partition path, ``absent`` ones are null whatever the files hold. ``slices`` are file groups
    whose rows their log files change, read as ``reading`` says; they are not among ``files``.
    """

    config: TableConfig
    files: tuple[BaseFile, ...]
    stored: pa.Schema
    schema: pa.Schema
    columns: tuple[str, ...]
    filters: pc.Expression | None
    filtered: tuple[str, ...]
    from_path: tuple[str, ...]
    absent: tuple[str, ...]
    slices: tuple[FileSlice, ...] = ()
    reading: SliceReading | None = None

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of the rows."""
        return pa.schema([self.schema.field(name) for name in self.columns])

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to have before rows are filtered, in schema order."""
        wanted = {*self.columns, *self.filtered}
        return tuple(name for name in self.schema.names if name in wanted)

    @property
    def held(self) -> tuple[str, ...]:
        """The needed columns whose values lie in the files."""
        elsewhere = {*self.from_path, *self.absent}
        return tuple(name for name in self.needed if name not in elsewhere)

    @property
    def condition(self) -> RowCondition | None:
        """By what row groups are left out; None where the files do not hold what is filtered."""
        if self.filters is None or set(self.filtered) & set(self.absent):
            return None
        return RowCondition(expression=self.filters, columns=self.filtered, schema=self.schema)


def plan_read(
    table: Table,
    query: ReadConfig,
    *,
    columns: Sequence[str] | None = None,
    filters: pc.Expression | None = None,
) -> ReadPlan:
    """Choose the files and columns that answer a query.

    Only partitions and files that can hold rows which pass ``filters`` are chosen; of a file its
    row groups are chosen when it is opened.

    Raises:
        UnsupportedError: a query, a kind of table or a table version that is not read here.
        RequestError: an unknown column, a filter that does not apply, an instant out of reach.
        ConflictError: an unfinished write belongs to the answer.
    """
    _refuse_unsupported(table, query)
    asked = asked_of(table, query)
    warn_of_no_rows(table, query)
    stored = table.schema(as_of=query.as_of)
    schema = partition_text(stored, table.config)
    rows = _row_filter(asked, filters)
    filtered = () if rows is None else filter_columns(rows, schema)
    chosen = _chosen_columns(schema, columns)
    is_kept = _partition_test(table, rows, filtered, schema)
    bases, slices = _files_and_slices(asked, query, is_kept)
    files = matching_files(bases, rows, schema, table.config)
    from_path = table.config.partition_fields if table.config.drop_partition_columns else ()
    if from_path:
        paths = {file.partition for file in files} | {each.partition for each in slices}
        _refuse_silent_paths(paths, stored, table)
    return ReadPlan(
        config=table.config,
        files=files,
        stored=stored,
        schema=schema,
        columns=chosen,
        filters=rows,
        filtered=filtered,
        from_path=from_path,
        absent=() if table.config.populate_meta_fields else META_FIELDS,
        slices=slices,
        reading=_slice_reading(asked, stored, query) if slices else None,
    )


def _files_and_slices(
    asked: Asked, query: ReadConfig, is_kept: Callable[[str], bool] | None
) -> tuple[tuple[BaseFile, ...], tuple[FileSlice, ...]]:
    """The base files that are read as they are, and the slices with log files to merge."""
    reads_logs = (
        asked.table.config.table_type is TableType.MERGE_ON_READ
        and query.query_type is not QueryType.READ_OPTIMIZED
    )
    held, as_of = replace(asked.table, skips_damaged=query.skip_damaged), asked.as_of
    files = held.files(is_kept=is_kept, as_of=as_of, span=asked.span, with_logs=reads_logs)
    if query.skip_damaged:
        bases = with_sources_there(asked.table.storage, files.base_files)
        files = replace(files, base_files=bases)
    if not reads_logs:
        return files.latest_base_files(as_of), ()
    found = files.latest_slices(as_of)
    alone = (each.base_file for each in found if not each.log_files)
    return (
        tuple(file for file in alone if file is not None),
        tuple(each for each in found if each.log_files),
    )


def _slice_reading(asked: Asked, schema: pa.Schema, query: ReadConfig) -> SliceReading:
    """How file slices are read for a query, now or as of an instant."""
    check_merger(asked.table, query.custom_merger)
    table = replace(asked.table, skips_damaged=query.skip_damaged)
    return slice_reading(table, schema, as_of=asked.as_of, span=asked.span, memory=query.memory)


def _partition_test(
    table: Table, rows: pc.Expression | None, filtered: Sequence[str], schema: pa.Schema
) -> Callable[[str], bool] | None:
    """Which partitions to look into; None for all, when nothing is asked of partitions."""
    if not {PARTITION_PATH, *table.config.partition_fields} & set(filtered):
        return None
    return partition_filter(rows, schema, table.config)


def _refuse_unsupported(table: Table, query: ReadConfig) -> None:
    config, where = table.config, table.storage.uri
    known = [each.value for each in BaseFileFormat]
    if config.base_file_format not in known:
        raise UnsupportedError(
            f"table {config.name} has base files in {config.base_file_format}; only those in "
            f"{' and '.join(known)} are read",
            where=where,
        )
    if query.query_type is QueryType.CDC:
        raise UnsupportedError(
            f"change data of table {config.name} cannot be read as yet; query_type can be "
            "snapshot, read_optimized or incremental",
            where=where,
        )


def _row_filter(asked: Asked, filters: pc.Expression | None) -> pc.Expression | None:
    """What was asked for, and for an incremental query the commits that are."""
    if asked.span is None:
        return filters
    changed = asked.span.condition
    return changed if filters is None else changed & filters


def partition_text(schema: pa.Schema, config: TableConfig) -> pa.Schema:
    """The schema with numbers and dates that a timestamp-based key generator goes by as text.

    The files hold them as they are; readers of Hudi on Spark give them as text, because the
    partition path, which they take for the column's value elsewhere, is text.

    Source: HoodieFileIndex and SparkHoodieTableFileIndex.partitionSchema, Hudi 1.1.
    """
    if plain_class(config.key_generator_class or "") != TIMESTAMP:
        return schema
    return pa.schema(
        [
            field.with_type(pa.string())
            if field.name in config.partition_fields and _is_shown_as_text(field.type)
            else field
            for field in schema
        ]
    )


def _is_shown_as_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date(kind))


def _chosen_columns(schema: pa.Schema, columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is None:
        return tuple(schema.names)
    unknown = [name for name in columns if name not in schema.names]
    if unknown or not columns:
        problem = f"has no column {', '.join(unknown)}" if unknown else "was asked for no column"
        raise RequestError(f"the table {problem}; it has {', '.join(schema.names)}")
    if len(set(columns)) < len(columns):
        raise RequestError(f"columns names a column twice: {', '.join(columns)}")
    return tuple(columns)


def _refuse_silent_paths(paths: Collection[str], schema: pa.Schema, table: Table) -> None:
    """Refuse partition columns that neither the files nor their paths state."""
    for path in sorted(paths):
        if not path_values(path, schema, table.config):
            raise UnsupportedError(
                f"table {table.config.name} keeps its partition columns "
                f"{', '.join(table.config.partition_fields)} in no file, and the path {path!r} "
                "does not state their values",
                where=table.storage.uri,
            )
