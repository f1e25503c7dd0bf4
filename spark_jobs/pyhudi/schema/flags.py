"""Columns of yes and no as NumPy arrays, with which rows are chosen and counted."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags: TypeAlias = npt.NDArray[np.bool_]


def flags_of(column: pa.BooleanArray | pa.ChunkedArray) -> Flags:
    """The values of a boolean column; null is no.

    Guarantees: the array is new, so that it may be changed.
    """
    flags: Flags = np.array(pc.fill_null(column, fill_value=False), dtype=bool)
    return flags
