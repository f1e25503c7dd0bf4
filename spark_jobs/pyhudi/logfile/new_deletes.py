"""Delete records as writers make them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyhudi.errors import UnsupportedError
from pyhudi.logfile.deletes import ARROW, Deletes, OrderingKind


def unconditional_deletes(keys: pa.StringArray, partition: str) -> Deletes:
    """Deletes that take their keys whatever ordering value is stored.

    Source: EmptyHoodieRecordPayload, DeleteRecord.create, Hudi 0.15 (the integer 0 stands for no
    ordering value).
    """
    return _deletes(keys, partition, OrderingKind.INT, pa.array(np.zeros(len(keys), np.int32)))


def ordered_deletes(keys: pa.StringArray, partition: str, orderings: Sequence[pa.Array]) -> Deletes:
    """Deletes that take their keys unless what is stored has a greater ordering value.

    Shapes: ``orderings`` has a column for each ordering column of the table; without any, and for
        rows without a value, deletes are unconditional.

    Raises:
        UnsupportedError: several ordering columns, or values of a type that delete blocks have not.
    Source: HoodieAppendHandle.writeToBuffer, BaseAvroPayload, Hudi 0.15.
    """
    if not orderings:
        return unconditional_deletes(keys, partition)
    if len(orderings) > 1:
        raise UnsupportedError("deletes by several ordering columns are not written")
    (values,) = orderings
    kind = _kind_of(values.type)
    try:
        stored = values.cast(ARROW[kind])
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"an ordering value does not fit the delete records of log files: {error}"
        ) from error
    return _deletes(keys, partition, kind, stored)


def joined_deletes(parts: Sequence[Deletes]) -> Deletes:
    """The deletes of all parts, in their order."""
    kinds = {kind for part in parts for kind in part.orderings}
    return Deletes(
        keys=pa.concat_arrays([part.keys for part in parts]),
        partitions=pa.concat_arrays([part.partitions for part in parts]),
        kinds=np.concatenate([part.kinds for part in parts]),
        orderings={
            kind: pa.concat_arrays(
                [part.orderings.get(kind, pa.nulls(len(part), ARROW[kind])) for part in parts]
            )
            for kind in kinds
        },
    )


def _deletes(keys: pa.StringArray, partition: str, kind: OrderingKind, values: pa.Array) -> Deletes:
    is_there = values.is_valid().to_numpy(zero_copy_only=False)
    return Deletes(
        keys=keys,
        partitions=pa.array([partition], pa.string()).take(
            pa.array(np.zeros(len(keys), dtype=np.int64))
        ),
        kinds=np.where(is_there, kind, OrderingKind.NONE).astype(np.int8),
        orderings={kind: values},
    )


def _kind_of(column: pa.DataType) -> OrderingKind:
    """The kind under which values of a column are kept.

    A timestamp is the number that it is stored as: Hudi compares it as such.
    """
    families = (
        (pa.types.is_boolean, OrderingKind.BOOLEAN),
        (pa.types.is_int64, OrderingKind.LONG),
        (pa.types.is_integer, OrderingKind.INT),
        (pa.types.is_float32, OrderingKind.FLOAT),
        (pa.types.is_float64, OrderingKind.DOUBLE),
        (pa.types.is_string, OrderingKind.STRING),
        (pa.types.is_date32, OrderingKind.DATE),
        (pa.types.is_decimal, OrderingKind.DECIMAL),
        (pa.types.is_timestamp, OrderingKind.LONG),
    )
    for is_family, kind in families:
        if is_family(column):
            return kind
    raise UnsupportedError(
        f"the ordering column has the type {column}, which the delete records of log files cannot "
        "keep"
    )
