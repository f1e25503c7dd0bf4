"""Rows of one schema in another: columns added, types widened, layouts evened out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pyarrow as pa

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import is_any_list
from pyhudi.schema.promotion import can_become, must_fit
from pyhudi.schema.storable import storable_schema

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


def check_compatible(
    table_schema: pa.Schema, batch_schema: pa.Schema, *, allow_missing: bool = False
) -> pa.Schema:
    """The schema to write a batch with: the table's, widened and completed by the batch's.

    The table's columns keep their order; new ones follow, nullable. A column that the batch
    lacks is refused, unless ``allow_missing`` and it is nullable.

    Shapes: neither schema has meta columns.

    Raises:
        SchemaError: names each column that does not fit, what was found and what was expected.
    Source: AvroSchemaUtils.checkSchemaCompatible, HoodieSchemaUtils.deduceWriterSchema,
    Hudi 0.15 and 1.1.
    """
    batch = storable_schema(batch_schema)
    problems: list[str] = []
    merged = _merge_fields(table_schema, batch, "", problems, allow_missing=allow_missing)
    if problems:
        raise SchemaError(
            "the rows do not fit the table's schema: " + "; ".join(problems) + ". "
            "Cast or add the columns before writing."
        )
    return pa.schema(merged, metadata=table_schema.metadata)


def _merge_fields(
    table: Iterable[pa.Field],
    batch: Iterable[pa.Field],
    prefix: str,
    problems: list[str],
    *,
    allow_missing: bool,
) -> list[pa.Field]:
    known, given = list(table), {field.name: field for field in batch}
    merged = []
    for field in known:
        path = f"{prefix}{field.name}"
        found = given.pop(field.name, None)
        if found is not None:
            kind = _merge_types(field.type, found.type, path, problems, allow_missing=allow_missing)
            merged.append(field.with_type(kind))
            continue
        if not (allow_missing and field.nullable):
            problems.append(f"column {path} ({field.type}) is missing")
        merged.append(field)
    by_lower = {field.name.lower(): field.name for field in known}
    for name, added in given.items():
        like = by_lower.get(name.lower())
        if like is not None:
            problems.append(f"column {prefix}{name} differs from the table's {like} by case alone")
        merged.append(added.with_nullable(True))  # noqa: FBT003
    return merged


def _merge_types(
    table: pa.DataType,
    batch: pa.DataType,
    path: str,
    problems: list[str],
    *,
    allow_missing: bool,
) -> pa.DataType:
    if pa.types.is_struct(table) and pa.types.is_struct(batch):
        fields = _merge_fields(table, batch, f"{path}.", problems, allow_missing=allow_missing)
        return pa.struct(fields)
    if is_any_list(table) and is_any_list(batch):
        inner = _merge_types(
            table.value_type,
            batch.value_type,
            f"{path}.element",
            problems,
            allow_missing=allow_missing,
        )
        return pa.list_(table.value_field.with_type(inner))
    if pa.types.is_map(table) and pa.types.is_map(batch) and table.key_type == batch.key_type:
        inner = _merge_types(
            table.item_type, batch.item_type, f"{path}.value", problems, allow_missing=allow_missing
        )
        return pa.map_(table.key_field, table.item_field.with_type(inner))
    if can_become(batch, table):
        return table
    if can_become(table, batch):
        return batch
    problems.append(f"column {path} is {batch} where the table has {table}")
    return table


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
    if not field.nullable and column.null_count:
        raise SchemaError(f"column {field.name} holds {column.null_count} nulls and may hold none")
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
    if not (pa.types.is_null(stored) or can_become(stored, wanted)):
        raise _misfit(path, array.type, wanted)
    try:
        return array.cast(wanted, safe=must_fit(stored, wanted))
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
    for field in wanted:
        position = array.type.get_field_index(field.name)
        if position < 0 and not field.nullable:
            raise SchemaError(f"column {path}.{field.name} is missing and may not be null")
        children.append(
            pa.nulls(len(array), field.type)
            if position < 0
            else _convert(array.field(position), field.type, f"{path}.{field.name}")
        )
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)


def _convert_list(array: pa.Array, wanted: pa.ListType, path: str) -> pa.Array:
    # Other list types have other offsets; Arrow turns them into plain lists.
    plain = array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_field))
    values = _convert(plain.values, wanted.value_type, f"{path}.element")
    return _with_children(plain, wanted, [values])


def _convert_map(array: pa.MapArray, wanted: pa.MapType, path: str) -> pa.Array:
    keys = _convert(array.keys, wanted.key_type, f"{path}.key")
    items = _convert(array.items, wanted.item_type, f"{path}.value")
    entries = pa.StructArray.from_arrays(
        [keys, items], fields=[wanted.key_field, wanted.item_field]
    )
    return _with_children(array, wanted, [entries])


def _with_children(array: pa.Array, kind: pa.DataType, children: list[pa.Array]) -> pa.Array:
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], -1, array.offset, children=children
    )
