"""The rows of file slices whose log files change those of the base file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvariantError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.logfile.merge.records import LogRecords
from pyhudi.logfile.merge.rows import merged_rows
from pyhudi.logfile.slice_log import read_log_records
from pyhudi.read.query import ReadPlan
from pyhudi.read.stored import asked_for, files_can_vanish, stored_rows
from pyhudi.schema.metafields import COMMIT_TIME
from pyhudi.storage.storage import Storage
from pyhudi.table.log_merge import LogMerge


def read_slice(storage: Storage, plan: ReadPlan, found: FileSlice) -> Iterator[pa.Table]:
    """The rows of a slice with log files that a plan asks for, some at a time.

    Rows are filtered once they are merged. Row groups are left out by their statistics only where
    no log record depends on the stored row that it changes: else one whose stored row was not read
    would be taken for a new row. What lies outside a range of commits is not merged at all.

    Shapes: ``plan.result_schema``; no empty tables.

    Guarantees: holds the log records of the slice as far as its memory allows, the others lie on
        disk, and a batch of stored rows at a time.

    Raises:
        CorruptTableError: a file is damaged.
        UnsupportedError: a log block that is not read here.
        MissingFileError: a file was cleaned away.
        StorageError: a file cannot be read, or log records cannot be put on disk.
    """
    merge = plan.merge
    if merge is None:
        raise InvariantError("the plan says nothing of how log files are merged")
    records = _log_records(storage, plan, merge, found)
    stored = _stored(storage, plan, found, records)
    for rows in merged_rows(stored, records, merge.keys_of, merge.rule):
        asked = asked_for(rows, plan, found.partition)
        if asked.num_rows:
            yield asked


def _stored(
    storage: Storage, plan: ReadPlan, found: FileSlice, records: LogRecords
) -> Iterator[pa.Table]:
    """The stored rows to merge."""
    file, merge = found.base_file, plan.merge
    if file is None or merge is None:
        return
    since = None if merge.begin is None else pc.field(COMMIT_TIME) > merge.begin
    if merge.begin is not None and file.instant <= merge.begin:
        return  # No row of a file is younger than the file.
    is_free = len(records) == 0 or not merge.rule.asks_stored_rows
    filters = plan.filters if is_free else since
    columns = records.rows.schema.names
    for rows in stored_rows(storage, plan, file, columns, filters=filters):
        yield rows if since is None else rows.filter(since)


def _log_records(storage: Storage, plan: ReadPlan, merge: LogMerge, found: FileSlice) -> LogRecords:
    wanted = merge.columns(plan.held, plan.stored.names) - {*plan.from_path, *plan.absent}
    schema = pa.schema([field for field in plan.stored if field.name in wanted])

    @contextmanager
    def open_log(path: str) -> Iterator[pa.NativeFile]:
        with files_can_vanish(storage, path), storage.open_input(path) as source:
            yield source

    return read_log_records([log.path for log in found.log_files], open_log, merge.reading(schema))
