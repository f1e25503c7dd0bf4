"""Record keys of tables that have no record key: where a row stood when it was written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def row_numbers(task: int, first_row: int, count: int) -> pa.StringArray:
    """The origins of some rows: the task that reads them and their number within it.

    Source: AutoRecordGenWrapperKeyGenerator, Hudi 0.15 and 1.1 (the part behind the instant).
    """
    numbers = pa.array(np.arange(first_row, first_row + count)).cast(pa.string())
    return pc.binary_join_element_wise(str(task), numbers, "_")


def generated_keys(instant: str, origins: pa.StringArray | pa.ChunkedArray) -> pa.ChunkedArray:
    """The record keys of rows that a write of an instant adds, as in ``20260102030405678_0_17``.

    Source: HoodieRecord.generateSequenceId, Hudi 0.15 and 1.1.
    """
    return pc.binary_join_element_wise(instant, origins, "_")
