"""The rows of a batch that go to one file group, ready to be looked up by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi.merge.ordering import surviving_positions
from pyhudi.schema.columns import Flags, one_array
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.context import WriteContext


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRows:
    """Rows to write to one file group.

    Shapes: ``rows`` has the record key first, then the table's data columns; ``keys`` is that key
    column in one array; ``is_delete`` has one value a row and is None when no row is a delete.
    """

    rows: pa.Table
    keys: pa.Array
    is_delete: Flags | None

    @classmethod
    def gather(
        cls, rows: pa.Table, context: WriteContext, *, is_lookup: bool = False
    ) -> IncomingRows:
        """Collect the rows of one file group, one a key where the operation combines them.

        For a lookup by key there is one a key in any case.

        Source: HoodieWriteHelper.combineOnCondition, FileGroupReaderBasedMergeHandle, Hudi 1.1.
        """
        names = rows.schema.names
        if (context.combine_batch or is_lookup) and rows.num_rows > 1:
            rows = _one_a_key(rows, context, is_lookup=not context.combine_batch)
        is_delete = _deletes(rows, context)
        rows = rows.select(names)
        return cls(rows=rows, keys=one_array(rows.column(RECORD_KEY)), is_delete=is_delete)


def _one_a_key(rows: pa.Table, context: WriteContext, *, is_lookup: bool) -> pa.Table:
    keys = rows.column(RECORD_KEY)
    if not context.is_deleting:
        return context.rule.combine(rows, keys, is_lookup=is_lookup)
    positions = surviving_positions(keys, ())
    return rows if positions is None else rows.take(pa.array(positions))


def _deletes(rows: pa.Table, context: WriteContext) -> Flags | None:
    if context.is_deleting:
        return np.ones(rows.num_rows, dtype=bool)
    return context.rule.deleted(rows)
