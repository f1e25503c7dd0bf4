"""HFiles made by hand, block by block."""

import gzip
import io
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import fastavro

from pyhudi.basefile.hfile.crc32c import crc32c
from pyhudi.basefile.hfile.reader import iter_entries, open_hfile
from pyhudi.basefile.protobuf import bytes_field, fields_of, varint_field
from pyhudi.basefile.protobuf import delimited as within
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from tests.support.log_files import SCHEMA

GZ, NONE = 1, 2
NO_CHECKSUM, CRC32, CRC32C = 0, 1, 2
TRAILER_BYTES = 4096
HEADER = struct.Struct(">8siiqBii")
Entry = tuple[bytes, bytes]


def block(
    magic: bytes,
    data: bytes,
    *,
    codec: int = NONE,
    checksum: int = CRC32C,
    per_checksum: int = 16_384,
) -> bytes:
    """A block with its header and checksums."""
    packed = gzip.compress(data, mtime=0) if codec == GZ else data
    count = -(-(33 + len(packed)) // per_checksum)
    header = struct.pack(
        ">8siiqBii",
        magic,
        len(packed) + 4 * count,
        len(data),
        -1,
        checksum,
        per_checksum,
        33 + len(packed),
    )
    return header + packed + checksums(header + packed, checksum, per_checksum)


def checksums(data: bytes, kind: int, per_checksum: int) -> bytes:
    if kind == CRC32C:
        return crc32c(data, per_checksum).astype(">u4").tobytes()
    chunks = [data[at : at + per_checksum] for at in range(0, len(data), per_checksum)]
    return b"".join(struct.pack(">I", zlib.crc32(each) if kind else 0) for each in chunks)


def entry(key: bytes, value: bytes) -> bytes:
    """A key and its value as HBase lays them out."""
    whole = struct.pack(">H", len(key)) + key + b"\0" + b"\x7f" + b"\xff" * 7 + b"\x04"
    return struct.pack(">ii", len(whole), len(value)) + whole + value + b"\0"


def delimited(message: bytes) -> bytes:
    """A message behind its length."""
    return bytes_field(1, message)[1:]


def file_info(pairs: Mapping[str, bytes]) -> bytes:
    """What an HFile says of itself."""
    each = [
        bytes_field(1, bytes_field(1, k.encode()) + bytes_field(2, v)) for k, v in pairs.items()
    ]
    return b"PBUF" + delimited(b"".join(each))


def trailer(numbers: Mapping[int, int], *more: bytes, version: int = 3) -> bytes:
    """The end of an HFile: its fields by their numbers, others as they are."""
    message = b"".join(varint_field(number, value) for number, value in numbers.items())
    begin = b'TRABLK"$' + delimited(message + b"".join(more))
    return begin.ljust(TRAILER_BYTES - 4, b"\0") + b"\3" + version.to_bytes(3, "big")


def hfile(
    blocks: Iterable[Sequence[Entry] | tuple[bytes, bytes]],
    schema: str | None = None,
    *,
    codec: int = NONE,
    checksum: int = CRC32C,
    numbers: Mapping[int, int] | None = None,
) -> bytes:
    """An HFile of data blocks, or of others given as magic and data; ``numbers`` are stated."""
    how = {"codec": codec, "checksum": checksum}
    body, count = b"", 0
    for each in blocks:
        if isinstance(each, list):
            body += block(b"DATABLK*", b"".join(entry(key, value) for key, value in each), **how)
            count += len(each)
        else:
            body += block(*each, **how)
    index = block(b"IDXROOT2", b"", **how) * 2
    info = {} if schema is None else {"schema": schema.encode()}
    stated = {1: len(body + index), 2: len(body), 7: count, 12: codec} | dict(numbers or {})
    return body + index + block(b"FILEINF2", file_info(info), **how) + trailer(stated)


def avro_entries(
    records: Iterable[Mapping[str, Any]],
    schema: Mapping[str, Any] = SCHEMA,
    key: str = "_hoodie_record_key",
) -> list[Entry]:
    """Records as an HFile has them, by their keys."""
    parsed = fastavro.parse_schema(dict(schema))
    entries = []
    for record in records:
        sink = io.BytesIO()
        fastavro.schemaless_writer(sink, parsed, record)
        entries.append((record[key].encode(), sink.getvalue()))
    return sorted(entries)


def hfile_block(
    instant: str,
    records: Iterable[Mapping[str, Any]],
    schema: Mapping[str, Any] = SCHEMA,
    **how: Any,
) -> bytes:
    """An HFile data block of a log file."""
    text = json.dumps(schema)
    content = hfile([avro_entries(records, schema)], text, **how)
    header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: text}
    return encode_block(BlockKind.HFILE, header, content)


def entries_of(content: bytes) -> list[list[Entry]]:
    """The entries of each data block of an HFile."""
    found = []
    for part in iter_entries(open_hfile(content)):
        places = (part.key_starts, part.key_ends, part.value_starts, part.value_ends)
        spans = zip(*(each.tolist() for each in places), strict=True)
        found.append([(part.data[a:b], part.data[c:d]) for a, b, c, d in spans])
    return found


def said_at_the_end(content: bytes) -> dict[int, int]:
    """The numbers of a trailer by those of their fields."""
    message = within(content[-TRAILER_BYTES + 8 : -4])
    return {field.number: field.value for field in fields_of(message)}


def block_at(content: bytes, at: int) -> tuple[bytes, bytes, int]:
    """The magic and the data of a block, and where the one before of its kind begins."""
    magic, _, _, before, _, _, summed = HEADER.unpack_from(content, at)
    data = content[at + HEADER.size : at + summed]
    is_packed = said_at_the_end(content)[12] == GZ
    return magic, gzip.decompress(data) if is_packed else data, before


def index_entries(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Where each block begins, how long it is and its first key, of an index block.

    Source: WritableUtils.readVLong, Hadoop 3.3.
    """
    at = 0
    while at < len(data):
        place, size, first = struct.unpack_from(">qib", data, at)
        at += 13
        digits = -112 - first if first < -112 else 0
        length = int.from_bytes(data[at : at + digits], "big") if digits else first
        at += digits
        yield place, size, data[at : at + length]
        at += length


def meta_of(content: bytes) -> dict[bytes, bytes]:
    """What an HFile holds beside its entries, by name."""
    at = said_at_the_end(content)[2]
    behind = at + HEADER.size + HEADER.unpack_from(content, at)[1]
    if not said_at_the_end(content)[6]:
        return {}
    found = index_entries(block_at(content, behind)[1])
    return {name: block_at(content, place)[1] for place, _, name in found}
