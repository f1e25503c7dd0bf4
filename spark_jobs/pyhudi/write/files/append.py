"""Log files: rows and deletes appended to a file group, its base file left as it is."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.config.options.logs import LogDataFormat
from pyhudi.config.options.merging import MergeMode
from pyhudi.filegroup.names import file_path
from pyhudi.filegroup.slices import AppendTarget
from pyhudi.logfile.avro.encode import encode_records
from pyhudi.logfile.avro.rows import CONTENT_VERSION
from pyhudi.logfile.deletes.blocks import Deletes, encode_deletes
from pyhudi.logfile.deletes.new import joined_deletes, ordered_deletes, unconditional_deletes
from pyhudi.logfile.framing import BlockKind, HeaderKey, frame_of
from pyhudi.logfile.positions import position_headers
from pyhudi.merge.deletes import SOFT_DELETE
from pyhudi.merge.ordering import ordering_columns
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema import avro
from pyhudi.schema.columns import Positions, one_array, text_buffers
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.storage.storage import located_output
from pyhudi.transaction.markers import MarkerType, leave_marker
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import RowCounts
from pyhudi.write.files.partition import ensure_partition
from pyhudi.write.files.placed import PlacedRows
from pyhudi.write.incoming import IncomingRows
from pyhudi.write.new_rows import new_rows

_CHUNK_ROWS = 65_536
_CHUNK_BYTES = 64 << 20
_SAMPLE_ROWS = 1_000


def append_rows(
    context: WriteContext,
    task: TaskIdentity,
    target: AppendTarget,
    rows: pa.Table,
    *,
    moved_keys: pa.Array | None = None,
    stored_rows: Positions | None = None,
) -> list[WriteStat]:
    """Append the rows of one file group to its log: data blocks, then one delete block.

    Rows that delete their key become delete records, with their ordering values where the table's
    rule compares them; so do ``moved_keys``, whose records went to another file group, and
    which go whatever is stored. Where all records of a kind have a row in the base file, they are
    in its order and their blocks say which row each is.

    Shapes: ``rows`` has the record key first, then the table's data columns; ``stored_rows`` the
        number of the stored row of each key, negative where no single row has it.
    Guarantees: beside the incoming rows one encoded block is held in memory. A crash leaves the
        marker of each log file, by which its blocks are found and undone.
    Source: HoodieAppendHandle, Hudi 0.15 and 1.1.
    """
    incoming = IncomingRows.gather(rows, context)
    found = PlacedRows.of(incoming, rows, stored_rows)
    is_delete = incoming.is_delete
    if is_delete is None or _is_left_to_merger(context):
        is_delete = np.zeros(len(incoming.keys), dtype=bool)
    gone, kept = found.where(is_delete), found.where(~is_delete)
    with SliceLog(context, task, target) as log:
        if not context.is_deleting:
            with_meta_columns = _with_meta_columns(context, task, target, kept.rows)
            log.write_rows(with_meta_columns, kept.positions)
        deletes = _deletes(context, gone.rows, moved_keys, target.partition)
        is_placed = len(deletes) == gone.rows.num_rows
        log.write_deletes(deletes, gone.positions if is_placed else None)
    return log.stats


def _with_meta_columns(
    context: WriteContext, task: TaskIdentity, target: AppendTarget, rows: pa.Table
) -> Iterator[pa.Table]:
    first = 0
    for chunk in chunks(rows):
        yield new_rows(
            context, task, chunk, partition=target.partition, file_name=target.file_id, first=first
        )
        first += chunk.num_rows


def _is_left_to_merger(context: WriteContext) -> bool:
    """Whether rows that say of themselves that they delete are for a custom merger to judge."""
    return context.rule.mode is MergeMode.CUSTOM and SOFT_DELETE in context.schema.names


def _deletes(
    context: WriteContext, rows: pa.Table, moved_keys: pa.Array | None, partition: str
) -> Deletes:
    """The delete records of a file group: those of moved keys, then of rows, in their order."""
    gone = pa.array([], pa.string()) if moved_keys is None else moved_keys.cast(pa.string())
    if not rows.num_rows:
        return unconditional_deletes(gone, partition)
    keys = one_array(rows.column(RECORD_KEY)).cast(pa.string())
    if context.is_deleting:
        return unconditional_deletes(pa.concat_arrays([gone, keys]), partition)
    # By commit time a delete holds whatever it meets: a value would have Hudi 0.15 weigh it.
    is_weighed = context.rule.mode is not MergeMode.COMMIT_TIME
    paths = context.rule.ordering_fields if is_weighed else ()
    orderings = [one_array(each) for each in ordering_columns(rows, paths)]
    return joined_deletes(
        [unconditional_deletes(gone, partition), ordered_deletes(keys, partition, orderings)]
    )


@dataclass(slots=True)
class _LogFile:
    """One log file while it is written, and the counts of its rows."""

    path: str
    version: int
    sink: pa.NativeFile
    size_bytes: int = 0
    counts: RowCounts = field(default_factory=RowCounts)
    started: float = field(default_factory=time.perf_counter)


class SliceLog:
    """The log files that one task appends to a slice; leaving by an error deletes them.

    Every block has the ``header`` beside its instant and schema.
    """

    def __init__(
        self,
        context: WriteContext,
        task: TaskIdentity,
        target: AppendTarget,
        header: Mapping[int, str] | None = None,
    ) -> None:
        self._names_write = context.version.logs_name_their_write
        self._context, self._task, self._target = context, task, target
        self._begins_group = not (target.log_files or target.base_file)
        self._base_instant = target.base_file_instant
        if self._names_write:
            self._target = target.of_write(context.instant)
        self._header = {
            HeaderKey.INSTANT_TIME: context.instant,
            HeaderKey.SCHEMA: avro.dumps(context.avro_schema),
            **(header or {}),
        }
        self._next_version = self._target.next_version
        # Whether a row is older than the stored one is known to whoever reads both.
        self._is_weighed_later = context.rule.may_keep_stored and not context.is_deleting
        self._open: _LogFile | None = None
        self._names: list[str] = list(self._target.log_files)
        self.stats: list[WriteStat] = []

    def __enter__(self) -> SliceLog:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._finish()
            return
        paths = [stat.path for stat in self.stats if stat.path]
        if self._open is not None:
            with suppress(OSError, pa.ArrowException):
                getattr(self._open.sink, "abandon", self._open.sink.close)()
            paths.append(self._open.path)
        for path in paths:
            self._context.storage.delete(path)

    def write_rows(self, parts: Iterable[pa.Table], positions: Positions | None = None) -> None:
        """Write rows, some at a time, in data blocks of the size that the options say.

        Shapes: tables of the columns of the table's schema, meta columns included; ``positions``
            are the row numbers of all of them in the base file, ascending, each once.
        Source: HoodieAppendHandle.flushToDiskIfRequired, Hudi 0.15 (how the average goes on).
        """
        block = _Block(positions=positions)
        is_avro = self._context.logs.data_format is LogDataFormat.AVRO
        average = 0.0
        for part in parts:
            start = 0
            while start < part.num_rows:
                if not average:
                    average = self._record_bytes(part.slice(0, _SAMPLE_ROWS))
                room = max(1, int(self._context.logs.block_size / average)) - block.records
                piece = part.slice(start, room)
                start += piece.num_rows
                block.add(self._encoded(piece) if is_avro else piece)
                average = 0.8 * average + 0.2 * block.last_bytes / piece.num_rows
                if block.records >= int(self._context.logs.block_size / average):
                    self._flush(block)
        self._flush(block)

    def write_deletes(self, deletes: Deletes, positions: Positions | None = None) -> None:
        """Write the delete block, which follows all rows, unless there are no deletes.

        Shapes: ``positions`` as for ``write_rows``.
        """
        if not len(deletes):
            return
        file = self._append(BlockKind.DELETE, [encode_deletes(deletes)], positions)
        file.counts.deleted += len(deletes)

    def _record_bytes(self, sample: pa.Table) -> float:
        if self._context.logs.data_format is LogDataFormat.AVRO:
            sample_bytes = self._encoded(sample).nbytes
        else:
            sample_bytes = sample.nbytes
        return max(1.0, float(sample_bytes / sample.num_rows))

    def _encoded(self, rows: pa.Table) -> pa.BinaryArray:
        return encode_records(rows, self._context.avro_schema)

    def _flush(self, block: _Block) -> None:
        if not block.records:
            return
        if self._context.logs.data_format is LogDataFormat.AVRO:
            head = struct.pack(">ii", CONTENT_VERSION, block.records)
            content = [head, *map(_content, block.parts)]
            file = self._append(BlockKind.AVRO, content, block.own_positions)
        else:
            content = [self._parquet(block.parts)]
            file = self._append(BlockKind.PARQUET, content, block.own_positions)
        # Every row goes to a file group that is there; whether its key is, nobody looked.
        file.counts.updated += block.records
        block.clear()

    def _parquet(self, parts: Sequence[pa.Table]) -> pa.Buffer:
        context, sink = self._context, pa.BufferOutputStream()
        with BaseFileWriter(
            sink, context.schema, context.avro_schema, context.log_encoding, None
        ) as writer:
            for part in parts:
                writer.write(part)
        return sink.getvalue()

    def _append(
        self, kind: BlockKind, content: Sequence[bytes | pa.Buffer], positions: Positions | None
    ) -> _LogFile:
        file, header = self._file(), self._header
        if positions is not None:
            header = {**header, **position_headers(positions, self._base_instant)}
        before, behind = frame_of(kind, header, sum(map(len, content)))
        with located_output(self._context.storage.absolute(file.path)):
            for piece in (before, *content, behind):
                file.sink.write(piece)
                file.size_bytes += len(piece)
        return file

    def _file(self) -> _LogFile:
        """The log file to append to: another one when the last has its size."""
        if self._open is not None and self._open.size_bytes > self._context.logs.file_size:
            self._finish()
        if self._open is None:
            context, target = self._context, self._target
            if self._begins_group:
                ensure_partition(context.storage, target.partition, context.instant)
                self._begins_group = False
            name = target.file_name(self._next_version, self._token)
            path = file_path(target.partition, name)
            kind = MarkerType.CREATE if self._names_write else MarkerType.APPEND
            leave_marker(context.storage, context.instant, path, kind)
            sink = context.storage.open_output(path)
            self._open = _LogFile(path=path, version=self._next_version, sink=sink)
            self._names.append(name)
            self._next_version += 1
        return self._open

    @property
    def _token(self) -> str:
        """The end of a log file's name: no other write gives a file this one."""
        if self._names_write:
            return self._task.write_token
        return self._task.log_token(self._context.instant)

    def _finish(self) -> None:
        if self._open is None:
            return
        with located_output(self._context.storage.absolute(self._open.path)):
            self._open.sink.close()
        file, self._open = self._open, None
        counts, target = file.counts, self._target
        self.stats.append(
            WriteStat(
                file_id=target.file_id,
                path=file.path,
                prev_commit=target.base_instant,
                num_writes=counts.updated,
                num_deletes=counts.deleted,
                num_update_writes=counts.updated,
                total_write_bytes=file.size_bytes,
                partition_path=target.partition,
                file_size_bytes=file.size_bytes,
                total_upsert_time=int((time.perf_counter() - file.started) * 1000),
                log_version=file.version,
                base_file=target.base_file,
                log_files=tuple(self._names),
                num_ignored=None if self._is_weighed_later else 0,
            )
        )


@dataclass(slots=True)
class _Block:
    """What a data block will hold; ``positions`` are those of its records and all that follow."""

    parts: list[pa.BinaryArray] | list[pa.Table] = field(default_factory=list)
    records: int = 0
    last_bytes: int = 0
    positions: Positions | None = None

    @property
    def own_positions(self) -> Positions | None:
        return None if self.positions is None else self.positions[: self.records]

    def add(self, part: pa.BinaryArray | pa.Table) -> None:
        self.parts.append(part)
        self.records += len(part)
        self.last_bytes = part.nbytes

    def clear(self) -> None:
        if self.positions is not None:
            self.positions = self.positions[self.records :]
        self.parts.clear()
        self.records = 0


def chunks(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows, as many at a time as are encoded at once."""
    step = _CHUNK_ROWS
    if rows.nbytes > _CHUNK_BYTES:
        step = max(1, min(step, rows.num_rows * _CHUNK_BYTES // rows.nbytes))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def _content(records: pa.BinaryArray) -> pa.Buffer:
    """The bytes of all records, one after another."""
    offsets, data = text_buffers(records)
    return pa.py_buffer(data[offsets[0] : offsets[-1]])
