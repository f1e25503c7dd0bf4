"""Records of one key that lack values, joined one after another.

Source: CommitTimePartialRecordMerger, EventTimePartialRecordMerger, deltaMergeDeleteRecord and
PartialUpdateBufferedRecordMerger in BufferedRecordMergerFactory, Hudi 1.1.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyhudi.config.options.merging import MergeMode
from pyhudi.logfile.merge.log_records import LogRecords, packed, unpacked
from pyhudi.merge.choice import choose, fold
from pyhudi.merge.ordering import stored_is_newer
from pyhudi.merge.partial import Filling, filled_up
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Flags


def filled_records(arrived: LogRecords, rule: MergeRule) -> LogRecords:
    """One record a key, in which each has what it lacks from those that it goes before.

    Shapes: ``arrived`` in the order of arrival; the ``rule`` says by what records lack values.
    """
    filling = rule.filling
    if filling is None:
        return arrived

    def join(before: pa.Table, after: pa.Table) -> pa.Table:
        pair = unpacked(before, arrived), unpacked(after, arrived)
        return packed(_joined(*pair, rule.mode, filling))

    return unpacked(fold(packed(arrived), arrived.keys, join), arrived)


def _joined(before: LogRecords, after: LogRecords, mode: MergeMode, by: Filling) -> LogRecords:
    """Each record joined with the next of its key; nothing is filled into or from a delete."""
    is_later_first = _goes_first(before, after, mode)
    fills = ~before.is_delete & ~after.is_delete
    rows = filled_up(before.rows, after.rows, later_first=is_later_first, fills=fills, by=by)
    is_earlier_first = ~is_later_first
    pairs = zip(before.orderings, after.orderings, strict=True)
    return LogRecords(
        keys=after.keys,
        rows=rows,
        is_row=np.where(is_later_first, after.is_row, before.is_row),
        is_delete=np.where(is_later_first, after.is_delete, before.is_delete),
        is_final=np.where(is_later_first, after.is_final, before.is_final),
        orderings=tuple(_one(choose(lower, upper, is_earlier_first)) for lower, upper in pairs),
    )


def _goes_first(before: LogRecords, after: LogRecords, mode: MergeMode) -> Flags:
    """Where the later record goes before the earlier one.

    A row replaces a final delete whatever its ordering value; a delete changes nothing behind one.
    """
    if mode is MergeMode.COMMIT_TIME:
        return np.ones(len(after), dtype=bool)
    is_late = stored_is_newer(before.orderings, after.orderings)
    found: Flags = np.where(
        after.is_row, before.is_final | ~is_late, ~before.is_final & (after.is_final | ~is_late)
    )
    return found


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
