"""The types of a table's columns, and those in which ORC files hold them.

Source: AvroOrcUtils.createOrcSchema, addToVector and readFromVector, Hudi 0.15 and 1.1: an instant
is an ORC timestamp, a local timestamp the number it is in Avro.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import is_any_list

Leaf = Callable[[pa.Array, pa.DataType], pa.Array]

_INSTANT: Final = pa.timestamp("us", "UTC")
# Arrow's reader of ORC files counts nanoseconds, of which an int64 holds so many whole seconds.
_MOST_SECONDS: Final = (2**63 - 1) // 10**9
_LAST_INSTANT: Final = pa.scalar(_MOST_SECONDS, pa.int64()).cast(pa.timestamp("s"))
_FIRST_INSTANT: Final = pa.scalar(-_MOST_SECONDS, pa.int64()).cast(pa.timestamp("s"))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type that a column of this type is given to the ORC writer in."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit) if kind.tz else pa.int64()
    if pa.types.is_dictionary(kind):
        return stored_type(kind.value_type)
    return _with_types(kind, [stored_type(child.type) for child in _children(kind)])


def logical_type(found: pa.DataType, stated: pa.DataType | None) -> pa.DataType:
    """The type of a column that a file holds in one type, while its schema states another, if any.

    Only timestamps differ from what the file says of itself: without a statement they are instants.
    """
    is_local = stated is not None and pa.types.is_timestamp(stated) and stated.tz is None
    if pa.types.is_timestamp(found):
        is_stated = stated is not None and pa.types.is_timestamp(stated)
        return stated if is_stated else _INSTANT
    if pa.types.is_int64(found) and is_local:
        return stated
    inner = [] if stated is None else _children(stated)
    kinds = []
    for position, child in enumerate(_children(found)):
        if pa.types.is_struct(found):
            meant = next((each.type for each in inner if each.name == child.name), None)
        else:
            meant = inner[position].type if position < len(inner) else None
        kinds.append(logical_type(child.type, meant))
    return _with_types(found, kinds)


def to_stored(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column as the ORC writer takes it.

    Raises:
        SchemaError: an instant that Arrow could not read back, or Java's readers not.
    """
    wanted = stored_type(column.type)
    if column.type == wanted and not pa.types.is_nested(wanted):
        return column

    def leaf(array: pa.Array, kind: pa.DataType) -> pa.Array:
        stored = array.cast(kind)
        if pa.types.is_timestamp(kind):
            _refuse_far_instants(stored, name)
            _refuse_early_fractions(stored, name)
        return stored

    chunks = [_converted(chunk, wanted, leaf) for chunk in column.chunks]
    if pa.types.is_nested(wanted):
        # Arrow's ORC writer takes a sliced struct for the rows it was cut from (pyarrow 26).
        nothing = pa.array([], wanted)
        chunks = [pa.concat_arrays([nothing, *chunks, nothing])]
    return pa.chunked_array(chunks, type=wanted)


def from_stored(array: pa.Array, wanted: pa.DataType, zone: str | None) -> pa.Array:
    """A column of a file in its logical type; ``zone`` is the writer's, None for UTC.

    Of two instants with one wall-clock time, where the zone's clocks go back, it is the first.
    """

    def leaf(stored: pa.Array, kind: pa.DataType) -> pa.Array:
        is_wall_clock = pa.types.is_timestamp(stored.type) and stored.type.tz is None
        if is_wall_clock and zone is not None and kind.tz is not None:
            stored = pc.assume_timezone(stored, zone, ambiguous="earliest", nonexistent="earliest")
        return stored.cast(kind, safe=False)

    return _converted(array, wanted, leaf)


def has_wall_clocks(kind: pa.DataType) -> bool:
    """Whether a type as stored has timestamps in it, which are in the writer's zone."""
    if pa.types.is_timestamp(kind):
        return kind.tz is None
    return any(has_wall_clocks(child.type) for child in _children(kind))


def _refuse_far_instants(instants: pa.Array, name: str) -> None:
    ends = pc.min_max(instants)
    low, high = ends["min"], ends["max"]
    if not low.is_valid:
        return
    if pc.less(low, _FIRST_INSTANT).as_py() or pc.greater(high, _LAST_INSTANT).as_py():
        raise SchemaError(
            f"column {name} has timestamps between {low} and {high}; an ORC base file that is read "
            "again can hold those from 1677-09-22 to 2262-04-11: change them or write Parquet"
        )


def _refuse_early_fractions(instants: pa.Array, name: str) -> None:
    """Refuse fractions of seconds before 1970.

    Arrow's writer (pyarrow 26) gives them negative nanoseconds, at which every Java reader fails.
    """
    micros = instants.drop_null().cast(pa.timestamp("us", instants.type.tz)).cast(pa.int64())
    values = micros.to_numpy()
    count = int(((values < 0) & (values % 1_000_000 != 0)).sum())
    if count:
        raise SchemaError(
            f"column {name} has {count} timestamps before 1970 with a fraction of a second, which "
            "readers of ORC files in Java fail at: cut the fraction off or write Parquet"
        )


def _children(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if is_any_list(kind) else []


def _with_types(kind: pa.DataType, kinds: list[pa.DataType]) -> pa.DataType:
    fields = [child.with_type(inner) for child, inner in zip(_children(kind), kinds, strict=True)]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        return pa.map_(*fields)
    return pa.list_(*fields) if fields else kind


def _converted(array: pa.Array, wanted: pa.DataType, leaf: Leaf) -> pa.Array:
    if array.type == wanted:
        return array
    if pa.types.is_struct(wanted):
        fields = list(wanted)
        parts = [_converted(array.field(i), f.type, leaf) for i, f in enumerate(fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if pa.types.is_map(wanted):
        keys = _converted(array.keys, wanted.key_type, leaf)
        items = _converted(array.items, wanted.item_type, leaf)
        fields = [wanted.key_field, wanted.item_field]
        entries = pa.StructArray.from_arrays([keys, items], fields=fields)
        return _with_child(array, wanted, entries)
    if pa.types.is_list(wanted):
        return _with_child(array, wanted, _converted(array.values, wanted.value_type, leaf))
    return leaf(array, wanted)


def _with_child(array: pa.Array, kind: pa.DataType, child: pa.Array) -> pa.Array:
    validity, offsets = array.buffers()[:2]
    buffers = [validity, offsets]
    return pa.Array.from_buffers(kind, len(array), buffers, -1, array.offset, children=[child])
