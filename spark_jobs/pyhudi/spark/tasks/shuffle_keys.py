"""Spark's Murmur3 of an int column, and its inverse: ints that land in a chosen partition."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

SPARK_SEED = 42

_MASK = 0xFFFFFFFF
_C1 = 0xCC9E2D51
_C2 = 0x1B873593
_ADD = 0xE6546B64
_FINAL_1 = 0x85EBCA6B
_FINAL_2 = 0xC2B2AE35
_INT_LENGTH = 4

_Words: TypeAlias = npt.NDArray[np.uint32]


def spark_hash_int(values: npt.NDArray[np.int32], seed: int = SPARK_SEED) -> npt.NDArray[np.int32]:
    """Hash ints as ``pyspark.sql.functions.hash`` hashes a non-null int column.

    Shapes: one int32 per value, in order.
    Source: Murmur3_x86_32.hashInt, Spark 3.5 and 4.x.
    """
    mixed = np.asarray(values, dtype=np.int32).view(np.uint32) * np.uint32(_C1)
    mixed = _rotate_left(mixed, 15) * np.uint32(_C2)
    state = _rotate_left(mixed ^ np.uint32(seed & _MASK), 13) * np.uint32(5) + np.uint32(_ADD)
    state ^= np.uint32(_INT_LENGTH)
    state ^= state >> np.uint32(16)
    state *= np.uint32(_FINAL_1)
    state ^= state >> np.uint32(13)
    state *= np.uint32(_FINAL_2)
    state ^= state >> np.uint32(16)
    return state.view(np.int32)


def shuffle_keys(num_partitions: int) -> npt.NDArray[np.int32]:
    """Give, for each partition, an int that Spark's hash partitioning sends exactly there.

    ``df.repartition(n, column)`` places a row in ``pmod(hash(column), n)``. The hash of an int is
    a bijection, so the int whose hash is ``i`` itself is computed and not searched for; it goes
    to partition ``i`` for every ``n > i``.

    Shapes: ``num_partitions`` int32, all different.
    Raises: ValueError when ``num_partitions`` is not between 1 and 2**31 - 1.
    Source: HashPartitioning and Murmur3_x86_32, Spark 3.5 and 4.x.
    """
    if not 1 <= num_partitions < 1 << 31:
        raise ValueError(f"num_partitions must be in 1..2**31-1, found {num_partitions}")
    state: _Words = np.arange(num_partitions, dtype=np.uint32)
    state ^= state >> np.uint32(16)
    state *= _inverse(_FINAL_2)
    state ^= (state >> np.uint32(13)) ^ (state >> np.uint32(26))
    state *= _inverse(_FINAL_1)
    state ^= state >> np.uint32(16)
    state ^= np.uint32(_INT_LENGTH)
    state = (state - np.uint32(_ADD)) * _inverse(5)
    mixed = (_rotate_left(state, 32 - 13) ^ np.uint32(SPARK_SEED)) * _inverse(_C2)
    return (_rotate_left(mixed, 32 - 15) * _inverse(_C1)).view(np.int32)


def _rotate_left(words: _Words, bits: int) -> _Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def _inverse(odd: int) -> np.uint32:
    return np.uint32(pow(odd, -1, 1 << 32))
