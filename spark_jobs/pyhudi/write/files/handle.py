"""One base file while it is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.bloom.filter import BloomFilter
from pyhudi.basefile.writer import BaseFileWriter, format_of
from pyhudi.errors import InvariantError
from pyhudi.filegroup.names import base_file_name, file_path
from pyhudi.filegroup.slices import BaseFile
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import FILE_NAME
from pyhudi.storage.storage import located_output
from pyhudi.transaction.markers import MarkerType, leave_marker
from pyhudi.write.context import WriteContext
from pyhudi.write.files.partition import ensure_partition
from pyhudi.write.new_rows import constant, new_rows


@dataclass(slots=True)
class RowCounts:
    """How many rows of one file were kept, changed, added, deleted, and older than stored ones."""

    kept: int = 0
    updated: int = 0
    inserted: int = 0
    deleted: int = 0
    ignored: int = 0


class BaseFileHandle:
    """Writes one base file of a file group: marker first, then rows, then its statistics.

    Leaving the context normally finishes the file and fills ``stat``; leaving it by an error
    closes and deletes what was written.

    Guarantees: nothing here is visible to readers before the instant completes; a crash leaves the
    marker, by which the file is found and deleted.
    Source: HoodieCreateHandle and HoodieMergeHandle, Hudi 0.15 and 1.1 (order of steps, meta
    columns, statistics).
    """

    def __init__(
        self,
        context: WriteContext,
        task: TaskIdentity,
        *,
        partition: str,
        file_id: str,
        previous: BaseFile | None,
        previous_bloom: BloomFilter | None = None,
    ) -> None:
        self._context, self._task, self._previous_bloom = context, task, previous_bloom
        self._partition, self._file_id, self._previous = partition, file_id, previous
        kind = format_of(context.encoding)
        self.name = base_file_name(file_id, task.write_token, context.instant, kind)
        self.path = file_path(partition, self.name)
        self.counts = RowCounts()
        self._stat: WriteStat | None = None
        self._started = time.perf_counter()
        self._seconds_at_work = 0.0
        self._rows_made = 0

    def __enter__(self) -> BaseFileHandle:
        with self._at_work():
            self._open()
        return self

    def _open(self) -> None:
        context = self._context
        if self._previous is None:
            ensure_partition(context.storage, self._partition, context.instant)
        kind = MarkerType.CREATE if self._previous is None else MarkerType.MERGE
        leave_marker(context.storage, context.instant, self.path, kind)
        self._sink = context.storage.open_output(self.path)
        self._writer = BaseFileWriter(
            self._sink,
            context.schema,
            context.avro_schema,
            context.encoding,
            context.bloom,
            previous_bloom=self._previous_bloom,
        )

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.abandon()
            self._context.storage.delete(self.path)
            return
        with self._at_work():
            self._writer.close()
        self._stat = self._statistics()

    @property
    def stat(self) -> WriteStat:
        """The statistics of the file, once it is finished."""
        if self._stat is None:
            raise InvariantError(f"{self.path} has no statistics before it is finished")
        return self._stat

    @property
    def size_bytes(self) -> int:
        """About how large the file would be if it were closed now."""
        return self._writer.estimated_size

    @property
    def held_bytes(self) -> int:
        """Bytes of rows in memory, which wait for their row group to be full."""
        return self._writer.held_bytes

    def flush(self) -> None:
        """Write what is held, as a row group that is smaller than it might be."""
        with self._at_work():
            self._writer.flush()

    def write_kept(self, rows: pa.Table) -> None:
        """Write rows of the previous version as they are; only their file name is renewed.

        Shapes: the table's schema, meta columns included.
        """
        self.write_stored(rows, has_stored_keys=True)
        self.counts.kept += rows.num_rows

    def write_stored(self, rows: pa.Table, *, has_stored_keys: bool) -> None:
        """Write rows that have their meta columns; only their file name is renewed.

        ``has_stored_keys`` says that their keys are in the previous version. Nothing is counted.

        Shapes: the table's schema, meta columns included.
        """
        with self._at_work():
            if self._context.has_meta_columns:
                position = rows.schema.get_field_index(FILE_NAME)
                rows = rows.set_column(position, FILE_NAME, constant(self.name, rows.num_rows))
            else:
                # Source: HoodieAvroFileWriter.writeAvro without meta fields, Hudi 1.1.
                rows = self._with_meta_columns(rows)
            self._writer.write(rows, is_kept=has_stored_keys)

    def write_new(self, rows: pa.Table, *, has_stored_keys: bool = False) -> None:
        """Write rows of this instant with meta columns of their own.

        ``has_stored_keys`` says that they replace rows of the previous version.

        Shapes: the record key first, then the table's data columns.
        """
        with self._at_work():
            self._writer.write(self._with_meta_columns(rows), is_kept=has_stored_keys)
        self._rows_made += rows.num_rows
        self._context.tell(self.path, self._rows_made, 0)

    def _with_meta_columns(self, rows: pa.Table) -> pa.Table:
        return new_rows(
            self._context,
            self._task,
            rows,
            partition=self._partition,
            file_name=self.name,
            first=self._rows_made,
        )

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Time that is this file's own: a bulk insert has many open and writes to them in turns."""
        started = time.perf_counter()
        with located_output(self._context.storage.absolute(self.path)):
            yield
        self._seconds_at_work += time.perf_counter() - started

    def _statistics(self) -> WriteStat:
        counts = self.counts
        size = self._writer.bytes_written
        is_new = self._previous is None
        seconds = self._seconds_at_work if is_new else time.perf_counter() - self._started
        milliseconds = int(seconds * 1000)
        return WriteStat(
            file_id=self._file_id,
            path=self.path,
            prev_commit="null" if self._previous is None else self._previous.instant,
            num_writes=counts.kept + counts.updated + counts.inserted,
            num_deletes=counts.deleted,
            num_update_writes=counts.updated,
            num_inserts=counts.inserted,
            total_write_bytes=size,
            partition_path=self._partition,
            file_size_bytes=size,
            total_upsert_time=0 if is_new else milliseconds,
            total_create_time=milliseconds if is_new else 0,
            num_ignored=counts.ignored,
        )
