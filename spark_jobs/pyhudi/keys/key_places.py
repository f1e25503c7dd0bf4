"""Where keys stand among those of incoming records, asked again for each batch of stored rows."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.keys.java_hash import java_string_hash
from pyhudi.schema.columns import Column, Positions, flags_of, one_array

MANY_KEYS: Final = 1 << 17
_LONGEST_RUN: Final = 16

_Hashes: TypeAlias = npt.NDArray[np.uint32]


class KeyPlaces:
    """Keys, each once, and where they stand.

    Arrow's own search makes a hash table of all keys for each batch that it is asked about. Of many
    keys the hashes are sorted here, once, and those of a batch are looked up among them.
    """

    def __init__(self, keys: pa.StringArray) -> None:
        self._keys = keys
        self._hashes: _Hashes | None = None
        if len(keys) < max(1, MANY_KEYS):
            return
        hashes = java_string_hash(keys)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        run = _longest_run(ordered)
        if run <= _LONGEST_RUN:
            self._hashes, self._order, self._run = ordered, order, run

    def find(self, keys: Column) -> tuple[Positions, Positions]:
        """Which of some keys are among these, and where.

        Shapes: row numbers of the ``keys``, ascending, and a place for each of them.
        """
        if self._hashes is None:
            found = one_array(pc.index_in(keys, value_set=self._keys))
            rows = np.flatnonzero(flags_of(found.is_valid()))
            return rows, found.drop_null().to_numpy().astype(np.int64)
        return self._found(one_array(keys).cast(pa.string()), self._hashes)

    def _found(self, keys: pa.StringArray, ordered: _Hashes) -> tuple[Positions, Positions]:
        hashes = java_string_hash(keys)
        first = np.searchsorted(ordered, hashes)
        rows, places = [], []
        # Keys of one hash stand side by side.
        for step in range(self._run):
            at = first + step
            candidates = np.flatnonzero(at < len(ordered))
            candidates = candidates[ordered[at[candidates]] == hashes[candidates]]
            found = self._order[at[candidates]]
            same = pc.equal(keys.take(pa.array(candidates)), self._keys.take(pa.array(found)))
            is_same = flags_of(pc.fill_null(same, fill_value=False))
            rows.append(candidates[is_same])
            places.append(found[is_same])
        chosen = np.concatenate(rows)
        order = np.argsort(chosen, kind="stable")
        return chosen[order], np.concatenate(places)[order]


def _longest_run(ordered: _Hashes) -> int:
    """How often the commonest of some ordered numbers occurs."""
    starts = np.flatnonzero(np.append([True], ordered[1:] != ordered[:-1]))
    return int(np.diff(np.append(starts, len(ordered))).max())
