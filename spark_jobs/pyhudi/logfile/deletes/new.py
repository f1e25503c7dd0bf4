"""Delete records as writers make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import UnsupportedError
from pyhudi.logfile.deletes.blocks import ARROW, Deletes, OrderingColumn, OrderingKind
from pyhudi.logfile.deletes.orderings import are_all_valid
from pyhudi.schema.columns import flags_of


def unconditional_deletes(keys: pa.StringArray, partition: str) -> Deletes:
    """Deletes that take their keys whatever ordering value is stored.

    Source: EmptyHoodieRecordPayload, DeleteRecord.create, Hudi 0.15 (the integer 0 stands for no
    ordering value).
    """
    zeros = _ordering_column(pa.array(np.zeros(len(keys), dtype=np.int32)))
    return _deletes(keys, partition, zeros.kinds, values=zeros.values)


def ordered_deletes(keys: pa.StringArray, partition: str, orderings: Sequence[pa.Array]) -> Deletes:
    """Deletes that take their keys unless what is stored has a greater ordering value.

    Shapes: ``orderings`` has a column for each ordering column of the table; without any, and for
        rows without a value, deletes are unconditional.

    Raises:
        UnsupportedError: values of a type that delete blocks have not.
    Source: HoodieAppendHandle.writeToBuffer, BaseAvroPayload, Hudi 0.15; ArrayComparable, Hudi 1.1
        (several ordering columns, which 0.15 does not know).
    """
    if not orderings:
        return unconditional_deletes(keys, partition)
    columns = [_ordering_column(values) for values in orderings]
    if len(columns) == 1:
        return _deletes(keys, partition, columns[0].kinds, values=columns[0].values)
    arrays = np.full(len(keys), OrderingKind.ARRAY, dtype=np.int8)
    return _deletes(keys, partition, arrays, several=tuple(columns))


def kept_deletes(keys: pa.StringArray, partition: str, orderings: Sequence[pa.Array]) -> Deletes:
    """Deletes that were read and are written again: compared by what they were compared by.

    Shapes: as ``ordered_deletes``; those without a value for every ordering column are
        unconditional.
    """
    is_compared = are_all_valid(orderings, len(keys))
    compared, others = pa.array(is_compared), pa.array(~is_compared)
    values = [column.filter(compared) for column in orderings]
    return joined_deletes(
        [
            unconditional_deletes(keys.filter(others), partition),
            ordered_deletes(keys.filter(compared), partition, values),
        ]
    )


def joined_deletes(parts: Sequence[Deletes]) -> Deletes:
    """The deletes of all parts, in their order."""
    single = _joined([OrderingColumn(kinds=part.kinds, values=part.orderings) for part in parts])
    positions = range(max((len(part.several) for part in parts), default=0))
    return Deletes(
        keys=pa.concat_arrays([part.keys for part in parts]),
        partitions=pa.concat_arrays([part.partitions for part in parts]),
        kinds=single.kinds,
        orderings=single.values,
        several=tuple(_joined([_at(part, position) for part in parts]) for position in positions),
    )


def _at(part: Deletes, position: int) -> OrderingColumn:
    if position < len(part.several):
        return part.several[position]
    return OrderingColumn(kinds=np.zeros(len(part), dtype=np.int8))


def _joined(columns: Sequence[OrderingColumn]) -> OrderingColumn:
    kinds = {kind for column in columns for kind in column.values}
    return OrderingColumn(
        kinds=np.concatenate([column.kinds for column in columns]),
        values={
            kind: pa.concat_arrays(
                [
                    column.values.get(kind, pa.nulls(len(column.kinds), ARROW[kind]))
                    for column in columns
                ]
            )
            for kind in kinds
        },
    )


def _ordering_column(values: pa.Array) -> OrderingColumn:
    kind = _kind_of(values.type)
    try:
        stored = values.cast(ARROW[kind])
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"an ordering value does not fit the delete records of log files: {error}"
        ) from error
    kinds = np.where(flags_of(stored.is_valid()), kind, OrderingKind.NONE).astype(np.int8)
    return OrderingColumn(kinds=kinds, values={kind: stored})


def _deletes(
    keys: pa.StringArray,
    partition: str,
    kinds: npt.NDArray[np.int8],
    *,
    values: Mapping[OrderingKind, pa.Array] | None = None,
    several: tuple[OrderingColumn, ...] = (),
) -> Deletes:
    return Deletes(
        keys=keys,
        partitions=pa.repeat(pa.scalar(partition, pa.string()), len(keys)),
        kinds=kinds,
        orderings=values or {},
        several=several,
    )


def _kind_of(column: pa.DataType) -> OrderingKind:
    """The kind under which values of a column are kept.

    A timestamp or date is the number that it is stored as: Hudi compares it as such, and Hudi 1.1
    fails where it meets one of the kinds ``DATE`` and ``LOCAL_DATE``.
    """
    families = (
        (pa.types.is_boolean, OrderingKind.BOOLEAN),
        (pa.types.is_int64, OrderingKind.LONG),
        (pa.types.is_integer, OrderingKind.INT),
        (pa.types.is_float32, OrderingKind.FLOAT),
        (pa.types.is_float64, OrderingKind.DOUBLE),
        (pa.types.is_string, OrderingKind.STRING),
        (pa.types.is_date32, OrderingKind.INT),
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
