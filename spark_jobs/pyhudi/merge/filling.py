"""Rows of one key filled into each other, column by column for all keys at once.

Source: PartialUpdateAvroPayload.preCombine, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyhudi.merge.choice import is_present
from pyhudi.merge.ordering import check_comparable, key_codes, ranks_of
from pyhudi.schema.columns import Column, Positions
from pyhudi.schema.metafields import META_FIELDS


def newest_filled(rows: pa.Table, keys: Column, ordering: Sequence[Column]) -> pa.Table:
    """A row a key: in every column the value that stays when its rows are joined one by one.

    Joining keeps the row of the higher ordering value, of equal ones the later, and fills its nulls
    from the other. So a row leads when no row before it is newer; the last leading row that has a
    value gives it, and where none has one, the first of the others that has. Meta columns are those
    of the last row.

    Shapes: in the order in which the keys' last rows arrived; no row is a delete.

    Raises:
        RequestError: rows of one key, one of which has no ordering value.
    """
    codes = key_codes(keys)
    if len(codes) == 0 or codes.max() + 1 == len(codes):
        return rows
    check_comparable(codes, ordering)
    order = np.argsort(codes, kind="stable").astype(np.int64)
    starts: Positions = np.flatnonzero(np.diff(codes[order], prepend=-1)).astype(np.int64)
    ends: Positions = np.append(starts[1:], len(order)) - 1
    leads = np.ones(len(order), dtype=bool)
    if ordering:
        ranks = ranks_of(ordering)[order]
        # Lifted by their group's number, the ranks of a group exceed those of all groups before.
        lifted = ranks + np.repeat(np.arange(len(starts)), ends - starts + 1) * (ranks.max() + 1)
        leads = lifted == np.maximum.accumulate(lifted)
    positions = np.arange(len(order))
    columns = []
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if name in META_FIELDS or not column.null_count:
            last = ends if name in META_FIELDS else _last(leads, positions, starts)
            columns.append(column.take(pa.array(order[last])))
            continue
        has_value = is_present(column)[order]
        leading = _last(has_value & leads, positions, starts)
        others = np.where(has_value & ~leads, positions, len(order))
        first = np.minimum.reduceat(others, starts)
        chosen = np.where(leading >= 0, leading, np.where(first < len(order), first, ends))
        columns.append(column.take(pa.array(order[chosen])))
    joined = pa.Table.from_arrays(columns, schema=rows.schema)
    return joined.take(pa.array(np.argsort(order[ends], kind="stable")))


def _last(flags: np.ndarray, positions: Positions, starts: Positions) -> Positions:
    """The last flagged position of each group, -1 where there is none."""
    last: Positions = np.maximum.reduceat(np.where(flags, positions, -1), starts)
    return last
