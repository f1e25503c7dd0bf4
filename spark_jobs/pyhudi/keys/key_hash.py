"""A 64-bit hash of record keys, computed over Arrow buffers.

The hash is the engine's own: it is never written to a table, it only has to be the same for equal
strings in every process of one write.
"""

from __future__ import annotations

import sys
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.schema.columns import Bytes, Offsets, Positions, flags_of, text_buffers, text_slices

SLICE_ROWS = 32_768
SLICE_BYTES = 4 << 20

_WORD_BYTES = 8
_LENGTH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_WORD_FACTOR = np.uint64(0xC6A4A7935BD1E995)
_FINAL_1 = np.uint64(0xBF58476D1CE4E5B9)
_FINAL_2 = np.uint64(0x94D049BB133111EB)

_Hashes: TypeAlias = npt.NDArray[np.uint64]


def key_hash(keys: pa.Array | pa.ChunkedArray) -> _Hashes:
    """Hash strings to well-mixed 64-bit values.

    Equal strings have equal hashes whatever array, offset, chunk or string type they come from,
    and in whatever process; a null hashes to 0.

    Shapes: one uint64 per row, in order; string and large_string (or binary) keys.
    Guarantees: working memory beside the result is a few slices of ``SLICE_ROWS`` rows or, when
        single keys are longer than that, of one key.
    Raises: InvariantError when the keys are neither strings nor binary.
    """
    chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
    hashes: _Hashes = np.empty(len(keys), dtype=np.uint64)
    start = 0
    for chunk in chunks:
        _hash_array(chunk, hashes[start : start + len(chunk)])
        start += len(chunk)
    return hashes


def _hash_array(keys: pa.Array, out: _Hashes) -> None:
    if not len(keys):
        return
    offsets, data = text_buffers(keys)
    for start, stop in text_slices(offsets, rows=SLICE_ROWS, size_bytes=SLICE_BYTES):
        _hash_slice(offsets[start : stop + 1], data, out[start:stop])
    if keys.null_count:
        out[flags_of(keys.is_null())] = 0


def _hash_slice(offsets: Offsets, data: Bytes, out: _Hashes) -> None:
    first, last = int(offsets[0]), int(offsets[-1])
    # A word may be read beyond the last key's end: the copy has room for it, the buffer has not.
    padded: Bytes = np.zeros(last - first + _WORD_BYTES, dtype=np.uint8)
    padded[:-_WORD_BYTES] = data[first:last]
    words: _Hashes = np.ndarray(
        (last - first + 1,), dtype=np.dtype("<u8"), buffer=padded.data, strides=(1,)
    )
    positions = offsets[:-1].astype(np.int64) - first
    lengths = np.diff(offsets).astype(np.int64)

    np.multiply((lengths + 1).view(np.uint64), _LENGTH_FACTOR, out=out)
    rows: Positions | None = None
    consumed, longest, shortest = 0, int(lengths.max()), int(lengths.min())
    while consumed < longest:
        if rows is None and consumed >= shortest:
            rows = np.flatnonzero(lengths > consumed)
        elif rows is not None:
            rows = rows[lengths[rows] > consumed]
        if rows is None:
            _mix_words(out, words, positions + consumed, lengths - consumed)
        else:
            states = out[rows]
            _mix_words(states, words, positions[rows] + consumed, lengths[rows] - consumed)
            out[rows] = states
        consumed += _WORD_BYTES
    _finish(out)


def _mix_words(states: _Hashes, words: _Hashes, positions: Positions, left: Positions) -> None:
    """Mix the next word of each key, up to 8 of the ``left`` bytes, into its state."""
    word = words[positions]
    if sys.byteorder == "big":
        word = word.astype(np.uint64)
    # Bytes of the next key are shifted out at the top; the length, already in the state, tells
    # a short last word from a longer one that ends in zeros.
    surplus = np.maximum(_WORD_BYTES - left, 0)
    np.left_shift(word, (surplus << 3).view(np.uint64), out=word)
    np.multiply(word, _WORD_FACTOR, out=word)
    np.bitwise_xor(word, word >> np.uint64(47), out=word)
    np.multiply(word, _WORD_FACTOR, out=word)
    np.bitwise_xor(states, word, out=states)
    np.multiply(states, _WORD_FACTOR, out=states)
    np.bitwise_xor(states, states >> np.uint64(32), out=states)


def _finish(states: _Hashes) -> None:
    np.bitwise_xor(states, states >> np.uint64(30), out=states)
    np.multiply(states, _FINAL_1, out=states)
    np.bitwise_xor(states, states >> np.uint64(27), out=states)
    np.multiply(states, _FINAL_2, out=states)
    np.bitwise_xor(states, states >> np.uint64(31), out=states)
