"""The ordering values of delete records as values of a table's ordering columns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.logfile.deletes.blocks import Deletes, OrderingKind
from pyhudi.schema.columns import Flags, flags_of

_FAMILIES: Final[tuple[tuple[Callable[[pa.DataType], bool], tuple[OrderingKind, ...]], ...]] = (
    (pa.types.is_boolean, (OrderingKind.BOOLEAN,)),
    (pa.types.is_int32, (OrderingKind.INT,)),
    (pa.types.is_int64, (OrderingKind.LONG,)),
    (pa.types.is_float32, (OrderingKind.FLOAT,)),
    (pa.types.is_float64, (OrderingKind.DOUBLE,)),
    (pa.types.is_string, (OrderingKind.STRING,)),
    (pa.types.is_binary, (OrderingKind.BYTES,)),
    (pa.types.is_date32, (OrderingKind.DATE, OrderingKind.LOCAL_DATE, OrderingKind.INT)),
    (pa.types.is_decimal, (OrderingKind.DECIMAL,)),
    (pa.types.is_timestamp, (OrderingKind.TIMESTAMP_MICROS, OrderingKind.LONG)),
)


def ordering_values(deletes: Deletes, types: Sequence[pa.DataType]) -> tuple[pa.Array, ...]:
    """What each delete has for each of a table's ordering columns, of these types.

    Shapes: an array of each of the ``types``, one entry a delete, all of them null for deletes that
        are not compared with rows: those without a value for every column, or one of another type.
    Source: DeleteRecord, OrderingValues.isDefault and isSameClass, Hudi 0.15 and 1.1;
        ArrayComparable, Hudi 1.1.
    """
    if len(types) == 1:
        return (_column(_given(deletes), types[0], len(deletes)),)
    if len(types) != len(deletes.several):
        return tuple(pa.nulls(len(deletes), kind) for kind in types)
    columns = [
        _column(column.values, kind, len(deletes))
        for column, kind in zip(deletes.several, types, strict=True)
    ]
    is_compared = are_all_valid(columns, len(deletes))
    if is_compared.all():
        return tuple(columns)
    condition = pa.array(is_compared)
    nothing = (pa.scalar(None, column.type) for column in columns)
    return tuple(map(pc.if_else, [condition] * len(columns), columns, nothing))


def are_all_valid(columns: Sequence[pa.Array], count: int) -> Flags:
    """Where every one of some columns of a length has a value; nowhere without columns."""
    is_valid: Flags = np.full(count, bool(columns))
    for column in columns:
        is_valid &= flags_of(column.is_valid())
    return is_valid


def _given(deletes: Deletes) -> Mapping[OrderingKind, pa.Array]:
    # The integer 0 is what deletes without an ordering value have, whatever the column's type.
    zero = deletes.orderings.get(OrderingKind.INT)
    if zero is None:
        return deletes.orderings
    given = pc.if_else(pc.equal(zero, 0), pa.scalar(None, zero.type), zero)
    return {**deletes.orderings, OrderingKind.INT: given}


def _column(values: Mapping[OrderingKind, pa.Array], kind: pa.DataType, count: int) -> pa.Array:
    found = pa.nulls(count, kind)
    for own, column in values.items():
        if _is_same(own, kind):
            found = pc.coalesce(found, _as_ordering(column, kind))
    return found


def _is_same(kind: OrderingKind, column: pa.DataType) -> bool:
    return any(kind in kinds for is_family, kinds in _FAMILIES if is_family(column))


def _as_ordering(values: pa.Array, column: pa.DataType) -> pa.Array:
    if values.type == column:
        return values
    if pa.types.is_integer(values.type):
        return values.view(column)  # dates and timestamps as the numbers they are stored as
    return values.cast(column, safe=False)
