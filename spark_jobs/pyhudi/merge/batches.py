"""The merge laws on Arrow columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = pa.Array | pa.ChunkedArray


def surviving_positions(keys: Column, ordering: Column | None) -> npt.NDArray[np.int64] | None:
    """Which rows stand for their key, in arrival order; None when every key occurs once.

    Of the rows of one key the one with the highest ordering value stands, of equal ones the one
    that arrived last. Without an ordering column the last to arrive stands.

    Shapes: ``keys`` strings without nulls; ``ordering`` any sortable type without nulls; the
    result is int64 positions, ascending.
    Source: HoodieWriteHelper.deduplicateRecords with EventTimeBasedMerger and
    CommitTimeBasedMerger, Hudi 1.1: a later row replaces an earlier one unless its ordering value
    is smaller.
    """
    codes = pc.dictionary_encode(_one_array(keys))
    if len(codes.dictionary) == len(codes):
        return None
    columns = {"key": codes.indices}
    sort_keys = [("key", "ascending")]
    if ordering is not None:
        columns["ordering"] = _one_array(ordering)
        sort_keys.append(("ordering", "ascending"))
    # Arrow's sort is stable: equal ordering values keep their order of arrival.
    order = pc.sort_indices(pa.table(columns), sort_keys=sort_keys).to_numpy()
    sorted_codes = codes.indices.to_numpy()[order]
    is_last: npt.NDArray[np.bool_] = np.append(sorted_codes[1:] != sorted_codes[:-1], [True])
    survivors: npt.NDArray[np.int64] = np.sort(order[is_last])
    return survivors


def incoming_wins(incoming: Column, stored: Column) -> Column:
    """Whether each incoming ordering value replaces the stored one beside it.

    The incoming row wins unless the stored value is greater; a stored null always loses.

    Shapes: two columns of one type and length; the result is boolean without nulls.
    Source: DefaultHoodieRecordPayload.needUpdatingPersistedRecord, Hudi 0.15 and 1.1.
    """
    return pc.fill_null(pc.greater_equal(incoming, stored), fill_value=True)


def _one_array(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
