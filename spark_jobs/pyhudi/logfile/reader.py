"""The blocks of a log file, found one after another; contents are read when they are wanted."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.framing import (
    LEAST_SIZE,
    MAGIC,
    PREFIX_BYTES,
    TRAILER_BYTES,
    BlockKind,
    Header,
    HeaderKey,
    check_footer,
    decode_header,
)

_FIRST_READ_BYTES: Final = 64 << 10
_SCAN_BYTES: Final = 1 << 20
# Hudi writes footers without entries, of four bytes.
_MOST_FOOTER_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a log file as its frame describes it, or bytes that are no whole block.

    ``file`` and ``offset`` say where it lies, ``header`` has its entries by their numbers in the
    order found. A block of the kind CORRUPT has a ``problem``; ``is_torn`` says that it is one
    as a writer leaves that died, or with its lengths damaged, rather than whole and senseless.

    Units: bytes.
    """

    file: str
    offset: int
    size_bytes: int
    kind: BlockKind
    version: int = 0
    header: Mapping[int, str] = field(default_factory=dict)
    content_offset: int = 0
    content_bytes: int = 0
    problem: str = ""
    is_torn: bool = False

    @property
    def instant(self) -> str:
        """The instant of the write that the block is of."""
        return self.header.get(HeaderKey.INSTANT_TIME, "")

    @property
    def where(self) -> str:
        """The block as errors name it."""
        return f"the {self.kind.name} block at byte {self.offset} of {self.file}"

    def read(self, source: pa.NativeFile) -> bytes:
        """The content, from the block's file.

        Raises:
            CorruptTableError: the file ends too early; it was changed since the block was found.
        """
        data = _read(source, self.content_offset, self.content_bytes)
        if len(data) < self.content_bytes:
            raise CorruptTableError(f"{self.where} was cut off while it was read")
        return data


def iter_blocks(source: pa.NativeFile, name: str) -> Iterator[Block]:
    """The blocks of a log file in file order; ``name`` is what errors call it.

    A block counts as whole when both its lengths agree; it is CORRUPT, and not torn, where its
    header, content and footer do not fill it. Where the lengths do not agree, or no block begins,
    what lies up to the next magic is one torn block, and reading goes on there.

    Guarantees: every byte belongs to exactly one block; nothing but headers is held in memory.
    Source: HoodieLogFileReader.isBlockCorrupted and scanForNextAvailableBlockOffset, Hudi 0.15 and
    1.1. There a block is given up as well when what follows it does not begin with the magic.
    """
    end = source.size()
    at = 0
    while at < end:
        block = _block_at(source, name, at, end)
        yield block
        at += block.size_bytes


def _block_at(source: pa.NativeFile, name: str, at: int, end: int) -> Block:
    first = _read(source, at, min(_FIRST_READ_BYTES, end - at))
    size, problem = _size_of(source, first, at, end)
    if problem and size and _is_of_version_0(source, first, at + PREFIX_BYTES + size, end):
        # Such a block has neither header nor trailing length, and is not read.
        return Block(file=name, offset=at, size_bytes=PREFIX_BYTES + size, kind=BlockKind.AVRO)
    if problem:
        length = _next_magic(source, at + 1, end) - at
        return Block(
            file=name,
            offset=at,
            size_bytes=length,
            kind=BlockKind.CORRUPT,
            problem=problem,
            is_torn=True,
        )
    whole = PREFIX_BYTES + size
    try:
        header = _header(source, first[:whole], at, size)
        _check_footer(source, header, at, size)
        kind = BlockKind(header.kind)
    except (CorruptTableError, ValueError) as error:
        return Block(
            file=name, offset=at, size_bytes=whole, kind=BlockKind.CORRUPT, problem=str(error)
        )
    return Block(
        file=name,
        offset=at,
        size_bytes=whole,
        kind=kind,
        version=header.version,
        header=header.entries,
        content_offset=at + header.length,
        content_bytes=header.content_bytes,
        problem="its kind is that of none" if kind is BlockKind.CORRUPT else "",
    )


def _size_of(source: pa.NativeFile, first: bytes, at: int, end: int) -> tuple[int, str]:
    """The size that a block states, if it can be, and what is wrong with it."""
    if not first.startswith(MAGIC):
        return 0, "it does not begin as a block"
    if len(first) < PREFIX_BYTES:
        return 0, "it ends within its length"
    (size,) = struct.unpack_from(">q", first, len(MAGIC))
    if not LEAST_SIZE <= size <= end - at - PREFIX_BYTES:
        return 0, f"its length is {size} bytes"
    trailer = _read(source, at + PREFIX_BYTES + size - TRAILER_BYTES, TRAILER_BYTES)
    if trailer != struct.pack(">q", size + len(MAGIC)):
        return size, f"its length is {size} bytes, and its trailing length contradicts it"
    return size, ""


def _is_of_version_0(source: pa.NativeFile, first: bytes, behind: int, end: int) -> bool:
    """Whether bytes without trailing length are a block of the oldest format.

    Source: HoodieLogFormatVersion, Hudi 0.15.
    """
    if first[PREFIX_BYTES : PREFIX_BYTES + 4] != b"\0\0\0\0":
        return False
    return behind == end or _read(source, behind, len(MAGIC)) == MAGIC


def _header(source: pa.NativeFile, first: bytes, at: int, size: int) -> Header:
    """The header of a whole block, of which the first bytes are at hand.

    Raises:
        CorruptTableError: there is none.
    """
    data = first
    while (header := decode_header(data, size)) is None:
        if len(data) >= PREFIX_BYTES + size:
            raise CorruptTableError("its header does not end")
        data = _read(source, at, min(4 * len(data), PREFIX_BYTES + size))
    return header


def _check_footer(source: pa.NativeFile, header: Header, at: int, size: int) -> None:
    """Hold the length of the content against that of the block.

    Raises:
        CorruptTableError: something else than a footer lies between them.
    """
    behind = header.length + header.content_bytes
    length = PREFIX_BYTES + size - TRAILER_BYTES - behind
    check_footer(_read(source, at + behind, min(length, _MOST_FOOTER_BYTES)))


def _next_magic(source: pa.NativeFile, start: int, end: int) -> int:
    """Where the next magic begins, or the end of the file."""
    at = start
    while at < end:
        chunk = _read(source, at, min(_SCAN_BYTES, end - at))
        found = chunk.find(MAGIC)
        if found >= 0:
            return at + found
        if at + len(chunk) >= end:
            break
        at += max(1, len(chunk) - len(MAGIC) + 1)
    return end


def _read(source: pa.NativeFile, offset: int, length: int) -> bytes:
    source.seek(offset)
    data: bytes = source.read(length)
    return data
