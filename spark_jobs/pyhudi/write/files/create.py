"""New file groups."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.runner.task import TaskIdentity
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import BaseFileHandle
from pyhudi.write.incoming import IncomingRows

SLICE_ROWS = 65_536
# Files of one task that are open at once, and what they may hold in memory together: bloom filters,
# a byte a bit while they grow, and rows.
MOST_OPEN = 256
MOST_FILTER_BYTES = 224 << 20
MOST_HELD_BYTES = 192 << 20


class FileGroupWriter:
    """Writes rows of one partition to as many new base files as their size asks for.

    File ids are ``<prefix>-0``, ``<prefix>-1`` and so on.

    Source: HoodieLazyInsertIterable and CopyOnWriteInsertHandler, Hudi 0.15 (the next file opens
    when the last one has reached ``hoodie.parquet.max.file.size``).
    """

    def __init__(
        self, context: WriteContext, task: TaskIdentity, *, partition: str, file_id_prefix: str
    ) -> None:
        self._context, self._task, self._partition = context, task, partition
        self._prefix, self._next = file_id_prefix, 0
        self._handle: BaseFileHandle | None = None
        self.stats: list[WriteStat] = []

    def __enter__(self) -> FileGroupWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._finish()
        elif self._handle is not None:
            self._handle.__exit__(kind, error, trace)

    def write(self, rows: pa.Table) -> None:
        """Write rows; a file that has reached its size is finished and the next one opened.

        Shapes: the record key first, then the table's data columns.
        """
        for start in range(0, rows.num_rows, SLICE_ROWS):
            handle = self._open()
            part = rows.slice(start, SLICE_ROWS)
            handle.write_new(part)
            handle.counts.inserted += part.num_rows
            if handle.size_bytes >= self._context.max_file_size_bytes:
                self._finish()

    @property
    def held_bytes(self) -> int:
        """Bytes of rows in memory, which wait for their row group to be full."""
        return 0 if self._handle is None else self._handle.held_bytes

    def flush(self) -> None:
        """Write what is held, as a row group that is smaller than it might be."""
        if self._handle is not None:
            self._handle.flush()

    def _open(self) -> BaseFileHandle:
        if self._handle is None:
            file_id = f"{self._prefix}-{self._next}"
            self._next += 1
            self._handle = BaseFileHandle(
                self._context, self._task, partition=self._partition, file_id=file_id, previous=None
            ).__enter__()
        return self._handle

    def _finish(self) -> None:
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        handle.__exit__(None, None, None)
        self.stats.append(handle.stat)


class PartitionedWriter:
    """Writes rows of many partitions as they come, a file group a partition.

    At most ``MOST_OPEN`` files are open, and no more than ``MOST_FILTER_BYTES`` of bloom filters
    (86 files of Hudi's defaults): one more closes the one that was used longest ago, and rows that
    come for it later open another file group. Together they hold ``MOST_HELD_BYTES`` of rows at
    most: beyond that the fullest ends its row group early. Rows sorted by partition path never pay
    for either.

    Source: BulkInsertDataInternalWriterHelper, Hudi 0.15 (which keeps every file open).
    """

    def __init__(
        self, context: WriteContext, task: TaskIdentity, *, new_file_id_prefix: Callable[[], str]
    ) -> None:
        self._context, self._task, self._new_prefix = context, task, new_file_id_prefix
        self._open: OrderedDict[str, FileGroupWriter] = OrderedDict()
        filter_bytes = 1 if context.bloom is None else context.bloom.vector_size
        self._most_open = max(1, min(MOST_OPEN, MOST_FILTER_BYTES // filter_bytes))
        self.stats: list[WriteStat] = []

    def __enter__(self) -> PartitionedWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        while self._open:
            self._close(self._open.popitem(last=False)[1], error)

    def write(self, partition: str, rows: pa.Table) -> None:
        """Write rows of one partition.

        Shapes: the record key first, then the table's data columns.
        """
        writer = self._open.get(partition)
        if writer is None:
            if len(self._open) >= self._most_open:
                self._close(self._open.popitem(last=False)[1], None)
            writer = FileGroupWriter(
                self._context, self._task, partition=partition, file_id_prefix=self._new_prefix()
            )
            self._open[partition] = writer
        self._open.move_to_end(partition)
        writer.write(rows)
        if sum(each.held_bytes for each in self._open.values()) > MOST_HELD_BYTES:
            max(self._open.values(), key=lambda each: each.held_bytes).flush()

    def _close(self, writer: FileGroupWriter, error: BaseException | None) -> None:
        writer.__exit__(type(error), error, None)
        self.stats.extend(writer.stats)


def create_files(
    context: WriteContext, task: TaskIdentity, *, partition: str, file_id: str, rows: pa.Table
) -> Iterable[WriteStat]:
    """Write the rows of an insert bucket to a new file group; more than one if they outgrow it.

    Shapes: ``rows`` has the record key first, then the table's data columns.
    """
    incoming = IncomingRows.gather(rows, context)
    kept = incoming.rows
    if incoming.is_delete is not None:
        kept = kept.filter(pa.array(~incoming.is_delete))
    writer = FileGroupWriter(
        context, task, partition=partition, file_id_prefix=file_id.rpartition("-")[0]
    )
    with writer:
        writer.write(kept)
    stats = writer.stats
    if stats and incoming.is_delete is not None:
        # Hudi counts deletes of keys that are nowhere too.
        stats[0] = replace(stats[0], num_deletes=int(incoming.is_delete.sum()))
    return stats
