"""The bytes of an archive file of layout 1: blocks of Avro records, as in a log file. Pure.

The header of a block has the schema alone.

Source: HoodieTimelineArchiver.writeToFile and HoodieAvroDataBlock, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.rows import CONTENT_VERSION
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import iter_blocks


def encode_archive(records: Sequence[bytes], schema: str, batch: int) -> bytes:
    """An archive file of these records, so many in a block."""
    return b"".join(
        encode_block(BlockKind.AVRO, {HeaderKey.SCHEMA: schema}, _content(records[at : at + batch]))
        for at in range(0, len(records), batch)
    )


def iter_archive(source: pa.NativeFile, name: str) -> Iterator[tuple[str, bytes]]:
    """The records of an archive file, each with the schema it was written by.

    What a writer left that died in the middle of a block is stepped over, as Hudi does.

    Raises:
        CorruptTableError: a whole block that holds something else; the message names it.
    """
    for block in iter_blocks(source, name):
        if block.kind is BlockKind.CORRUPT and block.is_torn:
            continue
        schema = block.header.get(HeaderKey.SCHEMA)
        if block.kind is not BlockKind.AVRO or schema is None:
            raise CorruptTableError(f"{block.where} holds no archived instants")
        for record in _records(block.read(source), block.where):
            yield schema, record


def _content(records: Sequence[bytes]) -> bytes:
    parts = [struct.pack(">ii", CONTENT_VERSION, len(records))]
    for record in records:
        parts += [struct.pack(">i", len(record)), record]
    return b"".join(parts)


def _records(content: bytes, where: str) -> Iterator[bytes]:
    if len(content) < 8:
        raise CorruptTableError(f"{where} has no count of records")
    _, count = struct.unpack_from(">ii", content)
    at = 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, at) if at + 4 <= len(content) else (-1,)
        at += 4
        if not 0 <= length <= len(content) - at:
            raise CorruptTableError(f"{where} ends within a record")
        yield content[at : at + length]
        at += length
