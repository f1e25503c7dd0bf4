"""File slices, read: the rows of a base file as the log files of its slice change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.parquet import BATCH_ROWS
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.logs import KnownWrites, LogCounts, read_log_records
from pyhudi.fileslice.opener import OpenBaseFile, open_base, read_errors
from pyhudi.fileslice.reading import ArchivedWrites, SliceReading
from pyhudi.fileslice.span import CommitSpan
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.rows import MergedPart, merged_parts
from pyhudi.merge.partial import has_notes, own_names
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.metafields import COMMIT_TIME
from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSlice:
    """A file slice whose log files were read, and whose base file is open.

    ``base`` is None where the slice has no base file, or none with rows that are wanted.
    """

    reading: SliceReading
    records: LogRecords
    base: OpenBaseFile | None

    def parts(
        self,
        *,
        condition: RowCondition | None = None,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[MergedPart]:
        """The rows of the slice in parts, each of rows of one kind.

        Row groups that cannot meet the ``condition`` are left out only where no log record depends
        on the stored row that it changes: else one whose stored row was not read would be taken for
        a new row.

        Shapes: tables of the schema of ``records.rows``; rows that do not meet the ``condition``
            can be among them.
        """
        stored = self._stored(condition, batch_rows, keep_dictionaries=keep_dictionaries)
        return merged_parts(stored, self.records, self.reading.keys_of, self._rule)

    @property
    def _rule(self) -> MergeRule:
        return self.reading.rule.for_rows(self.records.rows.schema)

    def _stored(
        self, condition: RowCondition | None, batch_rows: int, *, keep_dictionaries: bool
    ) -> Iterator[pa.Table]:
        if self.base is None:
            return
        noted_schema, span = self.records.rows.schema, _span(self.reading, self.records)
        schema = pa.schema([noted_schema.field(name) for name in own_names(noted_schema)])
        since = None if span is None else span.condition
        if len(self.records) and self._rule.asks_stored_rows:
            condition = None
            if since is not None:
                condition = RowCondition(expression=since, columns=(COMMIT_TIME,), schema=schema)
        for rows in self.base.rows(
            schema, condition=condition, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
        ):
            yield rows if since is None else rows.filter(since)


def _span(reading: SliceReading, records: LogRecords) -> CommitSpan | None:
    """The commits whose rows alone are merged; None for all, as parts of rows need them."""
    return None if has_notes(records.rows.schema) else reading.span


@contextmanager
def open_slice(
    storage: Storage,
    found: FileSlice,
    reading: SliceReading,
    schema: pa.Schema,
    counts: LogCounts | None = None,
) -> Iterator[OpenSlice]:
    """Read the log files of a slice, and open its base file.

    Shapes: ``schema`` has the columns to read, in the table's types.

    Guarantees: holds the log records of the slice as far as their memory allows, the others lie on
        disk, and a batch of stored rows at a time.

    Raises:
        CorruptTableError: a file is damaged.
        UnsupportedError: a log block that is not read here.
        MissingFileError: a file was cleaned away.
        StorageError: a file cannot be read, or log records cannot be put on disk.
    """
    records = slice_records(storage, found, reading, schema, counts)
    file, base = found.base_file, None
    with ExitStack() as stack:
        # No row of a file is younger than the file.
        span = _span(reading, records)
        if file is not None and (span is None or span.may_begin_before(file.instant)):
            base = stack.enter_context(open_base(storage, file))
        yield OpenSlice(reading=reading, records=records, base=base)


def slice_records(
    storage: Storage,
    found: FileSlice,
    reading: SliceReading,
    schema: pa.Schema,
    counts: LogCounts | None = None,
) -> LogRecords:
    """What the log files of a slice say, one record a key; ``counts`` notes what they hold.

    Shapes, Raises: as ``open_slice``.
    """

    @contextmanager
    def open_log(path: str) -> Iterator[pa.NativeFile]:
        with read_errors(storage, path), storage.open_input(path) as source:
            yield source

    names = [log.path for log in found.log_files]
    known = known_writes(storage, found, reading.archived)
    return read_log_records(names, open_log, schema, reading, counts, known)


def known_writes(
    storage: Storage, found: FileSlice, archived: ArchivedWrites | None
) -> KnownWrites:
    """The committed writes of a slice's log files; without ``archived`` those still active."""
    return KnownWrites(
        active={log.path: log.writes for log in found.log_files if log.writes},
        archived=None if archived is None else partial(archived, storage),
    )


def slice_rows(
    storage: Storage,
    found: FileSlice,
    reading: SliceReading,
    schema: pa.Schema,
    *,
    condition: RowCondition | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.Table]:
    """The rows of a slice, some at a time.

    Shapes, Guarantees, Raises: as ``open_slice`` and its ``parts``.
    """
    with open_slice(storage, found, reading, schema) as opened:
        for part in opened.parts(condition=condition, batch_rows=batch_rows):
            yield part.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLogs:
    """The slices of a table whose log files change their rows, by the path of their base file.

    ``schema`` is the table's, meta columns included.
    """

    reading: SliceReading
    schema: pa.Schema
    slices: Mapping[str, FileSlice]

    def rows(
        self, storage: Storage, file: BaseFile, columns: Sequence[str]
    ) -> Iterator[pa.Table] | None:
        """The rows of the slice with this base file, some at a time; None when it has no logs.

        Shapes: at least the columns asked for and those that name records, in the table's types.
        """
        found = self.slices.get(file.path)
        if found is None:
            return None
        wanted = self.reading.columns(columns, self.schema.names)
        schema = pa.schema([field for field in self.schema if field.name in wanted])
        return slice_rows(storage, found, self.reading, schema)
