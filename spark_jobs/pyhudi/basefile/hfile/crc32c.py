"""CRC-32C of the chunks of some bytes, all chunks at once.

Checksums are linear: that of two parts is the first one's, moved past as many zero bytes as the
second part has, with the second one's. So words are joined in pairs, pairs in fours, and so on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Octets: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint32]

_POLYNOMIAL: Final = np.uint32(0x82F63B78)
_WORD_BYTES: Final = 4
_BEGIN: Final = b"\x54\x64\x1f\x64"
"""A word that takes the register from zero to all ones, where a checksum begins."""


def crc32c(data: bytes | memoryview, chunk_bytes: int) -> Words:
    """The checksum of each ``chunk_bytes`` of the data, and of what is left at its end.

    Source: RFC 3720, appendix B.4.
    """
    octets = np.frombuffer(data, dtype=np.uint8)
    length = min(chunk_bytes, len(octets))
    if not length:
        return np.zeros(0, dtype=np.uint32)
    whole = len(octets) // length
    found = _of_equal(octets[: whole * length].reshape(whole, length))
    rest = octets[whole * length :]
    return np.append(found, _of_equal(rest[None, :])) if len(rest) else found


def _of_equal(chunks: Octets) -> Words:
    """The checksums of chunks of one length, a row each."""
    return ~(_registers(chunks) ^ _begun(chunks.shape[1]))


@lru_cache(maxsize=64)
def _begun(length: int) -> np.uint32:
    """The register of all ones, moved past so many zero bytes."""
    blank = np.frombuffer(_BEGIN + bytes(length), dtype=np.uint8)
    found: np.uint32 = _registers(blank[None, :])[0]
    return found


def _registers(chunks: Octets) -> Words:
    """What chunks of one length make of a register of zero."""
    count, length = chunks.shape
    levels = max(0, (length - 1).bit_length() - 2)
    # Zero bytes before all others change nothing.
    padded = np.zeros((count, _WORD_BYTES << levels), dtype=np.uint8)
    padded[:, -length:] = chunks
    words: Words = padded.view("<u4").astype(np.uint32, copy=False)
    for level in range(levels):
        words = _moved(words[:, 0::2], level) ^ words[:, 1::2]
    return _moved(words[:, 0], 0)


def _moved(registers: Words, level: int) -> Words:
    """Registers moved past two to the power of ``level`` words of zeros."""
    table = _table(level)
    found: Words = table[0].take(registers & 0xFF)
    for byte in range(1, _WORD_BYTES):
        found ^= table[byte].take((registers >> (8 * byte)) & 0xFF)
    return found


@lru_cache(maxsize=32)
def _table(level: int) -> Words:
    """The register that each value of each of its bytes gives when it is moved.

    Shapes: a row for each byte, the least first, a column for each value.
    """
    values = np.arange(256, dtype=np.uint32)
    table: Words = np.stack([values << (8 * byte) for byte in range(_WORD_BYTES)])
    if level:
        return _moved(_moved(table, level - 1), level - 1)
    for _ in range(8 * _WORD_BYTES):
        table = (table >> np.uint32(1)) ^ ((table & np.uint32(1)) * _POLYNOMIAL)
    return table
