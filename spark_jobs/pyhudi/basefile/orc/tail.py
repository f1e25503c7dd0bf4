"""The end of an ORC file: what Arrow neither writes there nor tells of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyhudi.basefile.protobuf import bytes_field, fields_of, varint_field
from pyhudi.errors import CorruptTableError, UnsupportedError

# PostScript.
_FOOTER_LENGTH: Final = 1
_COMPRESSION: Final = 2
_BLOCK_SIZE: Final = 3
# Footer.
_STRIPES: Final = 3
_USER_METADATA: Final = 5
# FileTail, the form in which readers pass a tail on.
_TAIL_POSTSCRIPT: Final = 1
_TAIL_FOOTER: Final = 2
# StripeInformation.
_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH, _ROWS = 1, 2, 3, 4, 5
# StripeFooter.
_WRITER_ZONE: Final = 3

_HEADER_BYTES: Final = 3
_CODECS: Final[Mapping[int, str]] = {2: "snappy", 4: "lz4_raw", 5: "zstd"}
_NO_COMPRESSION: Final = 0
_ZLIB: Final = 1
_RAW_DEFLATE: Final = -15
_USUAL_BLOCK_SIZE: Final = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """Where a stripe lies in its file, and how many rows it has.

    Units: bytes; ``footer_offset`` counts from the start of the file.
    """

    rows: int
    footer_offset: int
    footer_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """How the parts of a file are compressed.

    Source: ORC specification v1, Compression: a part is a run of chunks, each behind a header of
    three bytes with its length and, in the lowest bit, whether it is stored as it is.
    """

    kind: int
    block_size: int = _USUAL_BLOCK_SIZE

    def compress(self, data: bytes) -> bytes:
        """The bytes as a part of the file; two parts in a row are one."""
        if self.kind == _NO_COMPRESSION:
            return data
        starts = range(0, len(data), self.block_size)
        return b"".join(self._chunk(data[start : start + self.block_size]) for start in starts)

    def decompress(self, part: bytes) -> bytes:
        """The bytes that a part holds.

        Raises:
            CorruptTableError: they cannot be recovered.
            UnsupportedError: a compression that is not known here.
        """
        if self.kind == _NO_COMPRESSION:
            return part
        try:
            return b"".join(self._chunks(part))
        except (zlib.error, OSError, ValueError) as error:
            raise CorruptTableError(f"a part of an ORC file cannot be read: {error}") from error

    def _chunk(self, data: bytes) -> bytes:
        packed = data
        if self.kind == _ZLIB:
            packer = zlib.compressobj(wbits=_RAW_DEFLATE)
            packed = packer.compress(data) + packer.flush()
        elif self.kind in _CODECS:
            packed = pa.Codec(_CODECS[self.kind]).compress(data, asbytes=True)
        is_original = len(packed) >= len(data)
        kept = data if is_original else packed
        return (len(kept) << 1 | is_original).to_bytes(_HEADER_BYTES, "little") + kept

    def _chunks(self, part: bytes) -> Iterator[bytes]:
        position = 0
        while position < len(part):
            header = int.from_bytes(part[position : position + _HEADER_BYTES], "little")
            position += _HEADER_BYTES
            chunk = part[position : position + (header >> 1)]
            position += len(chunk)
            yield chunk if header & 1 else self._unpacked(chunk)

    def _unpacked(self, chunk: bytes) -> bytes:
        if self.kind == _ZLIB:
            return zlib.decompress(chunk, wbits=_RAW_DEFLATE)
        if self.kind not in _CODECS:
            raise UnsupportedError(f"ORC files of compression {self.kind} cannot be read")
        codec = _CODECS[self.kind]
        if codec == "zstd":
            with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
                return bytes(stream.read())
        return _unpacked_at_most(chunk, codec, self.block_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTail:
    """How a file is compressed, and its stripes in file order."""

    compression: Compression
    stripes: tuple[Stripe, ...]


def _unpacked_at_most(chunk: bytes, codec: str, most: int) -> bytes:
    """A chunk decompressed by a codec that must be told its length: the least that suffices."""
    least = 0
    unpacked = pa.Codec(codec).decompress(chunk, most, asbytes=True)
    while least < most:
        length = (least + most) // 2
        try:
            unpacked = pa.Codec(codec).decompress(chunk, length, asbytes=True)
            most = length
        except (OSError, ValueError):
            least = length + 1
    return bytes(unpacked[:most])


def with_user_metadata(tail: bytes, entries: Mapping[str, str]) -> bytes:
    """The last bytes of an ORC file, with key-value pairs added to its footer.

    Shapes: ``tail`` may begin anywhere before the footer.

    Raises:
        CorruptTableError: the bytes do not end an ORC file.
    Source: ORC specification v1, File Tail: the footer, the postscript and its length, the last
    byte. Fields of a message may come in any order, so pairs may follow all others.
    """
    postscript_start = len(tail) - 1 - tail[-1] if tail else -1
    if postscript_start < 0:
        raise CorruptTableError("an ORC file ends before its postscript")
    postscript = tail[postscript_start:-1]
    added = compression_of(postscript).compress(b"".join(_items(entries)))
    changed = b"".join(
        varint_field(_FOOTER_LENGTH, field.value + len(added))
        if field.number == _FOOTER_LENGTH
        else field.raw
        for field in fields_of(postscript)
    )
    return tail[:postscript_start] + added + changed + bytes([len(changed)])


def compression_of(postscript: bytes) -> Compression:
    """How a file with this postscript is compressed.

    Raises:
        CorruptTableError: the bytes are no postscript.
    """
    found = {field.number: field.value for field in fields_of(postscript)}
    return Compression(
        kind=found.get(_COMPRESSION, _NO_COMPRESSION),
        block_size=found.get(_BLOCK_SIZE) or _USUAL_BLOCK_SIZE,
    )


def file_tail(message: bytes) -> FileTail:
    """What a reader's FileTail message says.

    Raises:
        CorruptTableError: the bytes are no such message.
    """
    parts = {field.number: field.data for field in fields_of(message)}
    footer = parts.get(_TAIL_FOOTER, b"")
    return FileTail(
        compression=compression_of(parts.get(_TAIL_POSTSCRIPT, b"")),
        stripes=tuple(_stripe(f.data) for f in fields_of(footer) if f.number == _STRIPES),
    )


def writer_zone(stripe_footer: bytes) -> str | None:
    """The zone in whose wall-clock time the timestamps of a stripe are; None for UTC.

    Shapes: ``stripe_footer`` is decompressed.

    Raises:
        CorruptTableError: the bytes are no stripe footer.
    Source: ORC specification v1, Stripe Footer and Timestamp Columns.
    """
    zones = [field.data for field in fields_of(stripe_footer) if field.number == _WRITER_ZONE]
    name = zones[-1].decode(errors="replace") if zones else ""
    return None if name in ("", "UTC", "GMT", "Etc/UTC", "Z") else name


def _items(entries: Mapping[str, str]) -> Iterator[bytes]:
    for key, value in entries.items():
        item = bytes_field(1, key.encode()) + bytes_field(2, value.encode())
        yield bytes_field(_USER_METADATA, item)


def _stripe(information: bytes) -> Stripe:
    found = {field.number: field.value for field in fields_of(information)}
    return Stripe(
        rows=found.get(_ROWS, 0),
        footer_offset=sum(found.get(each, 0) for each in (_OFFSET, _INDEX_LENGTH, _DATA_LENGTH)),
        footer_length=found.get(_STRIPE_FOOTER_LENGTH, 0),
    )
