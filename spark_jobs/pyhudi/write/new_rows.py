"""Rows of a write with the meta columns that they get."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.keys.generated import generated_keys
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    META_FIELDS,
    PARTITION_PATH,
    RECORD_KEY,
)
from pyhudi.write.context import WriteContext


def new_rows(
    context: WriteContext,
    task: TaskIdentity,
    rows: pa.Table,
    *,
    partition: str,
    file_name: str,
    first: int,
) -> pa.Table:
    """Rows of this instant, meta columns first; ``first`` is the sequence number of the first row.

    Shapes: ``rows`` has the record key, then the table's data columns; the result the columns of
        the table's schema, texts that are the same in every row with a dictionary.
    Source: HoodieCreateHandle and HoodieAppendHandle.populateMetadataFields, Hudi 0.15 and 1.1.
    """
    names = context.schema.names
    if not context.has_meta_columns:
        nothing = pa.nulls(rows.num_rows, pa.string())
        columns = [nothing if name in META_FIELDS else rows.column(name) for name in names]
        return pa.table(columns, names=names)
    count = rows.num_rows
    prefix = f"{context.instant}_{task.partition_id}"
    numbers = pa.array(np.arange(first, first + count)).cast(pa.string())
    keys = rows.column(RECORD_KEY)
    meta = {
        COMMIT_TIME: constant(context.instant, count),
        COMMIT_SEQNO: pc.binary_join_element_wise(prefix, numbers, "_"),
        RECORD_KEY: generated_keys(context.instant, keys) if context.generates_keys else keys,
        PARTITION_PATH: constant(partition, count),
        FILE_NAME: constant(file_name, count),
    }
    columns = [meta[name] if name in META_FIELDS else rows.column(name) for name in names]
    return pa.table(columns, names=names)


def constant(text: str, count: int) -> pa.DictionaryArray:
    """One text for many rows."""
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, dtype=np.int32)), pa.array([text], pa.string())
    )
