"""Rows as JSON text, column by column: for people who read what could not be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.arrow import is_any_list
from pyhudi.schema.columns import one_array

_NULL: Final = "null"
_ESCAPES: Final = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_CONTROLS: Final = tuple(chr(code) for code in range(32) if chr(code) not in _ESCAPES)


def row_json(rows: pa.Table | pa.RecordBatch) -> pa.StringArray:
    """Each row as one JSON object, its columns in their order.

    Numbers are numbers, decimals, dates and times texts as Arrow formats them, bytes hexadecimal
    text, maps objects; a floating value that JSON has no number for is a text too.

    Shapes: one string a row, never null.
    """
    fields = [(name, one_array(rows.column(name))) for name in rows.schema.names]
    return _objects(fields, rows.num_rows)


def _objects(fields: list[tuple[str, pa.Array]], count: int) -> pa.StringArray:
    pieces: list[pa.Array | str] = []
    for name, column in fields:
        label = _quoted(pa.array([name]))[0].as_py()
        pieces += [f"{', ' if pieces else ''}{label}: ", _values(column)]
    if not pieces:
        return pa.array(["{}"] * count, pa.string())
    return pc.binary_join_element_wise("{", *pieces, "}", "")


def _values(column: pa.Array) -> pa.StringArray:
    """Each value as JSON, null as ``null``."""
    return pc.fill_null(_texts(column), _NULL)


def _texts(column: pa.Array) -> pa.StringArray:
    """Each value as JSON, nulls kept."""
    for applies, to_text in _FORMATS:
        if applies(column.type):
            return to_text(column)
    return _quoted(_plain_text(column))


def _decoded_texts(column: pa.DictionaryArray) -> pa.StringArray:
    return _texts(column.dictionary_decode())


def _struct_texts(column: pa.StructArray) -> pa.StringArray:
    children = zip(column.type, column.flatten(), strict=True)
    texts = _objects([(field.name, child) for field, child in children], len(column))
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string()))


def _number_texts(column: pa.Array) -> pa.StringArray:
    return column.cast(pa.string())


def _floating_texts(column: pa.Array) -> pa.StringArray:
    text = column.cast(pa.string())
    return pc.if_else(pc.is_finite(column), text, _quoted(text))


def _plain_text(column: pa.Array) -> pa.StringArray:
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # The instant in UTC, which needs no time zone database.
        local = column.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        return pc.binary_join_element_wise(local.cast(pa.string()), "Z", "")
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    if any(test(kind) for test in (*tests, pa.types.is_fixed_size_binary)):
        return _hexadecimal(column.cast(pa.binary()))
    return column.cast(pa.string())


def _hexadecimal(column: pa.BinaryArray) -> pa.StringArray:
    encoded = column.dictionary_encode()
    distinct = [value.as_buffer() for value in encoded.dictionary]
    texts = pa.array([bytes(memoryview(buffer)).hex() for buffer in distinct], pa.string())
    return texts.take(encoded.indices)


def _quoted(text: pa.StringArray) -> pa.StringArray:
    for plain, escaped in _ESCAPES.items():
        text = pc.replace_substring(text, plain, escaped)
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        for control in _CONTROLS:
            text = pc.replace_substring(text, control, f"\\u{ord(control):04x}")
    return pc.binary_join_element_wise('"', text, '"', "")


def _list_texts(column: pa.Array) -> pa.StringArray:
    column = column.cast(pa.list_(column.type.value_type))
    joined = pc.binary_join(_with_values(column, _values(column.values)), ", ")
    return pc.binary_join_element_wise("[", joined, "]", "")


def _map_texts(column: pa.MapArray) -> pa.StringArray:
    names = _quoted(column.keys.cast(pa.string()))
    entries = pc.binary_join_element_wise(names, ": ", _values(column.items), "")
    joined = pc.binary_join(_with_values(column, entries), ", ")
    return pc.binary_join_element_wise("{", joined, "}", "")


def _with_values(column: pa.Array, values: pa.StringArray) -> pa.ListArray:
    validity, offsets = column.buffers()[:2]
    kind = pa.list_(pa.string())
    return pa.Array.from_buffers(
        kind, len(column), [validity, offsets], -1, column.offset, children=[values]
    )


_FORMATS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], pa.StringArray]], ...]
_FORMATS = (
    (pa.types.is_dictionary, _decoded_texts),
    (pa.types.is_struct, _struct_texts),
    (pa.types.is_map, _map_texts),
    (is_any_list, _list_texts),
    (pa.types.is_null, _number_texts),
    (pa.types.is_boolean, _number_texts),
    (pa.types.is_integer, _number_texts),
    (pa.types.is_floating, _floating_texts),
)
