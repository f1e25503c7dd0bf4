"""How the log files of a table are merged with its base files, and slices read so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.basefile.open import open_base_file
from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.config.options.merging import MergeMode
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.filegroup.stored_keys import keys_of
from pyhudi.keys.generators import KeyGenerator
from pyhudi.logfile.merge.rows import merged_rows
from pyhudi.logfile.slice_log import LogReading, read_log_records
from pyhudi.merge.deletes import OPERATION_FIELD
from pyhudi.merge.resolve import default_values, stored_rule
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Column
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import COMMIT_TIME, RECORD_KEY, without_meta
from pyhudi.storage.storage import Storage
from pyhudi.table.keying import virtual_key_generator
from pyhudi.table.table import Table
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMerge:
    """How log files are read and merged with base files.

    Blocks of writes that are not committed on the ``timeline``, or are later than ``as_of``, do not
    count. With ``begin`` neither do they nor stored rows up to that instant: what changed after it
    is merged with itself alone. ``virtual_keys`` makes the record keys of rows in tables that keep
    none. ``memory`` is the room for the log records of a slice.

    Source: HoodieMergeOnReadSnapshotReader and MergeOnReadIncrementalRelation, Hudi 0.15 and 1.1
    (both filter base files and log blocks by the range before they merge).
    """

    rule: MergeRule
    timeline: Timeline
    as_of: str | None = None
    begin: str | None = None
    virtual_keys: KeyGenerator | None = None
    memory: MergeMemory = DEFAULT_MEMORY

    def columns(self, asked: Sequence[str], own: Sequence[str]) -> frozenset[str]:
        """The columns to read for rows of those asked for; ``own`` are all of the table.

        Columns that the table has not can be among them.
        """
        # A merger in Python sees whole rows.
        names = own if self.rule.mode is MergeMode.CUSTOM else asked
        keys = (RECORD_KEY,) if self.virtual_keys is None else self.virtual_keys.key_columns
        range_ends = () if self.begin is None else (COMMIT_TIME,)
        ordering = (path.partition(".")[0] for path in self.rule.ordering_fields)
        merged = (*self.rule.columns_to_merge(names), *ordering)
        deleting = (OPERATION_FIELD, *self.rule.deleting_columns)
        return frozenset((*asked, *keys, *range_ends, *deleting, *merged))

    def instant_test(self) -> Callable[[str], bool]:
        """Whether the blocks of an instant count, as a function."""
        is_committed = self.timeline.committed_test()

        def is_wanted(instant: str) -> bool:
            is_early = self.begin is not None and instant <= self.begin
            is_late = self.as_of is not None and instant > self.as_of
            return not is_early and not is_late and is_committed(instant)

        return is_wanted

    def keys_of(self, rows: pa.Table) -> Column:
        """The record keys of some rows."""
        return keys_of(rows, self.virtual_keys)

    def reading(self, schema: pa.Schema) -> LogReading:
        """How the log files of a slice are read for rows of a schema."""
        return LogReading(
            is_wanted=self.instant_test(),
            schema=schema,
            keys_of=self.keys_of,
            rule=self.rule,
            memory=self.memory,
        )


def log_merge(
    table: Table,
    schema: pa.Schema,
    *,
    as_of: str | None = None,
    begin: str | None = None,
    memory: MergeMemory = DEFAULT_MEMORY,
) -> LogMerge:
    """How the log files of a table are merged, now or as of an instant.

    Raises:
        UnsupportedError: records are merged by a rule that is not followed here.
    """
    config = table.config
    defaults = default_values(table.avro_schema(as_of))
    return LogMerge(
        rule=stored_rule(config, without_meta(schema), defaults=defaults),
        timeline=table.timeline,
        as_of=as_of,
        begin=begin,
        virtual_keys=None if config.populate_meta_fields else virtual_key_generator(config),
        memory=memory,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLogs:
    """The slices of a table whose log files change their rows, by the path of their base file.

    ``schema`` is the table's, meta columns included.
    """

    merge: LogMerge
    schema: pa.Schema
    slices: Mapping[str, FileSlice]

    def rows(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Iterator[pa.Table] | None:
        """The rows of the slice with this base file, some at a time; None when it has no logs.

        Shapes: at least the columns asked for and those that name records, in the table's types.
        """
        found = self.slices.get(path)
        if found is None or found.base_file is None:
            return None
        wanted = self.merge.columns(columns, self.schema.names)
        schema = pa.schema([field for field in self.schema if field.name in wanted])
        names = [log.path for log in found.log_files]
        records = read_log_records(names, storage.open_input, self.merge.reading(schema))
        stored = _stored(storage, found.base_file, schema)
        return merged_rows(stored, records, self.merge.keys_of, self.merge.rule)


def slice_logs(table: Table, slices: Iterable[FileSlice], memory: MergeMemory) -> SliceLogs:
    """Those of some slices of a table that have log files; ``memory`` is the room for each."""
    schema = table.schema()
    return SliceLogs(
        merge=log_merge(table, schema, memory=memory),
        schema=schema,
        slices={
            found.base_file.path: found
            for found in slices
            if found.base_file is not None and found.log_files
        },
    )


def _stored(storage: Storage, file: BaseFile, schema: pa.Schema) -> Iterator[pa.Table]:
    with storage.open_input(file.path) as source:
        reader = open_base_file(source, name=storage.absolute(file.path))
        for rows in reader.iter_tables(schema.names):
            yield reconcile(rows, schema)
