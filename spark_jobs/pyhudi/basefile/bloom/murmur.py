"""MurmurHash2 of record keys, many keys and many seeds at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import InvariantError, RecordKeyError
from pyhudi.schema.columns import Bytes, Offsets, Positions, order_of, text_buffers

Words: TypeAlias = npt.NDArray[np.uint32]

# A call of NumPy costs as much as the work on some thousand keys; working arrays of this many
# still stay in a core's second-level cache.
GROUP_KEYS: Final = 32_768

_M: Final = np.uint32(0x5BD1E995)
_R: Final = np.uint32(24)
_SHIFT_13: Final = np.uint32(13)
_SHIFT_15: Final = np.uint32(15)
_WORD_BYTES: Final = 4
_MASK_32: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroup:
    """Keys of one length in bytes, their words mixed as far as that does not depend on the seed.

    Shapes: ``rows`` are the keys' row numbers in the array they came from; ``words`` has a line for
        each whole word and a column a key; ``tail`` one value a key, None when no byte is left.
    """

    rows: Positions
    length: int
    words: Words
    tail: Words | None

    def hashes(self, seeds: Words) -> None:
        """Replace each key's seed by the key's hash with that seed.

        Source: MurmurHash (Hadoop's, in org.apache.hudi.common.util.hash), Hudi 0.15; the bytes
        after the last whole word are signed there.
        """
        shifted = np.empty_like(seeds)
        np.bitwise_xor(seeds, np.uint32(self.length & _MASK_32), out=seeds)
        for word in self.words:
            np.multiply(seeds, _M, out=seeds)
            np.bitwise_xor(seeds, word, out=seeds)
        if self.tail is not None:
            np.bitwise_xor(seeds, self.tail, out=seeds)
            np.multiply(seeds, _M, out=seeds)
        np.right_shift(seeds, _SHIFT_13, out=shifted)
        np.bitwise_xor(seeds, shifted, out=seeds)
        np.multiply(seeds, _M, out=seeds)
        np.right_shift(seeds, _SHIFT_15, out=shifted)
        np.bitwise_xor(seeds, shifted, out=seeds)

    def bit_positions(self, hash_count: int, vector_size: int) -> Iterator[Positions]:
        """The bits that a Bloom filter sets for the keys: one array for each hash function.

        Shapes: one position a key, in the order of ``rows``; the array is overwritten by the next.
        Source: org.apache.hudi.common.bloom.HashFunction, Hudi 0.15 (each hash is the seed of the
        next; the absolute value is taken of Java's signed remainder).
        """
        seeds: Words = np.zeros(len(self.rows), dtype=np.uint32)
        magnitude, quotient = np.empty_like(seeds), np.empty_like(seeds)
        positions: Positions = np.empty(len(seeds), dtype=np.int64)
        size = np.uint32(vector_size)
        for _ in range(hash_count):
            self.hashes(seeds)
            # The absolute value of the least int wraps to itself, which unsigned is 2**31: right.
            np.absolute(seeds.view(np.int32), out=magnitude.view(np.int32))
            np.floor_divide(magnitude, size, out=quotient)
            np.multiply(quotient, size, out=quotient)
            np.subtract(magnitude, quotient, out=positions)
            yield positions


def refuse_empty(keys: pa.Array) -> None:
    """Refuse keys that no record can have.

    Shapes: string or large_string.

    Raises:
        RecordKeyError: a null or an empty key.
    """
    if len(keys):
        _lengths(keys, text_buffers(keys)[0])


def key_groups(keys: pa.Array) -> Iterator[KeyGroup]:
    """Cut keys into groups of one length, at most ``GROUP_KEYS`` each.

    Shapes: string or large_string without nulls and empty texts.

    Raises:
        RecordKeyError: a null or an empty key.
    """
    if not len(keys):
        return
    if sys.byteorder == "big":
        raise InvariantError("Arrow buffers of a big-endian machine cannot be hashed")
    offsets, data = text_buffers(keys)
    lengths = _lengths(keys, offsets)
    starts = offsets[:-1].astype(np.int64)
    order = order_of(lengths)
    bounds: Positions = np.flatnonzero(np.diff(lengths[order])) + 1
    for same in np.split(order, bounds):
        for first in range(0, len(same), GROUP_KEYS):
            rows = same[first : first + GROUP_KEYS]
            yield _mix(rows, starts[rows], int(lengths[rows[0]]), data)


def _lengths(keys: pa.Array, offsets: Offsets) -> Offsets:
    lengths = np.diff(offsets)
    if keys.null_count or int(lengths.min()) == 0:
        empty = int((lengths == 0).sum())
        raise RecordKeyError(
            f"{empty} of {len(keys)} record keys are null or empty; every row needs a record key"
        )
    return lengths


def _mix(rows: Positions, starts: Positions, length: int, data: Bytes) -> KeyGroup:
    whole, left = divmod(length, _WORD_BYTES)
    words: Words = np.empty((whole, len(rows)), dtype=np.uint32)
    overlapping = _words_at_every_byte(data)
    for number in range(whole):
        word = overlapping[starts + number * _WORD_BYTES].astype(np.uint32, copy=False)
        word = word * _M
        word ^= word >> _R
        np.multiply(word, _M, out=words[number])
    tail: Words | None = None
    if left:
        signed = data.view(np.int8)
        ends = starts + length
        mixed: npt.NDArray[np.int32] = np.zeros(len(rows), dtype=np.int32)
        for back in range(left):
            mixed ^= signed[ends - 1 - back].astype(np.int32) << np.int32(8 * back)
        tail = mixed.view(np.uint32)
    return KeyGroup(rows=rows, length=length, words=words, tail=tail)


def _words_at_every_byte(data: Bytes) -> npt.NDArray[np.uint32]:
    """A view of the bytes in which element i is the little-endian word that begins at byte i."""
    count = max(len(data) - _WORD_BYTES + 1, 0)
    return np.ndarray((count,), dtype=np.dtype("<u4"), buffer=data, strides=(1,))
