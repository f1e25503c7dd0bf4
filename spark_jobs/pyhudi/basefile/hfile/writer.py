"""The HFile, HBase's sorted file of keys and values, written from its beginning to its end.

Data blocks come first, then what the file holds beside its entries, then what readers load when
they open it: the index of the data blocks, that of the others, and what the file says of itself.
A trailer ends it.

The index has one level, however many blocks there are: the reader that is Hudi 0.15's own knows no
other. Keys in it are whole, and their lengths are numbers of Hadoop, as HBase has both; Hudi 1.1
writes neither, and of its own files cannot read those with a key of 126 bytes or more there.

Source: HFileWriterImpl, HFileBlock, HFileBlockIndex, HFileInfo and FixedFileTrailer of HBase 2.4,
with which Hudi 0.15 writes; HFileReaderImpl and HFileRootIndexBlock, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO, Final

from pyhudi.basefile.hfile.crc32c import crc32c
from pyhudi.basefile.protobuf import bytes_field, delimit, varint_field
from pyhudi.errors import InvariantError, UnsupportedError

_DATA: Final = b"DATABLK*"
_META: Final = b"METABLKc"
_INDEX: Final = b"IDXROOT2"
_FILE_INFO: Final = b"FILEINF2"
# Magic, on-disk size without header, unpacked size without header, offset of the block before of
# its kind, type of the checksums, bytes per checksum, on-disk size of header and data.
_HEADER: Final = struct.Struct(">8siiqBii")
_CRC32C: Final = 2
_BYTES_PER_CHECKSUM: Final = 16_384
_CHECKSUM_BYTES: Final = 4
_NO_BLOCK: Final = -1

_LENGTHS: Final = struct.Struct(">ii")
_ROW_LENGTH: Final = struct.Struct(">H")
_LONGEST_KEY: Final = (1 << 15) - 1
# Behind the row in a key: no family, no qualifier, the latest timestamp, the type Put.
_KEY_TAIL: Final = b"\0" + b"\x7f" + b"\xff" * 7 + b"\x04"
_NO_VERSION: Final = b"\0"
_BLOCK_PLACE: Final = struct.Struct(">qi")

_INFO_MAGIC: Final = b"PBUF"
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")

_TRAILER_BYTES: Final = 4096
_TRAILER_MAGIC: Final = b'TRABLK"$'
_LEVELS: Final = 1
_VERSION: Final = b"\x03\x00\x00\x03"
_COMPARATOR: Final = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
_LAST_POSITION: Final = (1 << 31) - 1


class Codec(IntEnum):
    """What blocks are packed with."""

    GZ = 1
    NONE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HFileForm:
    """How entries are laid out: a block is closed when it has ``block_bytes`` of them, or more.

    Units: milliseconds since 1970 in UTC.
    """

    block_bytes: int = 64 * 1024
    codec: Codec = Codec.NONE
    created_ms: int = 0


def write_hfile(
    sink: BinaryIO,
    entries: Iterable[tuple[bytes, bytes]],
    *,
    info: Mapping[bytes, bytes],
    meta: Mapping[bytes, bytes] | None = None,
    form: HFileForm | None = None,
) -> None:
    """Write an HFile of some keys and values.

    ``info`` is what the file is to say of itself beside what every HFile says, and ``meta`` what it
    holds beside its entries, such as Hudi's ``bloomFilter``, each by its name.

    Guarantees: one data block is held at a time.

    Raises:
        InvariantError: keys do not ascend, or one is too long.
        UnsupportedError: the file would be longer than the readers of Hudi can count.
    """
    _Writing(sink, form or HFileForm()).write(entries, info, meta or {})


class _Writing:
    """One HFile while it is written."""

    def __init__(self, sink: BinaryIO, form: HFileForm) -> None:
        self._sink = sink
        self._form = form
        self._at = 0
        self._unpacked_bytes = 0
        self._before: dict[bytes, int] = {}
        self._entry_count = self._key_bytes = self._value_bytes = 0
        self._last_key = b""

    def write(
        self,
        entries: Iterable[tuple[bytes, bytes]],
        info: Mapping[bytes, bytes],
        meta: Mapping[bytes, bytes],
    ) -> None:
        """The whole file."""
        index = [
            _index_entry(*self._block(_DATA, data), _whole_key(first))
            for first, data in self._data_blocks(entries)
        ]
        last_data = self._before.get(_DATA, 0)
        meta_index = [
            _index_entry(*self._block(_META, data), name) for name, data in sorted(meta.items())
        ]
        load_on_open, index_data = self._at, b"".join(index)
        self._block(_INDEX, index_data)
        self._block(_INDEX, b"".join(meta_index))
        info_at, _ = self._block(_FILE_INFO, self._info(info))
        # HBase counts the trailer, and not the index of the data blocks.
        unpacked = self._unpacked_bytes - _HEADER.size - len(index_data) + _TRAILER_BYTES
        said = (
            *(info_at, load_on_open, len(index_data), unpacked, len(index), len(meta_index)),
            *(self._entry_count, _LEVELS, 0, last_data),
        )
        self._sink.write(_trailer(said, self._form.codec))

    def _data_blocks(self, entries: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """The first key and the bytes of each data block."""
        data, first = bytearray(), b""
        for key, value in entries:
            self._check_key(key)
            if not data:
                first = key
            whole = _whole_key(key)
            data += _LENGTHS.pack(len(whole), len(value)) + whole + value + _NO_VERSION
            self._entry_count += 1
            self._key_bytes += len(whole)
            self._value_bytes += len(value)
            self._last_key = key
            if len(data) >= self._form.block_bytes:
                yield first, bytes(data)
                data.clear()
        if data:
            yield first, bytes(data)

    def _check_key(self, key: bytes) -> None:
        if self._entry_count and key <= self._last_key:
            raise InvariantError(f"the key {key!r} of an HFile comes after {self._last_key!r}")
        if len(key) > _LONGEST_KEY:
            raise InvariantError(f"a key of an HFile has {len(key)} bytes: {key[:100]!r}")

    def _block(self, magic: bytes, data: bytes) -> tuple[int, int]:
        """Write a block, and give where it begins and how long it is."""
        at, before = self._at, self._before.get(magic, _NO_BLOCK)
        packed = gzip.compress(data, mtime=0) if self._form.codec is Codec.GZ else data
        summed = _HEADER.size + len(packed)
        sums_bytes = -(-summed // _BYTES_PER_CHECKSUM) * _CHECKSUM_BYTES
        size = summed + sums_bytes
        if at + size > _LAST_POSITION:
            raise UnsupportedError(
                f"an HFile has no room for more than {_LAST_POSITION} bytes in Hudi's readers"
            )
        header = _HEADER.pack(
            *(magic, size - _HEADER.size, len(data), before),
            *(_CRC32C, _BYTES_PER_CHECKSUM, summed),
        )
        whole = header + packed
        self._sink.write(whole + crc32c(whole, _BYTES_PER_CHECKSUM).astype(">u4").tobytes())
        self._before[magic] = at
        self._at += size
        self._unpacked_bytes += _HEADER.size + len(data)
        return at, size

    def _info(self, info: Mapping[bytes, bytes]) -> bytes:
        """What the file says of itself, by names in the order of their bytes."""
        count = max(1, self._entry_count)
        said = {
            **info,
            b"KEY_VALUE_VERSION": _INT.pack(1),
            b"MAX_MEMSTORE_TS_KEY": _LONG.pack(0),
            b"hfile.AVG_KEY_LEN": _INT.pack(self._key_bytes // count),
            b"hfile.AVG_VALUE_LEN": _INT.pack(self._value_bytes // count),
            b"hfile.CREATE_TIME_TS": _LONG.pack(self._form.created_ms),
        }
        if self._entry_count:
            said[b"hfile.LASTKEY"] = _whole_key(self._last_key)
        pairs = (
            bytes_field(1, bytes_field(1, name) + bytes_field(2, value))
            for name, value in sorted(said.items())
        )
        return _INFO_MAGIC + delimit(b"".join(pairs))


def _whole_key(key: bytes) -> bytes:
    return _ROW_LENGTH.pack(len(key)) + key + _KEY_TAIL


def _index_entry(at: int, size: int, key: bytes) -> bytes:
    return _BLOCK_PLACE.pack(at, size) + _hadoop_number(len(key)) + key


def _hadoop_number(value: int) -> bytes:
    """A number, 0 or greater, as Hadoop writes those of any length.

    Source: WritableUtils.writeVLong, Hadoop 3.3.
    """
    if value <= 127:
        return bytes((value,))
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes((0x90 - len(digits),)) + digits


def _trailer(said: Sequence[int], codec: Codec) -> bytes:
    """The end of the file; ``said`` are the first fields of its message in their order."""
    message = b"".join(varint_field(number, value) for number, value in enumerate(said, 1))
    message += bytes_field(len(said) + 1, _COMPARATOR) + varint_field(len(said) + 2, codec)
    begin = _TRAILER_MAGIC + delimit(message)
    return begin.ljust(_TRAILER_BYTES - len(_VERSION), b"\0") + _VERSION
