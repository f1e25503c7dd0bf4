"""Avro values as their bytes say them, and as their logical types mean them. Pure.

Source: the logical types of Avro 1.11.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyhudi.errors import CorruptTableError

_DECIMAL_BYTES = 16


def storage_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values before their logical type is looked at."""
    if pa.types.is_decimal(kind):
        return pa.binary()
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return pa.int32() if pa.types.is_date32(kind) else pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(storage_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(storage_type(kind.item_type))
        return pa.map_(kind.key_type, item)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(storage_type(kind.value_type)))
    return kind


def with_logical_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values of the storage type as values of the type itself.

    Raises:
        CorruptTableError: a decimal of more bytes than a decimal has.
    """
    if array.type == kind:
        return array
    if pa.types.is_decimal(kind):
        return _decimals(array, kind)
    if pa.types.is_struct(kind):
        children = [
            with_logical_type(array.field(position), field.type)
            for position, field in enumerate(kind)
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if pa.types.is_map(kind):
        items = with_logical_type(array.items, kind.item_type)
        entries = pa.StructArray.from_arrays(
            [array.keys, items], fields=[kind.key_field, kind.item_field]
        )
        return _with_child(array, kind, entries)
    if pa.types.is_list(kind):
        return _with_child(array, kind, with_logical_type(array.values, kind.value_type))
    return array.view(kind)


def _with_child(array: pa.Array, kind: pa.DataType, child: pa.Array) -> pa.Array:
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], -1, array.offset, children=[child]
    )


def _decimals(array: pa.BinaryArray, kind: pa.Decimal128Type) -> pa.Array:
    """Decimals from their two's complement, the greatest byte first, in as many bytes as given."""
    if array.offset:
        array = array.take(pa.array(np.arange(len(array))))
    validity, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32, count=len(array) + 1)
    lengths = np.diff(offsets)
    if lengths.size and int(lengths.max()) > _DECIMAL_BYTES:
        raise CorruptTableError(f"a decimal is {int(lengths.max())} bytes long")
    given = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
    given = given[: offsets[-1]]
    rows = np.repeat(np.arange(len(array)), lengths)
    positions = np.arange(len(given)) - np.repeat(offsets[:-1], lengths)
    wide = np.zeros((len(array), _DECIMAL_BYTES), dtype=np.uint8)
    is_negative = np.zeros(len(array), dtype=bool)
    filled = np.flatnonzero(lengths)
    is_negative[filled] = given[offsets[:-1][filled]] >= 0x80
    wide[is_negative] = 0xFF
    # Arrow keeps the least byte first.
    wide[rows, np.repeat(lengths, lengths) - 1 - positions] = given
    return pa.Array.from_buffers(kind, len(array), [validity, pa.py_buffer(wide.tobytes())])
