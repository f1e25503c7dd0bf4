"""Keys of incoming records, held against one batch of stored keys after another.

Arrow's own search makes a hash table of everything that is sought for each batch that it is asked
about. Of many keys the hashes are sorted here, once, and those of a batch are looked up among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.keys.java_hash import Hashes, java_string_hash
from pyhudi.schema.columns import Column, Flags, Positions, flags_of, one_array

MANY_KEYS: Final = 1 << 15
_LONGEST_RUN: Final = 16
_MARKS_PER_KEY: Final = 8
_MOST_MARK_BITS: Final = 24
ABSENT: Final = -1
"""The row number of a key that is not stored."""
SEVERAL: Final = -2
"""That of a key which several stored rows have."""


class KeyPositions:
    """Keys, each once, and their positions."""

    def __init__(self, keys: pa.StringArray) -> None:
        self._keys = keys
        self._sorted = _SortedHashes.of(keys)

    @property
    def least_rows(self) -> int:
        """How many stored keys are best asked about together, at least."""
        return 0 if self._sorted is not None else 2 * len(self._keys)

    def find(self, keys: Column) -> tuple[Positions, Positions]:
        """Which of some keys are among these, and at which positions.

        Shapes: row numbers of the ``keys``, ascending, and a position for each of them.
        """
        if self._sorted is None:
            found = one_array(pc.index_in(keys, value_set=self._keys))
            rows = np.flatnonzero(flags_of(found.is_valid()))
            return rows, found.drop_null().to_numpy().astype(np.int64)
        rows, positions = self._sorted.find(keys)
        order = np.argsort(rows, kind="stable")
        return rows[order], positions[order]


class SoughtKeys:
    """Keys, each as often as it comes, of which some may be stored."""

    def __init__(self, keys: pa.StringArray) -> None:
        self.keys = keys
        self._distinct_of_key: npt.NDArray[np.int32] | None = None
        hashes = _SortedHashes.of(keys)
        if hashes is not None:
            self._find, self._least_rows, self._count = hashes.find, 0, len(keys)
            return
        encoded = pc.dictionary_encode(keys)
        distinct = KeyPositions(encoded.dictionary)
        self._find, self._least_rows = distinct.find, distinct.least_rows
        self._distinct_of_key, self._count = encoded.indices.to_numpy(), len(encoded.dictionary)

    def are_among(self, stored: Callable[[int], Iterable[Column]]) -> Flags:
        """Whether each of the keys is stored.

        ``stored`` gives the stored keys in batches, of at least as many rows as it is given.
        """
        is_met: Flags = np.zeros(self._count, dtype=bool)
        for batch in stored(self._least_rows):
            _, positions = self._find(batch)
            is_met[positions] = True
        return is_met if self._distinct_of_key is None else is_met[self._distinct_of_key]

    def rows_among(self, stored: Callable[[int], Iterable[Column]]) -> Positions:
        """The number of the stored row that has each of the keys; ``ABSENT`` or ``SEVERAL`` else.

        ``stored`` is as for ``are_among``; rows are counted through all batches.
        """
        found: Positions = np.full(self._count, ABSENT)
        first = 0
        for batch in stored(self._least_rows):
            rows, positions = self._find(batch)
            rows += first
            is_again = found[positions] != ABSENT
            found[positions] = rows
            # Where two rows of this batch have one key, one of them is not there any more.
            is_again |= found[positions] != rows
            found[positions[is_again]] = SEVERAL
            first += len(batch)
        return found if self._distinct_of_key is None else found[self._distinct_of_key]


class _SortedHashes:
    """The hashes of keys in order, and marks by which most other keys are ruled out at once."""

    def __init__(self, keys: pa.StringArray, ordered: Hashes, order: Positions, run: int) -> None:
        self._keys, self._ordered, self._order, self._run = keys, ordered, order, run
        bits = min(_MOST_MARK_BITS, (_MARKS_PER_KEY * len(keys)).bit_length())
        self._mask = np.uint32((1 << bits) - 1)
        self._marks: Flags = np.zeros(1 << bits, dtype=bool)
        self._marks[ordered & self._mask] = True

    @classmethod
    def of(cls, keys: pa.StringArray) -> _SortedHashes | None:
        """None of few keys, and where many have one hash, because they are one or by intent."""
        if len(keys) < max(1, MANY_KEYS):
            return None
        hashes = java_string_hash(keys)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        run = _longest_run(ordered)
        return None if run > _LONGEST_RUN else cls(keys, ordered, order, run)

    def find(self, keys: Column) -> tuple[Positions, Positions]:
        """Row numbers of ``keys`` and positions of the same keys among these: all such pairs."""
        asked = one_array(keys).cast(pa.string())
        hashes = java_string_hash(asked)
        likely = np.flatnonzero(self._marks[hashes & self._mask])
        hashes = hashes[likely]
        first = np.searchsorted(self._ordered, hashes)
        rows, positions = [], []
        # Keys of one hash lie side by side.
        for step in range(self._run):
            at = first + step
            candidates = np.flatnonzero(at < len(self._ordered))
            candidates = candidates[self._ordered[at[candidates]] == hashes[candidates]]
            found, asking = self._order[at[candidates]], likely[candidates]
            same = pc.equal(asked.take(pa.array(asking)), self._keys.take(pa.array(found)))
            is_same = flags_of(same)
            rows.append(asking[is_same])
            positions.append(found[is_same])
        return np.concatenate(rows), np.concatenate(positions)


def _longest_run(ordered: Hashes) -> int:
    """How often the commonest of some ordered numbers occurs."""
    starts = np.flatnonzero(np.append([True], ordered[1:] != ordered[:-1]))
    return int(np.diff(np.append(starts, len(ordered))).max())
