"""The log files of one file slice, read and merged."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

import pyarrow as pa

from pyhudi.config.read import WHAT_TO_DO
from pyhudi.errors import CorruptTableError, SchemaError, located
from pyhudi.filegroup.slices import LogWrite
from pyhudi.fileslice.reading import SliceReading
from pyhudi.logfile.contents import columns_of_parts, iter_rows, read_deletes
from pyhudi.logfile.deletes.blocks import Deletes
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.records import merge_log_records
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.logfile.scan import blocks_that_count
from pyhudi.merge.partial import noted, with_presence
from pyhudi.schema.evolution.reconcile import reconcile

OpenFile = Callable[[str], AbstractContextManager[pa.NativeFile]]
"""Opens the log file of a name."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWrites:
    """The committed writes that are known of log files, by the names of these.

    ``active`` are those on the active timeline. ``archived`` tells the others, for which it has to
    search; None where nobody asks.
    """

    active: Mapping[str, Sequence[LogWrite]] = field(default_factory=dict)
    archived: Callable[[str], Sequence[LogWrite]] | None = None

    def of(self, name: str, blocks: Sequence[Block]) -> Sequence[LogWrite]:
        """Those of a file with these blocks: archived ones only where bytes are no whole block."""
        known = self.active.get(name, ())
        if self.archived is None or not any(block.is_torn for block in blocks):
            return known
        return (*known, *self.archived(name))


NO_WRITES: Final = KnownWrites()


@dataclass(slots=True, kw_only=True)
class LogCounts:
    """What was found in log files: blocks of all kinds, and the rows of those that count.

    Shapes: ``instants`` are those of the blocks that count, each once, in reading order.
    Units: ``milliseconds`` that reading and merging them took.
    """

    blocks: int = 0
    damaged: int = 0
    rollbacks: int = 0
    rows: int = 0
    instants: tuple[str, ...] = ()
    milliseconds: int = 0

    def note(self, block: Block) -> None:
        """Count a block."""
        self.blocks += 1
        self.damaged += block.kind is BlockKind.CORRUPT
        self.rollbacks += block.kind is BlockKind.COMMAND


def read_log_records(
    names: Sequence[str],
    open_file: OpenFile,
    schema: pa.Schema,
    reading: SliceReading,
    counts: LogCounts | None = None,
    writes: KnownWrites = NO_WRITES,
) -> LogRecords:
    """What the log files of a slice say, one record a key; ``counts`` notes what they hold.

    Shapes: ``names`` in reading order; rows of the ``schema``, which has the columns to read, with
        notes behind them where blocks hold parts of rows, and then of all commits, whatever the
        span; ``writes`` as for ``counted_blocks``.

    Guarantees: holds the content of one block at a time, and the records that
        ``merge_log_records`` holds.

    Raises:
        CorruptTableError: a block that was written whole cannot be read, or a committed one is not
            there.
        SchemaError: a value does not fit the table's type.
        UnsupportedError: a block that is not read here.
        StorageError: records that memory has no room for cannot be put on disk.
    """
    started = time.perf_counter()
    counts = LogCounts() if counts is None else counts
    counted = counted_blocks(names, open_file, reading.instant_test(), counts, writes)
    counts.instants = tuple(dict.fromkeys(block.instant for block in counted))
    noted_schema, optional = _with_presence(schema, counted)
    if optional and reading.span is not None:
        # What parts of rows lack is in rows of other commits.
        every = replace(reading, span=None).instant_test()
        counted = counted_blocks(names, open_file, every, writes=writes)
        noted_schema, optional = _with_presence(schema, counted)
    parts = _counted(_parts_of_files(counted, open_file, schema, optional), counts)
    rule = reading.rule.for_rows(noted_schema)
    others = f" and {len(names) - 1} other log files" if len(names) > 1 else ""
    with located(f"{names[0]}{others}" if names else ""):
        records = merge_log_records(parts, noted_schema, reading.keys_of, rule, reading.memory)
    counts.milliseconds = int((time.perf_counter() - started) * 1000)
    return records


def _with_presence(schema: pa.Schema, blocks: Sequence[Block]) -> tuple[pa.Schema, tuple[str, ...]]:
    partial = (columns_of_parts(block) for block in blocks)
    return with_presence(schema, [own for own in partial if own is not None])


def counted_blocks(
    names: Sequence[str],
    open_file: OpenFile,
    is_wanted: Callable[[str], bool],
    counts: LogCounts | None = None,
    writes: KnownWrites = NO_WRITES,
) -> tuple[Block, ...]:
    """The blocks of a slice whose rows and deletes are read, by their headers alone.

    ``writes`` has the committed writes of a file, which must be there: bytes that are no whole
    block, and of no such write, are left out.

    Raises:
        CorruptTableError: a block that is whole and makes no sense, or committed and not there.
        UnsupportedError: a block that is not read here.
    """
    blocks: list[Block] = []
    for name in names:
        with open_file(name) as source:
            own = list(_blocks(source, name))
            for problem in log_problems(own, writes.of(name, own)):
                raise CorruptTableError(
                    f"{name} {problem}: rows that were committed are lost. {WHAT_TO_DO}"
                )
        blocks += own
    if counts is not None:
        for block in blocks:
            counts.note(block)
    return blocks_that_count(blocks, is_wanted)


def log_problems(blocks: Sequence[Block], writes: Iterable[LogWrite]) -> Iterator[str]:
    """What is wrong with the blocks of a log file, by the writes that appended to it.

    The bytes of a write are whole blocks that bear its instant.

    Shapes: ``blocks`` are all of the file, in file order.
    """
    end = blocks[-1].offset + blocks[-1].size_bytes if blocks else 0
    for write in writes:
        if end < write.end:
            yield f"ends at byte {end:,} of the {write.end:,} that the write {write.instant} filled"
        for block in blocks:
            last = block.offset + block.size_bytes
            if last <= write.begin or block.offset >= write.end or block.instant == write.instant:
                continue
            what = block.problem or f"they are of the instant {block.instant or 'none'}"
            yield (
                f"is damaged in bytes {block.offset:,} to {last:,}, which the write "
                f"{write.instant} wrote: {what}"
            )


def _parts_of_files(
    blocks: Sequence[Block], open_file: OpenFile, schema: pa.Schema, optional: Sequence[str]
) -> Iterator[pa.Table | Deletes]:
    for name, of_file in groupby(blocks, key=lambda block: block.file):
        with open_file(name) as source:
            for block in of_file:
                yield from _parts(block, source, schema, optional)


def _counted(
    parts: Iterator[pa.Table | Deletes], counts: LogCounts
) -> Iterator[pa.Table | Deletes]:
    for part in parts:
        if not isinstance(part, Deletes):
            counts.rows += part.num_rows
        yield part


def _blocks(source: pa.NativeFile, name: str) -> Iterator[Block]:
    for block in iter_blocks(source, name):
        if block.is_torn:
            _log.warning(
                "%s: bytes %d to %d are no whole block (%s) and left out",
                name,
                block.offset,
                block.offset + block.size_bytes,
                block.problem,
            )
        yield block


def _parts(
    block: Block, source: pa.NativeFile, schema: pa.Schema, optional: Sequence[str]
) -> Iterator[pa.Table | Deletes]:
    if block.kind is BlockKind.DELETE:
        yield read_deletes(block, source)
        return
    present = columns_of_parts(block)
    # What a part of a row has not is in the row that it changes, and may be null here.
    absent = frozenset() if present is None else frozenset(schema.names) - present
    wanted = pa.schema(
        [each.with_nullable(each.nullable or each.name in absent) for each in schema],
        metadata=schema.metadata,
    )
    try:
        for rows in iter_rows(block, source, schema.names):
            whole = reconcile(rows, wanted if absent else schema)
            whole = pa.Table.from_arrays(whole.columns, schema=schema) if absent else whole
            yield noted(whole, optional, present)
    except SchemaError as error:
        raise SchemaError(f"{block.where} does not fit the table: {error}") from error
