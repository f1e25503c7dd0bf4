"""Rows to append in the order of the stored rows that they change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.columns import Flags, Positions, one_array
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.incoming import IncomingRows


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRows:
    """Rows, and for each the number of the stored row of its key, negative where it has no one.

    ``positions`` is None where that is not known.
    """

    rows: pa.Table
    positions: Positions | None

    @classmethod
    def of(
        cls, incoming: IncomingRows, arrived: pa.Table, stored_rows: Positions | None
    ) -> PlacedRows:
        """Incoming rows with the row numbers of the rows that they came of.

        Shapes: ``stored_rows`` for each of those that ``arrived``; rows of one key have one number.
        """
        if stored_rows is None:
            return cls(rows=incoming.rows, positions=None)
        keys = one_array(arrived.column(RECORD_KEY))
        if not incoming.keys.equals(keys):
            found = pc.index_in(incoming.keys, value_set=keys)
            stored_rows = stored_rows[found.to_numpy()]
        return cls(rows=incoming.rows, positions=stored_rows)

    def where(self, chosen: Flags) -> PlacedRows:
        """The chosen rows in the order of their positions, where each has one of its own.

        Source: HoodieLogBlock.addRecordPositionsIfRequired, Hudi 1.0 and 1.1.
        """
        rows = self.rows if chosen.all() else self.rows.filter(pa.array(chosen))
        if self.positions is None or not rows.num_rows:
            return PlacedRows(rows=rows, positions=None)
        positions = self.positions[chosen]
        order = np.argsort(positions, kind="stable")
        positions = positions[order]
        if positions[0] < 0 or not (positions[1:] > positions[:-1]).all():
            return PlacedRows(rows=rows, positions=None)
        return PlacedRows(rows=rows.take(pa.array(order)), positions=positions)
