"""Rows put aside on disk, so that those of a key can be had together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.keys.java_hash import java_string_hash
from pyhudi.logfile.merge.row_file import RowFile, rows_at

PARTS: Final = 64
# Hashes of keys that differ in their last digits lie close together; this spreads them.
_SPREAD: Final = np.uint32(2_654_435_769)
_PART_BITS: Final = PARTS.bit_length() - 1


class KeyedSpill:
    """Rows on disk in parts by a hash of their key.

    Guarantees: the rows of a key lie in one part, in the order in which they were added.

    Raises:
        StorageError: the folder takes no files.
    """

    def __init__(self, schema: pa.Schema, key_column: str, folder: str | None) -> None:
        self._file = RowFile(schema, folder)
        self._schema = schema
        self._key_column = key_column
        self._batches: list[list[int]] = [[] for _ in range(PARTS)]

    def close(self) -> None:
        """Give up what was put aside."""
        self._file.close()

    def add(self, rows: pa.Table) -> None:
        """Put rows aside.

        Raises:
            StorageError: the disk is full, or fails.
        """
        parts = _part_of(rows.column(self._key_column))
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(PARTS), side="right")
        first = 0
        for numbers, end in zip(self._batches, ends.tolist(), strict=True):
            if end > first:
                numbers += self._file.append(rows_at(rows, order[first:end]))
            first = end

    def parts(self) -> Iterator[pa.Table]:
        """The rows of each part that has some; nothing can be added after that.

        Raises:
            StorageError: the disk is full, or fails.
        """
        batches = self._file.mapped()
        for numbers in self._batches:
            if numbers:
                yield pa.Table.from_batches([batches[each] for each in numbers], self._schema)


def _part_of(keys: pa.ChunkedArray) -> npt.NDArray[np.uint8]:
    """The part that each key's rows lie in."""
    spread = java_string_hash(keys) * _SPREAD
    return (spread >> np.uint32(32 - _PART_BITS)).astype(np.uint8)
