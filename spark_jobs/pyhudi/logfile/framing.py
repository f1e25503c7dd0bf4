"""The frame of a log block: its bytes, both ways. Pure.

Source: HoodieLogFormatWriter, HoodieLogFileReader, HoodieLogBlock, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from pyhudi.errors import CorruptTableError

MAGIC: Final = b"#HUDI#"
FORMAT_VERSION: Final = 1
PREFIX_BYTES: Final = len(MAGIC) + 8
"""Bytes before those that a block's size counts: the magic and the size itself."""
TRAILER_BYTES: Final = 8
LEAST_SIZE: Final = 4 + 4 + 4 + 8 + 4 + TRAILER_BYTES
"""The size of a block without header entries, content and footer entries."""

_MOST_ENTRIES: Final = 1 << 10


class BlockKind(IntEnum):
    """What a block holds, by its number in the file.

    ``CORRUPT`` is never written: it is what bytes are that make no whole block.
    """

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO = 3
    HFILE = 4
    PARQUET = 5
    CDC = 6


class HeaderKey(IntEnum):
    """What a block's header can say, by its number in the file.

    The last two are known from Hudi 1.0 on; a reader of 0.15 fails on them.
    """

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The part of a block before its content.

    ``entries`` are in the order found, by their numbers, known or not. ``kind`` is the number of
    the block's kind, ``length`` the bytes from the magic to the content.
    """

    version: int
    kind: int
    entries: Mapping[int, str]
    length: int
    content_bytes: int


def frame_of(kind: BlockKind, header: Mapping[int, str], content_bytes: int) -> tuple[bytes, bytes]:
    """The bytes of a block before its content and behind it.

    The header's entries are written in their order.

    Source: HoodieLogFormatWriter.appendBlocks, Hudi 0.15 and 1.1.
    """
    head = struct.pack(">ii", FORMAT_VERSION, kind) + _encode_entries(header)
    head += struct.pack(">q", content_bytes)
    footer = _encode_entries({})
    size = len(head) + content_bytes + len(footer) + TRAILER_BYTES
    before = MAGIC + struct.pack(">q", size) + head
    return before, footer + struct.pack(">q", size + len(MAGIC))


def encode_block(kind: BlockKind, header: Mapping[int, str], content: bytes) -> bytes:
    """The bytes of a block."""
    before, behind = frame_of(kind, header, len(content))
    return before + content + behind


def decode_header(data: bytes, size: int) -> Header | None:
    """The header at the beginning of a block's bytes; None where more bytes are needed.

    ``size`` is the block's own, which the trailing length has confirmed.

    Raises:
        CorruptTableError: the bytes are no header, or contradict the size.
    """
    at = PREFIX_BYTES
    if len(data) < at + 8:
        return None
    version, kind = struct.unpack_from(">ii", data, at)
    at += 8
    found = _decode_entries(data, at, PREFIX_BYTES + size)
    if found is None:
        return None
    entries, at = found
    if len(data) < at + 8:
        return None
    (content_bytes,) = struct.unpack_from(">q", data, at)
    at += 8
    # What is left behind the content are footer entries, at least their count, and the trailer.
    if not 0 <= content_bytes <= PREFIX_BYTES + size - at - 4 - TRAILER_BYTES:
        raise CorruptTableError(f"its content of {content_bytes} bytes does not fit in")
    return Header(
        version=version, kind=kind, entries=entries, length=at, content_bytes=content_bytes
    )


def check_footer(data: bytes) -> None:
    """Refuse what lies between a block's content and its trailing length unless it is a footer.

    Raises:
        CorruptTableError: the bytes are none, so a length within the block is damaged.
    """
    found = _decode_entries(data, 0, len(data))
    if found is None or found[1] != len(data):
        raise CorruptTableError(f"the {len(data)} bytes behind its content are no footer")


def _decode_entries(data: bytes, at: int, end: int) -> tuple[dict[int, str], int] | None:
    """The entries at a byte and where they end, at most at ``end``; None where bytes are missing.

    Raises:
        CorruptTableError: the bytes are no entries.
    """
    if len(data) < at + 4:
        return None
    (count,) = struct.unpack_from(">i", data, at)
    if not 0 <= count <= _MOST_ENTRIES:
        raise CorruptTableError(f"it has {count} header or footer entries")
    at += 4
    entries: dict[int, str] = {}
    for _ in range(count):
        if len(data) < at + 8:
            return None
        key, length = struct.unpack_from(">ii", data, at)
        at += 8
        if not 0 <= length <= end - at:
            raise CorruptTableError(f"the entry {key} is {length} bytes long")
        if len(data) < at + length:
            return None
        if key in entries:
            raise CorruptTableError(f"it has the entry {key} twice")
        entries[key] = data[at : at + length].decode("utf-8")
        at += length
    return entries, at


def _encode_entries(entries: Mapping[int, str]) -> bytes:
    parts = [struct.pack(">i", len(entries))]
    for key, value in entries.items():
        text = value.encode("utf-8")
        parts += [struct.pack(">ii", key, len(text)), text]
    return b"".join(parts)
