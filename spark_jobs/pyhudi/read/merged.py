"""The rows of file slices whose log files change those of the base file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from pyhudi.errors import InvariantError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.logfile.merging import merged_rows
from pyhudi.logfile.records import LogRecords
from pyhudi.logfile.slice_log import LogReading, read_log_records
from pyhudi.read.merge_plan import LogMerge
from pyhudi.read.query import ReadPlan
from pyhudi.read.stored import asked_for, files_can_vanish, stored_rows
from pyhudi.storage.storage import Storage


def read_slice(storage: Storage, plan: ReadPlan, found: FileSlice) -> Iterator[pa.Table]:
    """The rows of a slice with log files that a plan asks for, some at a time.

    Rows are filtered once they are merged. Row groups are left out by their statistics only where
    no log record depends on the stored row that it changes: else one whose stored row was not read
    would be taken for a new row.

    Shapes: ``plan.result_schema``; no empty tables.

    Guarantees: holds the log records of the slice, and a batch of stored rows at a time.
    Raises:
        CorruptTableError: a file is damaged.
        UnsupportedError: a log block that is not read here.
        MissingFileError: a file was cleaned away.
    """
    merge = plan.merge
    if merge is None:
        raise InvariantError("the plan says nothing of how log files are merged")
    records = _log_records(storage, plan, merge, found)
    columns = records.rows.schema.names
    prunes = not (len(records) and merge.rule.asks_stored_rows)
    stored: Iterator[pa.Table] = iter(())
    if found.base_file is not None:
        stored = stored_rows(storage, plan, found.base_file, columns, prunes=prunes)
    for rows in merged_rows(stored, records, merge.keys_of, merge.rule):
        asked = asked_for(rows, plan, found.partition)
        if asked.num_rows:
            yield asked


def _log_records(
    storage: Storage, plan: ReadPlan, merge: LogMerge, found: FileSlice
) -> LogRecords:
    wanted = {*merge.columns(plan.held)} - {*plan.from_path, *plan.absent}
    schema = pa.schema([field for field in plan.stored if field.name in wanted])
    how = LogReading(
        is_committed=merge.timeline.committed_test(),
        as_of=merge.as_of,
        schema=schema,
        keys_of=merge.keys_of,
        rule=merge.rule,
    )

    @contextmanager
    def open_log(path: str) -> Iterator[pa.NativeFile]:
        with files_can_vanish(storage, path), storage.open_input(path) as source:
            yield source

    return read_log_records([log.path for log in found.log_files], open_log, how)
