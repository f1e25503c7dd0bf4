"""Which rows do not fit a schema whose columns they have: nulls, values out of range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.arrow import is_any_list
from pyhudi.schema.columns import Flags, flags_of, one_array
from pyhudi.schema.evolution.casting import misfits


def misfit_rows(rows: pa.Table, schema: pa.Schema) -> Iterator[tuple[str, Flags]]:
    """The causes for which rows do not fit, each with the rows it applies to.

    Only what depends on values: columns and types are those that a write was resolved with.

    Shapes: a cause for people, and one entry per row, of which one at least is True.
    """
    for field in schema:
        if field.name in rows.schema.names:
            column = one_array(rows.column(field.name))
            for cause, mask in _misfits(column, field, field.name):
                if mask.any():
                    yield cause, mask


def _misfits(array: pa.Array, field: pa.Field, path: str) -> Iterator[tuple[str, Flags]]:
    if not field.nullable and array.null_count:
        yield f"column {path} is null and may not be", flags_of(array.is_null())
    kind = field.type
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        yield from _struct_misfits(array, kind, path)
    elif pa.types.is_map(kind) and pa.types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        inner = pa.field("entry", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        yield from _element_misfits(_as_list(array, entries), inner, path)
    elif is_any_list(kind) and is_any_list(array.type):
        element = array.type.value_field
        plain = array if pa.types.is_list(array.type) else array.cast(pa.list_(element))
        yield from _element_misfits(plain, kind.value_field, path)
    elif array.type != kind and not pa.types.is_null(array.type):
        yield f"column {path} holds a value that does not fit {kind}", misfits(array, kind)


def _struct_misfits(
    array: pa.StructArray, kind: pa.StructType, path: str
) -> Iterator[tuple[str, Flags]]:
    is_there = flags_of(array.is_valid())
    for field in kind:
        position = array.type.get_field_index(field.name)
        if position < 0:
            continue
        for cause, mask in _misfits(array.field(position), field, f"{path}.{field.name}"):
            yield cause, mask & is_there


def _element_misfits(
    array: pa.ListArray, field: pa.Field, path: str
) -> Iterator[tuple[str, Flags]]:
    """The lists of which an element does not fit."""
    name = path if field.name == "entry" else f"{path}.element"
    parents = pc.list_parent_indices(array).to_numpy()
    for cause, mask in _misfits(array.flatten(), field, name):
        has_misfit = np.zeros(len(array), dtype=bool)
        has_misfit[parents[mask]] = True
        yield cause, has_misfit


def _as_list(array: pa.MapArray, entries: pa.StructArray) -> pa.ListArray:
    validity, offsets = array.buffers()[:2]
    kind = pa.list_(entries.type)
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], -1, array.offset, children=[entries]
    )
