"""Timestamps as Spark has them. Pure."""

from __future__ import annotations

import pyarrow as pa


def in_microseconds(schema: pa.Schema) -> pa.Schema:
    """The schema with timestamps of every unit in microseconds, the only unit that Spark has."""
    return pa.schema([field.with_type(_type_in_microseconds(field.type)) for field in schema])


def _type_in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_list(kind):
        return pa.list_(_field_type_in_microseconds(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([_field_type_in_microseconds(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _field_type_in_microseconds(kind.item_field))
    return kind


def _field_type_in_microseconds(field: pa.Field) -> pa.Field:
    return field.with_type(_type_in_microseconds(field.type))
