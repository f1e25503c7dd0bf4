"""The HFile, HBase's sorted file of keys and values, read from its beginning to its end.

Blocks of every kind follow one another: data, between them parts of indexes and of bloom
filters, behind them the root of the index and what the file says of itself; a trailer ends the
file. Reading everything needs no index: what is not data is passed by.

Source: HFileReaderImpl, HFileBlock, HFileDataBlock, HFileTrailer, Hudi 1.1; HFileBlock,
FixedFileTrailer and ChecksumUtil of HBase 2.4, with which Hudi 0.15 writes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from pyhudi.basefile.hfile.crc32c import crc32c
from pyhudi.basefile.protobuf import delimited, fields_of
from pyhudi.errors import CorruptTableError, UnsupportedError

Bytes: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.int64]

_MAJOR_VERSION: Final = 3

_TRAILER_BYTES: Final = 4096
_TRAILER_MAGIC: Final = b'TRABLK"$'
# TrailerProto.
_FILE_INFO_OFFSET, _LOAD_ON_OPEN_OFFSET = 1, 2
_ENTRY_COUNT: Final = 7
_COMPRESSION_CODEC: Final = 12
_ENCRYPTION_KEY: Final = 13

_GZ: Final = 1
_NONE: Final = 2
_OTHER_CODECS: Final[Mapping[int, str]] = {0: "LZO", 3: "SNAPPY", 4: "LZ4", 5: "BZIP2", 6: "ZSTD"}
_GZIP_MEMBER: Final = 31

# Magic, on-disk size without header, uncompressed size without header, offset of the block before,
# checksum type, bytes per checksum, on-disk size of header and data.
_HEADER: Final = struct.Struct(">8siiqBii")
_DATA: Final = b"DATABLK*"
_ENCODED_DATA: Final = b"DATABLKE"
_FILE_INFO: Final = b"FILEINF2"
# Meta blocks, bloom filters, and the index's levels below its root.
_PASSED_BY: Final = (b"METABLKc", b"BLMFBLK2", b"IDXLEAF2", b"IDXINTE2")
_FILE_INFO_MAGIC: Final = b"PBUF"

_CHECKSUM_BYTES: Final = 4
_CRC32: Final = 1
_CRC32C: Final = 2
_NO_CHECKSUM: Final = 0

_LENGTHS: Final = struct.Struct(">ii")
_ROW_LENGTH_BYTES: Final = 2
# Behind the row in a key: no family, no qualifier, the latest timestamp, the type Put.
_KEY_TAIL: Final = b"\0" + b"\x7f" + b"\xff" * 7 + b"\x04"
_KEY_OVERHEAD: Final = _ROW_LENGTH_BYTES + len(_KEY_TAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The keys and values of one data block, as positions in its bytes.

    Shapes: one position an entry; keys are what HBase calls rows, in Hudi the text of a record's
        key.
    """

    data: bytes
    key_starts: Places
    key_ends: Places
    value_starts: Places
    value_ends: Places

    def __len__(self) -> int:
        return len(self.key_starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class HFile:
    """A whole HFile.

    ``info`` is what it says of itself, such as ``schema``; data blocks lie before ``data_end``.
    """

    content: memoryview
    info: Mapping[bytes, bytes]
    entry_count: int
    data_end: int
    codec: int


def open_hfile(content: bytes) -> HFile:
    """The HFile that some bytes are.

    Raises:
        CorruptTableError: they are none, or its end is damaged.
        UnsupportedError: another version, or data compressed in another way than GZ, or encrypted.
    """
    trailer = content[-_TRAILER_BYTES:]
    if len(trailer) < _TRAILER_BYTES or not trailer.startswith(_TRAILER_MAGIC):
        raise CorruptTableError(f"the last of {len(content)} bytes are no trailer of an HFile")
    # One byte has the minor version, three have the major one.
    major = int.from_bytes(trailer[-3:], "big")
    if major != _MAJOR_VERSION:
        raise UnsupportedError(f"an HFile has the version {major}; only version 3 is read")
    numbers = {_FILE_INFO_OFFSET: 0, _LOAD_ON_OPEN_OFFSET: 0, _ENTRY_COUNT: 0}
    numbers[_COMPRESSION_CODEC] = _NONE
    for each in fields_of(delimited(trailer[len(_TRAILER_MAGIC) : -4])):
        if each.number == _ENCRYPTION_KEY and each.data:
            raise UnsupportedError("an HFile is encrypted, which is not read")
        numbers[each.number] = each.value
    view = memoryview(content)[:-_TRAILER_BYTES]
    codec = _known_codec(numbers[_COMPRESSION_CODEC])
    magic, info, _ = _block_at(view, numbers[_FILE_INFO_OFFSET], codec)
    if magic != _FILE_INFO:
        raise CorruptTableError(f"an HFile has {magic!r} where it should say of itself what it is")
    return HFile(
        content=view,
        info=_pairs(info),
        entry_count=numbers[_ENTRY_COUNT],
        data_end=numbers[_LOAD_ON_OPEN_OFFSET],
        codec=codec,
    )


def iter_entries(file: HFile) -> Iterator[Entries]:
    """The keys and values of an HFile in their order, those of one data block at a time.

    Guarantees: one data block is unpacked at a time, and its checksums are those of its bytes.

    Raises:
        CorruptTableError: a block is damaged, or they hold more or fewer entries than the file
            says.
        UnsupportedError: data blocks with an encoding of HBase's, which Hudi does not write.
    """
    at = found = 0
    while at < file.data_end:
        magic, data, at = _block_at(file.content[: file.data_end], at, file.codec)
        if magic == _DATA:
            entries = _entries(data)
            found += len(entries)
            yield entries
        elif magic == _ENCODED_DATA:
            raise UnsupportedError("an HFile has encoded data blocks, which are not read")
        elif magic not in _PASSED_BY:
            raise CorruptTableError(f"an HFile has {magic!r} where a block should begin")
    if found != file.entry_count:
        raise CorruptTableError(f"an HFile holds {found} entries and says {file.entry_count}")


def _known_codec(number: int) -> int:
    if number in (_GZ, _NONE):
        return number
    if number in _OTHER_CODECS:
        raise UnsupportedError(
            f"an HFile is compressed with {_OTHER_CODECS[number]}; only GZ and NONE are read"
        )
    raise CorruptTableError(f"an HFile has the compression codec {number}")


def _block_at(content: memoryview, at: int, codec: int) -> tuple[bytes, bytes, int]:
    """The magic and the unpacked data of the block at a position, and where the next one begins."""
    if at + _HEADER.size > len(content):
        raise CorruptTableError("an HFile ends within the header of a block")
    magic, size, unpacked_size, _, checksum, per_checksum, summed = _HEADER.unpack_from(content, at)
    end = at + _HEADER.size + size
    if not (_HEADER.size <= summed <= end - at and end <= len(content)) or per_checksum <= 0:
        raise CorruptTableError(f"the block at byte {at} of an HFile is {size} bytes long")
    on_disk = content[at : at + summed]
    _check_sums(on_disk, content[at + summed : end], checksum, per_checksum)
    packed = on_disk[_HEADER.size :]
    data = _gunzipped(packed, unpacked_size) if codec == _GZ else bytes(packed)
    if len(data) != unpacked_size:
        raise CorruptTableError(
            f"the block at byte {at} of an HFile unpacks to {len(data)} bytes, not {unpacked_size}"
        )
    return magic, data, end


def _gunzipped(packed: memoryview, size: int) -> bytes:
    """The bytes of a gzip member, of which there should be ``size``."""
    member = zlib.decompressobj(wbits=_GZIP_MEMBER)
    try:
        data = member.decompress(packed, max(size, 0) + 1)
    except zlib.error as error:
        raise CorruptTableError(f"a block of an HFile cannot be unpacked: {error}") from error
    if not member.eof or member.unused_data:
        raise CorruptTableError("a block of an HFile is not as long as what was packed into it")
    return data


def _check_sums(data: memoryview, sums: memoryview, kind: int, per_checksum: int) -> None:
    """Hold a block's checksums against its header and data.

    Source: ChecksumUtil, HBase 2.4; Hudi 1.1 writes as many zeros of the type NULL.
    """
    if len(sums) != -(-len(data) // per_checksum) * _CHECKSUM_BYTES:
        raise CorruptTableError(f"a block of an HFile has {len(sums)} bytes of checksums")
    if kind == _NO_CHECKSUM:
        return
    if kind == _CRC32C:
        found = crc32c(data, per_checksum)
    elif kind == _CRC32:
        chunks = range(0, len(data), per_checksum)
        parts = [zlib.crc32(data[start : start + per_checksum]) for start in chunks]
        found = np.array(parts, dtype=np.uint32)
    else:
        raise CorruptTableError(f"a block of an HFile has checksums of the unknown type {kind}")
    if not np.array_equal(found, np.frombuffer(sums, dtype=">u4")):
        raise CorruptTableError("a block of an HFile has other bytes than when it was written")


def _entries(data: bytes) -> Entries:
    """Where keys and values lie in a data block.

    Source: KeyValue, HBase 2.4, as HFileDataBlock of Hudi 1.1 reads it.
    """
    starts, key_lengths, at = [], [], 0
    lengths_at = _LENGTHS.unpack_from
    while at + _LENGTHS.size < len(data):
        key_length, value_length = lengths_at(data, at)
        if key_length < _KEY_OVERHEAD or value_length < 0:
            raise CorruptTableError(
                f"an entry of an HFile has a key of {key_length} bytes, a value of {value_length}"
            )
        starts.append(at)
        key_lengths.append(key_length)
        # Behind the value one byte says that the entry is of no version.
        at += _LENGTHS.size + key_length + value_length + 1
    if at != len(data):
        raise CorruptTableError(f"entries of an HFile end at byte {at} of {len(data)}")
    begin, lengths = np.array(starts, dtype=np.int64), np.array(key_lengths, dtype=np.int64)
    key_starts = begin + _LENGTHS.size + _ROW_LENGTH_BYTES
    key_ends = key_starts + lengths - _KEY_OVERHEAD
    ends = np.append(begin[1:], [at] * min(1, len(begin)))
    _check_layout(np.frombuffer(data, dtype=np.uint8), key_starts, key_ends, ends)
    return Entries(
        data=data,
        key_starts=key_starts,
        key_ends=key_ends,
        value_starts=key_ends + len(_KEY_TAIL),
        value_ends=ends - 1,
    )


def _check_layout(data: Bytes, key_starts: Places, key_ends: Places, ends: Places) -> None:
    """Refuse keys and values that are not laid out as Hudi does."""
    stated = data[key_starts - 2].astype(np.int64) << 8 | data[key_starts - 1]
    tails = data[key_ends[:, None] + np.arange(len(_KEY_TAIL))]
    if not np.array_equal(stated, key_ends - key_starts) or data[ends - 1].any():
        raise CorruptTableError("an entry of an HFile contradicts its lengths")
    if (tails != np.frombuffer(_KEY_TAIL, dtype=np.uint8)).any():
        raise CorruptTableError("a key of an HFile is none of a Hudi record")


def _pairs(info: bytes) -> Mapping[bytes, bytes]:
    """The keys and values of a file info block."""
    if not info.startswith(_FILE_INFO_MAGIC):
        raise CorruptTableError("an HFile says nothing of itself")
    found = {}
    for pair in fields_of(delimited(info[len(_FILE_INFO_MAGIC) :])):
        parts = {part.number: part.data for part in fields_of(pair.data)}
        found[parts.get(1, b"")] = parts.get(2, b"")
    return found
