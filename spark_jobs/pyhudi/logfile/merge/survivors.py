"""Which record of a key survives, where whole records do: by ordering value, then by arrival.

Source: EventTimeRecordMerger, CommitTimeRecordMerger, deltaMergeDeleteRecord in
BufferedRecordMergerFactory, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.merge.ordering import ranks_of
from pyhudi.schema.columns import Flags, Positions, flags_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Records in the order in which they arrived.

    ``is_delete_record`` flags those of delete blocks, ``is_final`` those among them that delete
    whatever the ordering values are.

    Shapes: one entry a record in each; ``codes`` are numbers for keys from 0; no ``orderings``
        where the order of arrival counts.
    """

    codes: npt.NDArray[np.int32]
    orderings: Sequence[pa.Array]
    is_delete_record: Flags
    is_final: Flags


def surviving_records(arrivals: Arrivals) -> Positions:
    """The position of the record that survives of each key, ascending.

    The one of the highest ordering value survives, of equal ones the last. A final delete replaces
    all that came earlier, and any row after it replaces it; a delete that directly follows one
    changes nothing. A row without ordering value is older than all others.
    """
    count = len(arrivals.codes)
    positions = np.arange(count)
    if not arrivals.orderings:
        return _last_of_each(arrivals.codes, positions, positions)
    is_candidate = _not_overruled(arrivals)
    ranks = ranks_of(arrivals.orderings)
    for column in arrivals.orderings:
        if column.null_count:
            ranks[flags_of(column.is_null())] = -1
    candidates = positions[is_candidate]
    return _last_of_each(arrivals.codes[candidates], ranks[candidates], candidates)


def _not_overruled(arrivals: Arrivals) -> Flags:
    """The records that are left to be compared: those since the last final delete of their key."""
    count = len(arrivals.codes)
    positions = np.arange(count)
    keys = int(arrivals.codes.max()) + 1
    last_final = np.full(keys, -1)
    finals = np.flatnonzero(arrivals.is_final)
    np.maximum.at(last_final, arrivals.codes[finals], finals)
    barrier = last_final[arrivals.codes]
    # Of the records behind it the first row replaces it, whatever their ordering values.
    is_row_behind = ~arrivals.is_delete_record & (positions > barrier)
    first_row = np.full(keys, count)
    rows = np.flatnonzero(is_row_behind)
    np.minimum.at(first_row, arrivals.codes[rows], rows)
    start = first_row[arrivals.codes]
    is_replaced = start < count
    has_barrier = barrier >= 0
    behind: Flags = np.where(is_replaced, positions >= start, positions == barrier)
    return np.where(has_barrier, behind, np.ones(count, dtype=bool))


def _last_of_each(
    codes: npt.NDArray[np.int32], ranks: npt.NDArray[np.int64], positions: Positions
) -> Positions:
    order = np.lexsort((positions, ranks, codes))
    ordered = codes[order]
    is_last = np.append(ordered[1:] != ordered[:-1], [True])
    found: Positions = np.sort(positions[order[is_last]])
    return found
