"""The rows to write, and those of Parquet files that the tasks read themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.basefile.encoding import repeating_texts
from pyhudi.errors import MissingSourceError, SourceError
from pyhudi.runner.runner import Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity

_BATCH_ROWS = 65_536
_SPLIT_BYTES = 128 << 20
# Spark wrote dates before 1582 into such a file as of the Julian calendar, and rebases them.
_LEGACY_CALENDARS = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}


class SourceRows(Protocol):
    """Rows to write, spread over the tasks that read them."""

    @property
    def schema(self) -> pa.Schema:
        """Their columns; any value may be null."""
        ...

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        """What a function makes of the rows of each task."""
        ...

    def in_large_tasks(self, most_bytes: int) -> SourceRows:
        """The same rows in the same order, in fewer tasks where that can be chosen."""
        ...

    def with_dictionaries(self, names: Iterable[str]) -> SourceRows:
        """The same rows, text columns among ``names`` dictionary-encoded where they lie so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Row groups of one Parquet file that one task reads."""

    path: str
    row_groups: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetRows:
    """Rows of plain Parquet files, by the tasks that read them.

    ``footers`` are those of the files; columns in ``encoded`` come dictionary-encoded.
    """

    runner: Runner
    tasks: tuple[tuple[Split, ...], ...]
    schema: pa.Schema
    footers: tuple[pq.FileMetaData, ...] = ()
    encoded: tuple[str, ...] = ()

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        """What a function makes of the batches that each task reads."""
        tasks, encoded = self.tasks, self.encoded

        def read_and_map(task: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
            batches = (batch for split in tasks[number] for batch in _read(split, encoded))
            yield from function(task, batches)

        return self.runner.tasks(len(tasks), read_and_map, schema)

    def with_dictionaries(self, names: Iterable[str]) -> ParquetRows:
        """The same rows with the text columns among ``names`` encoded that the files hold so."""
        found = {field.name for field in self.schema if field.type == pa.string()}
        found.intersection_update(names)
        for footer in self.footers:
            found = repeating_texts(footer, range(footer.num_row_groups), found)
        return replace(self, encoded=tuple(sorted(found)))

    def in_large_tasks(self, most_bytes: int) -> ParquetRows:
        """The same rows in the same order, one task a core or as many as this size asks for."""
        splits = [split for task in self.tasks for split in task]
        total = sum(split.size_bytes for split in splits)
        return replace(
            self, tasks=_joined(splits, min(most_bytes, -(-total // self.runner.parallelism)))
        )


def parquet_rows(runner: Runner, paths: Sequence[str]) -> ParquetRows | None:
    """The files as Parquet that tasks read themselves; None when Spark must read them.

    Spark must where it would do more than read: find partition columns in folder names, merge
    schemas, or turn types and calendars that Arrow reads otherwise.

    Raises:
        SourceError: a file cannot be read.
        MissingSourceError: there is none.
    """
    if any("=" in os.path.dirname(path) for path in paths):
        return None
    footers: list[tuple[str, pq.FileMetaData]] = []
    schema: pa.Schema | None = None
    for path in paths:
        try:
            footer = pq.read_metadata(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise SourceError(f"{path} cannot be read as Parquet: {error}") from error
        arrow = footer.schema.to_arrow_schema().remove_metadata()
        if schema is not None and not arrow.equals(schema):
            return None
        schema = arrow
        footers.append((path, footer))
    if schema is None:
        raise MissingSourceError("the source has no files")
    if any(_is_read_otherwise(kind) for kind in schema.types):
        return None
    if any(_LEGACY_CALENDARS & (footer.metadata or {}).keys() for _, footer in footers):
        return None
    schema = pa.schema([_nullable(field) for field in schema])
    target = _split_bytes(runner.parallelism, footers)
    tasks = _joined(_splits(footers, target), target)
    only = tuple(footer for _, footer in footers)
    return ParquetRows(runner=runner, tasks=tasks, schema=schema, footers=only)


def _nullable(field: pa.Field) -> pa.Field:
    """The field as Spark takes it from a file: any value may be null.

    Source: DataSource.resolveRelation (StructType.asNullable), Spark 3.5.
    """
    kind = field.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = pa.list_(_nullable(kind.value_field))
    elif pa.types.is_struct(kind):
        kind = pa.struct([_nullable(inner) for inner in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_type, _nullable(kind.item_field))
    return pa.field(field.name, kind)


def _is_read_otherwise(kind: pa.DataType) -> bool:
    """Types whose Spark reading differs from Arrow's: nanoseconds, unsigned longs, times of day."""
    if pa.types.is_timestamp(kind):
        return bool(kind.unit not in ("us", "ms"))
    if pa.types.is_nested(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return any(_is_read_otherwise(field.type) for field in fields)
    unread = (pa.types.is_uint64, pa.types.is_time, pa.types.is_duration)
    return any(test(kind) for test in unread)


def _split_bytes(cores: int, footers: Sequence[tuple[str, pq.FileMetaData]]) -> int:
    """How much one task reads: as much as Spark would give it.

    Source: FilePartition.maxSplitBytes, Spark 3.5.
    """
    total = sum(_size(f, group) for _, f in footers for group in range(f.num_row_groups))
    return int(min(_SPLIT_BYTES, max(4 << 20, -(-total // cores))))


def _splits(footers: Sequence[tuple[str, pq.FileMetaData]], target_bytes: int) -> tuple[Split, ...]:
    splits: list[Split] = []
    for path, footer in footers:
        groups: list[int] = []
        size = 0
        for group in range(footer.num_row_groups):
            if groups and size + _size(footer, group) // 2 > target_bytes:
                splits.append(Split(path=path, row_groups=tuple(groups), size_bytes=size))
                groups, size = [], 0
            groups.append(group)
            size += _size(footer, group)
        if groups:
            splits.append(Split(path=path, row_groups=tuple(groups), size_bytes=size))
    return tuple(splits)


def _joined(splits: Sequence[Split], target_bytes: int) -> tuple[tuple[Split, ...], ...]:
    """Neighbours together, about as much as asked."""
    tasks: list[list[Split]] = []
    size = target_bytes
    for split in splits:
        # Half of it beyond the size asked for is as near as none of it.
        if not tasks or size + split.size_bytes // 2 > target_bytes:
            tasks.append([])
            size = 0
        tasks[-1].append(split)
        size += split.size_bytes
    return tuple(map(tuple, tasks))


def _size(footer: pq.FileMetaData, group: int) -> int:
    row_group = footer.row_group(group)
    return sum(row_group.column(n).total_compressed_size for n in range(row_group.num_columns))


def _read(split: Split, encoded: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(split.path, read_dictionary=encoded) as file:
            yield from file.iter_batches(
                batch_size=_BATCH_ROWS, row_groups=list(split.row_groups), use_threads=False
            )
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{split.path} cannot be read as Parquet: {error}") from error
