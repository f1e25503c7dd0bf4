"""Which blocks of a file slice's log files count, and in which order. Pure: it sees headers alone.

Source: AbstractHoodieLogRecordReader, Hudi 0.15; BaseHoodieLogRecordReader, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from pyhudi.errors import CorruptTableError, UnsupportedError, located
from pyhudi.logfile.framing import FORMAT_VERSION, BlockKind, HeaderKey
from pyhudi.logfile.reader import Block

ROLLBACK: Final = "0"
"""The command that takes back the blocks of a write."""

_HOLDS_ROWS: Final = (BlockKind.AVRO, BlockKind.PARQUET, BlockKind.HFILE, BlockKind.DELETE)


def blocks_that_count(
    blocks: Iterable[Block], is_wanted: Callable[[str], bool]
) -> tuple[Block, ...]:
    """Of the blocks of a slice, in reading order, those whose rows and deletes are read.

    ``is_wanted`` says of an instant whether its blocks are: whether the write is committed, and in
    the range asked for. Left out too are blocks that a rollback names which comes after them, and
    torn ones. The blocks of one write are read together, where its first one is. Blocks that were
    compacted into another of the log are replaced by that one, in the place of the last of them.

    Raises:
        CorruptTableError: a block that is whole and makes no sense.
        UnsupportedError: a block of a kind, a command or a format version that is not read here.
    """
    writes: dict[str, list[Block]] = {}
    for block in blocks:
        if block.kind is BlockKind.CORRUPT and block.is_torn:
            continue
        with located(block.file):
            _refuse_senseless(block)
        if block.kind is BlockKind.COMMAND:
            writes.pop(_rolled_back(block), None)
        elif is_wanted(block.instant):
            writes.setdefault(block.instant, []).append(block)
    return tuple(block for instant in _in_order(writes) for block in writes[instant])


def _in_order(writes: dict[str, list[Block]]) -> list[str]:
    """The instants of the writes to read, the earliest first."""
    compacted_into: dict[str, str] = {}
    found: list[str] = []
    placed: set[str] = set()
    for instant in reversed(writes):
        target = compacted_into.get(instant, instant)
        parts = _compacted_instants(writes[instant])
        for part in parts:
            compacted_into[part] = target
        # A block that holds others is read where the last of them was, if any is there.
        stands_elsewhere = any(part in writes and part != instant for part in parts)
        if target in placed or stands_elsewhere:
            continue
        placed.add(target)
        found.append(target)
    return found[::-1]


def _compacted_instants(blocks: list[Block]) -> list[str]:
    text = blocks[0].header.get(HeaderKey.COMPACTED_BLOCK_TIMES, "")
    return [part.strip() for part in text.split(",") if part.strip()]


def _rolled_back(block: Block) -> str:
    command = block.header.get(HeaderKey.COMMAND_BLOCK_TYPE)
    target = block.header.get(HeaderKey.TARGET_INSTANT_TIME)
    if command != ROLLBACK or not target:
        raise UnsupportedError(f"{block.where} has the command {command!r}, which is not known")
    return target


def _refuse_senseless(block: Block) -> None:
    if block.kind is BlockKind.CORRUPT:
        raise CorruptTableError(
            f"{block.where} cannot be read: {block.problem}. Its lengths agree, so it was written "
            "whole and damaged later; restore the file"
        )
    if block.version != FORMAT_VERSION:
        raise UnsupportedError(
            f"{block.where} has the log format version {block.version}; only version "
            f"{FORMAT_VERSION} is read"
        )
    if block.kind is BlockKind.CDC:
        raise UnsupportedError(f"{block.where} holds change data, which is not read")
    if block.kind in _HOLDS_ROWS and not block.instant:
        raise CorruptTableError(f"{block.where} does not say of which write it is")
