"""Bloom filters over record keys, bit for bit as Hudi stores them in footers."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.basefile.bloom.murmur import key_groups
from pyhudi.errors import CorruptTableError, OptionError, UnsupportedError
from pyhudi.schema.columns import Positions

SIMPLE: Final = "SIMPLE"
DYNAMIC_V0: Final = "DYNAMIC_V0"

_SLICE_KEYS: Final = 65_536
_MURMUR: Final = 1
_VERSION: Final = -1
# A false-positive rate of 1e-9 takes 30; more than these make no rate that numbers tell from 0.
_MOST_HASHES: Final = 1_024
_FILTER_HEADER: Final = struct.Struct(">iibi")
_DYNAMIC_HEADER: Final = struct.Struct(">iii")


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomParameters:
    """How large a filter is made.

    ``num_entries`` keys at false-positive rate ``fpp`` fill the filter, or one row of a dynamic
    one, which grows by rows until it has room for ``max_entries``.

    Source: HoodieStorageConfig and BloomFilterFactory, Hudi 0.15 (defaults).
    """

    num_entries: int = 60_000
    fpp: float = 1e-9
    max_entries: int = 100_000
    type: str = DYNAMIC_V0

    def __post_init__(self) -> None:
        if self.type not in (SIMPLE, DYNAMIC_V0):
            raise OptionError(
                f"the bloom filter type must be {SIMPLE} or {DYNAMIC_V0}; found {self.type!r}"
            )
        if self.num_entries < 1 or not 0 < self.fpp < 1:
            raise OptionError(
                "a bloom filter needs at least one entry and a rate between 0 and 1; "
                f"found {self.num_entries} entries and rate {self.fpp}"
            )

    @property
    def vector_size(self) -> int:
        """Bits of the filter, or of one row of it.

        Source: BloomFilterUtils.getBitSize, Hudi 0.15.
        """
        return math.ceil(self.num_entries * (-math.log(self.fpp) / math.log(2) ** 2))

    @property
    def hash_count(self) -> int:
        """Hash functions a key is given to.

        Source: BloomFilterUtils.getNumHashes, Hudi 0.15.
        """
        return math.ceil(math.log(2) * self.vector_size / self.num_entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomFilter:
    """A finished filter.

    Shapes: each row is ``ceil(vector_size / 8)`` bytes, bit i at byte ``i >> 3``, least
        significant first; a SIMPLE filter has one row. ``row_entries`` is the number of keys after
        which a dynamic filter begins a row, ``last_row_entries`` how many came since.
    """

    type_code: str
    hash_count: int
    vector_size: int
    rows: tuple[bytes, ...]
    row_entries: int = 0
    last_row_entries: int = 0

    def contains(self, keys: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
        """Whether each key may have been added; False is certain.

        Shapes: strings without nulls and empty texts.
        """
        vectors = [_unpack(row, self.vector_size) for row in self.rows]
        parts: list[npt.NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
        for chunk in _slices(keys):
            found: npt.NDArray[np.bool_] = np.zeros(len(chunk), dtype=bool)
            for group in key_groups(chunk):
                in_rows: npt.NDArray[np.bool_] = np.ones(
                    (len(vectors), len(group.rows)), dtype=bool
                )
                for bits in group.bit_positions(self.hash_count, self.vector_size):
                    for in_row, vector in zip(in_rows, vectors, strict=True):
                        in_row &= vector[bits]
                found[group.rows] = in_rows.any(axis=0)
            parts.append(found)
        return pa.array(np.concatenate(parts))

    def to_text(self) -> str:
        """The filter as a footer holds it.

        Source: SimpleBloomFilter, HoodieDynamicBoundedBloomFilter and their internal filters'
        write methods, Hudi 0.15.
        """
        header = _FILTER_HEADER.pack(_VERSION, self.hash_count, _MURMUR, self.vector_size)
        parts = [header]
        if self.type_code == DYNAMIC_V0:
            parts.append(
                _DYNAMIC_HEADER.pack(self.row_entries, self.last_row_entries, len(self.rows))
            )
            for row in self.rows:
                parts += (header, row)
        else:
            parts.append(self.rows[0])
        return base64.b64encode(b"".join(parts)).decode("ascii")


class BloomBuilder:
    """Collects the keys of one file.

    A filter of the file's previous version may be inherited if it has the size and kind asked for:
    its keys are then in it already. Keys that were deleted since stay in, which is allowed: a
    filter says for certain only which keys are absent. It is unpacked when the first key comes.

    Shapes: one byte a bit and row once it grows, 2.6 MB a row by default.
    Source: InternalDynamicBloomFilter, Hudi 0.15: a row is begun when the last one has
    ``num_entries`` keys, until the rows have room for ``max_entries``; later keys go to the rows in
    turn, the first of them beside the turn.
    """

    def __init__(
        self, parameters: BloomParameters, *, inherited: BloomFilter | None = None
    ) -> None:
        self._parameters = parameters
        self._vector_size, self._hash_count = parameters.vector_size, parameters.hash_count
        self._bits: npt.NDArray[np.bool_] = np.zeros((1, self._vector_size), dtype=bool)
        self._last_row_entries = 0
        self._turns: int | None = None
        self._is_full = False
        self.inherits = inherited is not None and self._matches(inherited)
        self._packed = inherited if self.inherits else None
        if inherited is not None and self.inherits:
            self._last_row_entries = inherited.last_row_entries
            beyond = self._last_row_entries - parameters.num_entries
            self._turns = beyond - 1 if beyond > 0 and self.type_code == DYNAMIC_V0 else None

    @property
    def type_code(self) -> str:
        """The name of the filter's type, which the footer states."""
        return self._parameters.type

    @property
    def text_bytes(self) -> int:
        """About how long the text of the filter is."""
        rows = len(self._bits if self._packed is None else self._packed.rows)
        return rows * self._vector_size // 6

    def add(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Add the keys of the next rows.

        Shapes: strings, plain or dictionary-encoded.

        Raises:
            RecordKeyError: a null or an empty key.
        """
        if self._packed is not None and len(keys):
            self._bits = np.stack([_unpack(row, self._vector_size) for row in self._packed.rows])
            self._packed = None
        for chunk in _slices(keys):
            start = 0
            for count, rows in self._filter_rows(len(chunk)):
                self._set(chunk.slice(start, count), rows)
                start += count

    def build(self) -> BloomFilter:
        """The filter of the keys so far."""
        if self._packed is not None:
            return self._packed
        packed = np.packbits(self._bits, axis=1, bitorder="little")
        return BloomFilter(
            type_code=self.type_code,
            hash_count=self._hash_count,
            vector_size=self._vector_size,
            rows=tuple(row.tobytes() for row in packed),
            row_entries=self._parameters.num_entries,
            last_row_entries=self._last_row_entries,
        )

    def to_text(self) -> str:
        """The filter of the keys so far, as a footer holds it."""
        return self.build().to_text()

    def _matches(self, found: BloomFilter) -> bool:
        mine = self._parameters
        if (found.type_code, found.hash_count, found.vector_size) != (
            mine.type,
            mine.hash_count,
            mine.vector_size,
        ):
            return False
        return mine.type == SIMPLE or found.row_entries == mine.num_entries

    def _filter_rows(self, count: int) -> Iterator[tuple[int, Positions | int]]:
        """For runs of the next keys: how many, and the row of all or of each."""
        if self.type_code == SIMPLE:
            yield count, 0
            return
        entries = self._parameters.num_entries
        while count and self._turns is None:
            if self._last_row_entries < entries:
                run = min(count, entries - self._last_row_entries)
                self._last_row_entries += run
                yield run, len(self._bits) - 1
                count -= run
            elif len(self._bits) * entries < self._parameters.max_entries:
                row: npt.NDArray[np.bool_] = np.zeros((1, self._vector_size), dtype=bool)
                self._bits = np.concatenate([self._bits, row])
                self._last_row_entries = 0
            else:
                # The key that finds the filter full goes to row 0 without taking a turn.
                self._turns = -1
        if count and self._turns is not None:
            turns: Positions = np.arange(self._turns, self._turns + count, dtype=np.int64)
            self._turns += count
            self._last_row_entries += count
            yield count, np.maximum(turns, 0) % len(self._bits)

    def _set(self, keys: pa.Array, rows: Positions | int) -> None:
        # Far beyond its room every bit is set and no key can change anything.
        if self._is_full:
            return
        flat = self._bits.reshape(-1)
        for group in key_groups(keys):
            row = rows if isinstance(rows, int) else rows[group.rows]
            base = row * self._vector_size
            for bits in group.bit_positions(self._hash_count, self._vector_size):
                if not isinstance(base, int) or base:
                    bits += base
                flat[bits] = True
        self._is_full = self._turns is not None and bool(flat.all())


def parse(text: str, type_code: str | None) -> BloomFilter:
    """Read a filter from a footer; without a type code it is a SIMPLE one.

    Raises:
        CorruptTableError: the text is no such filter.
        UnsupportedError: a filter of the oldest Hudi versions, or of an unknown type.
    """
    code = type_code or SIMPLE
    if code not in (SIMPLE, DYNAMIC_V0):
        raise UnsupportedError(f"bloom filters of type {code!r} cannot be read")
    try:
        data = base64.b64decode(text, validate=True)
        return _parse_dynamic(data) if code == DYNAMIC_V0 else _parse_simple(data)
    except (binascii.Error, struct.error, ValueError) as error:
        raise CorruptTableError(f"a {code} bloom filter cannot be read: {error}") from error


def _parse_simple(data: bytes) -> BloomFilter:
    hash_count, vector_size = _parse_header(data, 0)
    row = _row(data, _FILTER_HEADER.size, vector_size)
    return BloomFilter(
        type_code=SIMPLE, hash_count=hash_count, vector_size=vector_size, rows=(row,)
    )


def _parse_dynamic(data: bytes) -> BloomFilter:
    hash_count, vector_size = _parse_header(data, 0)
    position = _FILTER_HEADER.size
    row_entries, last_row_entries, row_count = _DYNAMIC_HEADER.unpack_from(data, position)
    position += _DYNAMIC_HEADER.size
    rows = []
    for _ in range(row_count):
        if _parse_header(data, position) != (hash_count, vector_size):
            raise ValueError("its rows differ in size")
        rows.append(_row(data, position + _FILTER_HEADER.size, vector_size))
        position += _FILTER_HEADER.size + len(rows[-1])
    return BloomFilter(
        type_code=DYNAMIC_V0,
        hash_count=hash_count,
        vector_size=vector_size,
        rows=tuple(rows),
        row_entries=row_entries,
        last_row_entries=last_row_entries,
    )


def _parse_header(data: bytes, position: int) -> tuple[int, int]:
    version, hash_count, kind, vector_size = _FILTER_HEADER.unpack_from(data, position)
    if version != _VERSION or kind != _MURMUR:
        raise UnsupportedError(f"a bloom filter of version {version}, hash {kind} cannot be read")
    if not 1 <= hash_count <= _MOST_HASHES or vector_size < 1:
        raise ValueError(f"{hash_count} hash functions over {vector_size} bits")
    return hash_count, vector_size


def _row(data: bytes, position: int, vector_size: int) -> bytes:
    length = (vector_size + 7) // 8
    row = data[position : position + length]
    if len(row) != length:
        raise ValueError(f"{len(row)} bytes left where {length} were expected")
    return row


def _unpack(row: bytes, vector_size: int) -> npt.NDArray[np.bool_]:
    packed = np.frombuffer(row, dtype=np.uint8)
    return np.unpackbits(packed, count=vector_size, bitorder="little").view(bool)


def _slices(keys: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """The keys as plain strings, by pieces of at most ``_SLICE_KEYS``."""
    chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
    for chunk in chunks:
        plain = chunk.cast(pa.string()) if pa.types.is_dictionary(chunk.type) else chunk
        for start in range(0, len(plain), _SLICE_KEYS):
            yield plain.slice(start, _SLICE_KEYS)
