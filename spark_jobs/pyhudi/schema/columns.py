"""Arrow columns in one piece, and as NumPy arrays with which rows are chosen and counted."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = pa.Array | pa.ChunkedArray
Flags: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = npt.NDArray[np.int64]


def one_array(column: Column) -> pa.Array:
    """The column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def flags_of(column: Column) -> Flags:
    """The values of a boolean column; null is no.

    Guarantees: the array is new, so that it may be changed.
    """
    flags: Flags = np.array(pc.fill_null(column, fill_value=False), dtype=bool)
    return flags
