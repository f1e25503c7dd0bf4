"""Java's hash of strings, over whole columns.

A string's hash is a polynomial in 31 over its UTF-16 code units. 31 is odd and so has an inverse
modulo 2**32, which makes the hash of every string a difference of two running sums.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.schema.columns import Bytes, Offsets, flags_of, text_buffers, text_slices

SLICE_ROWS: Final = 65_536
SLICE_BYTES: Final = 256 << 10

Hashes: TypeAlias = npt.NDArray[np.uint32]

_FACTOR: Final = np.uint32(31)
_INVERSE: Final = np.uint32(pow(31, -1, 1 << 32))
_FIRST_BEYOND_ASCII: Final = 0x80
_FIRST_SURROGATE_LEAD: Final = 0xF0


def java_string_hash(texts: pa.Array | pa.ChunkedArray) -> Hashes:
    """The hash code of each string, as the unsigned number with the same bits; 0 for null.

    Shapes: one uint32 per row, in order; plain strings.
    Guarantees: working memory beside the result is a few slices of ``SLICE_BYTES`` bytes or, when
        single strings are longer than that, of one string.
    Source: java.lang.String.hashCode.
    """
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    hashes: Hashes = np.empty(len(texts), dtype=np.uint32)
    start = 0
    for chunk in chunks:
        _hash_array(chunk.cast(pa.large_string()), hashes[start : start + len(chunk)])
        start += len(chunk)
    return hashes


def _hash_array(texts: pa.LargeStringArray, out: Hashes) -> None:
    if not len(texts):
        return
    offsets, data = text_buffers(texts)
    for start, stop in text_slices(offsets, rows=SLICE_ROWS, size_bytes=SLICE_BYTES):
        first, last = int(offsets[start]), int(offsets[stop])
        out[start:stop] = _hash_slice(data[first:last], offsets[start : stop + 1] - first)
    if texts.null_count:
        out[flags_of(texts.is_null())] = 0


def _hash_slice(data: Bytes, offsets: Offsets) -> Hashes:
    units, bounds = _code_units(data, offsets)
    count = len(units)
    powers, inverses = _powers((count | SLICE_BYTES).bit_length())
    sums: Hashes = np.zeros(count + 1, dtype=np.uint32)
    np.add.accumulate(units * inverses[1 : count + 1], out=sums[1:])
    hashes: Hashes = (sums[bounds[1:]] - sums[bounds[:-1]]) * powers[bounds[1:]]
    return hashes


@lru_cache(maxsize=1)
def _powers(bits: int) -> tuple[Hashes, Hashes]:
    """The powers of 31 and of its inverse, as many as a number of so many bits can ask for."""
    powers: Hashes = np.full(1 << bits, _FACTOR, dtype=np.uint32)
    inverses: Hashes = np.full(1 << bits, _INVERSE, dtype=np.uint32)
    powers[0] = inverses[0] = 1
    np.multiply.accumulate(powers, out=powers)
    np.multiply.accumulate(inverses, out=inverses)
    return powers, inverses


def _code_units(data: Bytes, offsets: Offsets) -> tuple[Hashes, Offsets]:
    """The UTF-16 code units of all texts and where each text begins among them."""
    if not len(data) or int(data.max()) < _FIRST_BEYOND_ASCII:
        return data.astype(np.uint32), offsets
    units = np.frombuffer(data.tobytes().decode("utf-8").encode("utf-16-le"), dtype="<u2")
    # A character's first byte stands for its one unit, or two; the bytes that continue it for none.
    is_first = (data & 0xC0) != _FIRST_BEYOND_ASCII
    per_byte = is_first.astype(np.int64) + (data >= _FIRST_SURROGATE_LEAD)
    before: Offsets = np.zeros(len(data) + 1, dtype=np.int64)
    np.cumsum(per_byte, out=before[1:])
    return units.astype(np.uint32), before[offsets]
