"""Arrow columns in one piece, and as NumPy arrays with which rows are chosen and counted."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = pa.Array | pa.ChunkedArray
Flags: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = npt.NDArray[np.int64]

_MOST_16_BITS: Final = (1 << 16) - 1


def one_array(column: Column) -> pa.Array:
    """The column in one piece, which is copied only where it is in several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def flags_of(column: Column) -> Flags:
    """The values of a boolean column; null is no.

    Guarantees: the array is new, so that it may be changed.
    """
    flags: Flags = np.array(pc.fill_null(column, fill_value=False), dtype=bool)
    return flags


def order_of(codes: npt.NDArray[np.integer]) -> Positions:
    """The positions of whole numbers in their order, equal ones as they come.

    Numbers of 16 bits are sorted by radix, in a third of the time.
    """
    if len(codes) and codes.min() >= 0 and codes.max() <= _MOST_16_BITS:
        codes = codes.astype(np.uint16)
    return np.argsort(codes, kind="stable")
