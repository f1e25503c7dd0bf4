"""The rows of a batch that go to one file group, ready to be looked up by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.merge.batches import surviving_positions
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.job import WriteJob

SOFT_DELETE = "_hoodie_is_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRows:
    """Rows to write to one file group.

    Shapes: ``rows`` has the record key first, then the table's data columns; ``keys`` is that key
    column in one array; ``is_delete`` has one value a row and is None when no row is a delete.
    """

    rows: pa.Table
    keys: pa.Array
    is_delete: npt.NDArray[np.bool_] | None

    @classmethod
    def gather(cls, rows: pa.Table, job: WriteJob, *, is_lookup: bool = False) -> IncomingRows:
        """Collect the rows of one file group, one a key where the operation combines them.

        For a lookup by key there is one a key in any case: the last, where nothing combines them.

        Source: HoodieMergeHandle.init, Hudi 0.15 (a map by record key).
        """
        if (job.combine_batch or is_lookup) and rows.num_rows > 1:
            is_ordered = job.combine_batch and not job.is_deleting
            has_order = job.ordering_field is not None and is_ordered
            ordering = rows.column(job.ordering_field) if has_order else None
            positions = surviving_positions(rows.column(RECORD_KEY), ordering)
            if positions is not None:
                rows = rows.take(pa.array(positions))
        keys = rows.column(RECORD_KEY).combine_chunks()
        return cls(rows=rows, keys=keys, is_delete=_deletes(rows, job))

    def positions_of(self, keys: pa.Array | pa.ChunkedArray) -> pa.Array:
        """For each of a stored file's keys its position here; null where there is none."""
        found = pc.index_in(keys, value_set=self.keys)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _deletes(rows: pa.Table, job: WriteJob) -> npt.NDArray[np.bool_] | None:
    if job.is_deleting:
        return np.ones(rows.num_rows, dtype=bool)
    if SOFT_DELETE not in rows.schema.names:
        return None
    if not pa.types.is_boolean(rows.schema.field(SOFT_DELETE).type):
        return None
    column = pc.fill_null(rows.column(SOFT_DELETE), fill_value=False)
    flags: npt.NDArray[np.bool_] = column.to_numpy()
    return flags if flags.any() else None
