"""The smallest and the greatest record key of a file, in Java's order of strings."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# In UTF-8 a character beyond U+FFFF begins with F0 to F4 and sorts after all others; in UTF-16 its
# surrogates sort before the characters from U+E000 on, which begin with EE or EF.
_FIRST_PRIVATE: Final = 0xEE
_MOVED: Final = {0xEE: 0xFE, 0xEF: 0xFF}
_BACK: Final = bytes.maketrans(bytes(_MOVED.values()), bytes(_MOVED))


class KeyRange:
    """The range of the keys seen so far; None for both ends before the first.

    Source: HoodieBloomFilterWriteSupport.addKey with String.compareTo, Hudi 0.15.
    """

    def __init__(self) -> None:
        self._low: bytes | None = None
        self._high: bytes | None = None

    @property
    def min_key(self) -> str | None:
        """The smallest key."""
        return None if self._low is None else _from_sortable(self._low)

    @property
    def max_key(self) -> str | None:
        """The greatest key."""
        return None if self._high is None else _from_sortable(self._high)

    def add(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Take in the keys of the next rows.

        Shapes: strings, plain.
        """
        chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
        for chunk in chunks:
            ends = pc.min_max(_sortable(chunk))
            low, high = ends["min"].as_py(), ends["max"].as_py()
            if low is None:
                continue
            self._low = low if self._low is None else min(self._low, low)
            self._high = high if self._high is None else max(self._high, high)


def _sortable(keys: pa.Array) -> pa.Array:
    """The keys as bytes whose order is that of their UTF-16 code units."""
    as_bytes = keys.cast(pa.large_binary() if pa.types.is_large_string(keys.type) else pa.binary())
    validity, offsets, data = as_bytes.buffers()
    if data is None or not data.size:
        return as_bytes
    codes = np.frombuffer(data, dtype=np.uint8)
    if int(codes.max()) < _FIRST_PRIVATE:
        return as_bytes
    moved = codes.copy()
    for old, new in _MOVED.items():
        moved[codes == old] = new
    return pa.Array.from_buffers(
        as_bytes.type, len(as_bytes), [validity, offsets, pa.py_buffer(moved)], -1, as_bytes.offset
    )


def _from_sortable(key: bytes) -> str:
    return key.translate(_BACK).decode()
