"""Which Arrow types a Hudi table keeps, and what others become."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import PLAIN, STORED_AS


def storable_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in the types that a Hudi table keeps; every top-level column nullable.

    Bytes and shorts become ints, timestamps micro- or milliseconds in UTC or without a zone,
    large, view and dictionary types their plain ones.

    Raises:
        SchemaError: a column's type has no place in Avro (intervals, unions, times of day).
    Source: SchemaConverters.toAvroType, Hudi 0.15 and 1.1.
    """
    return pa.schema([pa.field(f.name, _storable(f.type, f.name), nullable=True) for f in schema])


def _storable(kind: pa.DataType, path: str) -> pa.DataType:
    if kind in STORED_AS:
        return STORED_AS[kind]
    if pa.types.is_dictionary(kind):
        return _storable(kind.value_type, path)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ms" if kind.unit == "ms" else "us", "UTC" if kind.tz else None)
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return _nested(kind, path)
    if kind in PLAIN or pa.types.is_decimal128(kind) or pa.types.is_date32(kind):
        return kind
    raise SchemaError(
        f"column {path} has the type {kind}, which a Hudi table cannot keep; cast it to another"
    )


def _nested(kind: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(
            [field.with_type(_storable(field.type, f"{path}.{field.name}")) for field in kind]
        )
    if pa.types.is_map(kind):
        return pa.map_(
            _storable(kind.key_type, f"{path}.key"),
            kind.item_field.with_type(_storable(kind.item_type, f"{path}.value")),
        )
    element = kind.value_field
    inner = _storable(element.type, f"{path}.element")
    return pa.list_(pa.field("element", inner, element.nullable))
