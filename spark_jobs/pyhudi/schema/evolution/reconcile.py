"""Rows of one schema in another: columns added, values converted, layouts evened out."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import is_any_list
from pyhudi.schema.columns import with_children
from pyhudi.schema.evolution.casting import cast_values
from pyhudi.schema.evolution.promotion import may_fit
from pyhudi.schema.evolution.storable import storable_schema

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def reconcile(rows: Rows, target: pa.Schema, *, keep_dictionaries: bool = False) -> Rows:
    """The rows in the target's columns, order and types.

    Columns and struct fields that the rows lack are null; those the target lacks are left out.
    Lists and maps may come in any of the layouts Hudi's writers use.

    Shapes: the target's schema; with ``keep_dictionaries`` a dictionary-encoded column of the right
        values stays encoded, and the schema says so.

    Raises:
        SchemaError: a type that cannot become the target's, a value that does not fit it, or a
            missing or null value where the target allows none.
    """
    columns, fields = [], []
    for field in target:
        column = _column(rows, field)
        if not (keep_dictionaries and _is_encoded(column.type, field.type)):
            column = _convert_column(column, field)
        columns.append(column)
        fields.append(field.with_type(column.type))
    if not fields:
        return rows.select([])
    kind: type[Rows] = type(rows)
    return kind.from_arrays(columns, schema=pa.schema(fields, metadata=target.metadata))


def _column(rows: pa.Table | pa.RecordBatch, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    position = rows.schema.get_field_index(field.name)
    if position >= 0:
        return rows.column(position)
    if not field.nullable:
        raise SchemaError(f"column {field.name} is missing and may not be null")
    nulls = pa.nulls(rows.num_rows, field.type)
    return nulls if isinstance(rows, pa.RecordBatch) else pa.chunked_array([nulls])


def _is_encoded(found: pa.DataType, wanted: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(found) and found.value_type == wanted)


def _convert_column(
    column: pa.Array | pa.ChunkedArray, field: pa.Field
) -> pa.Array | pa.ChunkedArray:
    if not field.nullable:
        _refuse_nulls(column, field.name)
    if isinstance(column, pa.ChunkedArray):
        chunks = [_convert(chunk, field.type, field.name) for chunk in column.chunks]
        return pa.chunked_array(chunks, type=field.type)
    return _convert(column, field.type, field.name)


def _convert(array: pa.Array, wanted: pa.DataType, path: str) -> pa.Array:
    found = array.type
    if pa.types.is_struct(wanted) and pa.types.is_struct(found):
        return _convert_struct(array, wanted, path)
    if pa.types.is_map(wanted) and pa.types.is_map(found):
        return _convert_map(array, wanted, path)
    if pa.types.is_list(wanted) and is_any_list(found):
        return _convert_list(array, wanted, path)
    if pa.types.is_nested(wanted) or pa.types.is_nested(found):
        raise _misfit(path, found, wanted)
    return array if found == wanted else _cast(array, wanted, path)


def _cast(array: pa.Array, wanted: pa.DataType, path: str) -> pa.Array:
    stored = _stored_type(array.type)
    if not (pa.types.is_null(stored) or may_fit(stored, wanted)):
        raise _misfit(path, array.type, wanted)
    try:
        return cast_values(array, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"column {path} holds a value of type {array.type} that does not fit {wanted}: {error}"
        ) from error


def _stored_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return kind
    return storable_schema(pa.schema([pa.field("value", kind)])).field(0).type


def _misfit(path: str, found: pa.DataType, wanted: pa.DataType) -> SchemaError:
    return SchemaError(f"column {path} is {found} where {wanted} was expected")


def _convert_struct(array: pa.StructArray, wanted: pa.StructType, path: str) -> pa.Array:
    children = []
    mask = array.is_null() if array.null_count else None
    for field in wanted:
        inner = f"{path}.{field.name}"
        position = array.type.get_field_index(field.name)
        if position < 0 and not field.nullable:
            raise SchemaError(f"column {inner} is missing and may not be null")
        if position < 0:
            children.append(pa.nulls(len(array), field.type))
            continue
        child = array.field(position)
        if not field.nullable and child.null_count:
            _refuse_nulls(child if mask is None else child.filter(array.is_valid()), inner)
        children.append(_convert(child, field.type, inner))
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)


def _convert_list(array: pa.Array, wanted: pa.ListType, path: str) -> pa.Array:
    # Other list types have other offsets; Arrow turns them into plain lists.
    plain = array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_field))
    if not wanted.value_field.nullable and plain.values.null_count:
        _refuse_nulls(plain.flatten(), f"{path}.element")
    values = _convert(plain.values, wanted.value_type, f"{path}.element")
    return with_children(plain, wanted, values)


def _convert_map(array: pa.MapArray, wanted: pa.MapType, path: str) -> pa.Array:
    if not wanted.item_field.nullable and array.items.null_count:
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        _refuse_nulls(array.items.slice(start, end - start), f"{path}.value")
    keys = _convert(array.keys, wanted.key_type, f"{path}.key")
    items = _convert(array.items, wanted.item_type, f"{path}.value")
    entries = pa.StructArray.from_arrays(
        [keys, items], fields=[wanted.key_field, wanted.item_field]
    )
    return with_children(array, wanted, entries)


def _refuse_nulls(array: pa.Array | pa.ChunkedArray, path: str) -> None:
    if array.null_count:
        raise SchemaError(f"column {path} holds {array.null_count} nulls and may hold none")
