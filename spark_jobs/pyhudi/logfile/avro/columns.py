"""Avro records decoded column by column: one step for all records at a time, none for each.

A cursor a record points at the next field of each; decoding a field moves all cursors on. What
fields a schema has is known beforehand, so records of any values go the same way.

Source: the binary encoding of Avro 1.11.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.values import storage_type, with_logical_type
from pyhudi.schema.avro import AvroType

Bytes = npt.NDArray[np.uint8]
Cursors = npt.NDArray[np.int64]

_MOST_BYTES: Final = (1 << 31) - 1
_MOST_VARINT_BITS: Final = 63
_SIZES: Final[Mapping[str, tuple[int, str]]] = {
    "null": (0, ""),
    "boolean": (1, "u1"),
    "float": (4, "<f4"),
    "double": (8, "<f8"),
}
_TEXTS: Final = ("string", "bytes")
_WHOLE: Final = ("int", "long")
_PLAIN: Final = (*_TEXTS, *_WHOLE, *_SIZES)


def columnar(kind: AvroType, named: dict[str, AvroType] | None = None) -> AvroType | None:
    """A parsed schema with each name replaced by the type it names.

    None for a type of arrays or maps, whose values are not all made of the same fields.
    """
    named = {} if named is None else named
    if isinstance(kind, str):
        return kind if kind in _PLAIN else named.get(kind)
    if isinstance(kind, list):
        branches = [columnar(branch, named) for branch in kind]
        return None if None in branches else branches
    if kind["type"] == "record":
        fields = [{**each, "type": columnar(each["type"], named)} for each in kind["fields"]]
        if any(field["type"] is None for field in fields):
            return None
        named[kind["name"]] = {**kind, "fields": fields}
        return named[kind["name"]]
    if kind["type"] in ("fixed", "enum"):
        named[kind["name"]] = kind
        return kind
    return None if kind["type"] in ("array", "map") else columnar(kind["type"], named)


def decode_columns(
    data: Bytes,
    starts: Cursors,
    ends: Cursors,
    record: Mapping[str, Any],
    fields: Sequence[pa.Field],
    wanted: Collection[str],
) -> list[pa.Array]:
    """The wanted columns of records that lie in ``data`` from ``starts`` to ``ends``.

    Shapes: ``record`` is an Avro record without logical types as ``columnar`` gives it, ``fields``
        are those of its columns in Arrow.

    Raises:
        CorruptTableError: a record ends before or after its fields.
        IndexError: a record reaches beyond the data.
        ArrowInvalid: a value is none of its type.
    """
    if len(data) > _MOST_BYTES:
        raise CorruptTableError(f"{len(data)} bytes are more than a block can hold")
    at = starts.copy()
    columns = []
    for avro_field, field in zip(record["fields"], fields, strict=True):
        kind = field.type if field.name in wanted else None
        column, at = _decode(data, at, avro_field["type"], kind)
        if column is not None:
            columns.append(column)
    if not np.array_equal(at, ends):
        raise CorruptTableError("a record ends before or after its fields")
    return columns


def spans(data: Bytes, starts: Cursors, ends: Cursors) -> pa.Array:
    """The bytes between positions in ``data``, in their order and apart, as binary values.

    Raises:
        CorruptTableError: one reaches into the next.
    """
    if (starts[1:] < ends[:-1]).any():
        raise CorruptTableError("a text reaches into the next record")
    # The spans and what lies between them, of which every second is wanted, share the data's bytes.
    offsets = np.empty(2 * len(starts) + 1, dtype=np.int32)
    offsets[0:-1:2], offsets[1:-1:2] = starts, ends
    offsets[-1] = offsets[-2] if len(starts) else 0
    all_of_it = pa.Array.from_buffers(
        pa.binary(), 2 * len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return all_of_it.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def _decode(
    data: Bytes, at: Cursors, kind: AvroType, wanted: pa.DataType | None
) -> tuple[pa.Array | None, Cursors]:
    """The values at the cursors in their Arrow type, and the cursors behind them.

    Without ``wanted`` the values are only passed by.
    """
    if isinstance(kind, list):
        return _union(data, at, kind, wanted)
    if isinstance(kind, dict):
        return _named(data, at, kind, wanted)
    if kind in _TEXTS:
        return _texts(data, at, wanted)
    if kind in _WHOLE:
        values, at = _varints(data, at)
        return None if wanted is None else _whole_numbers(values, wanted), at
    return _of_fixed_size(data, at, kind, wanted)


def _of_fixed_size(
    data: Bytes, at: Cursors, kind: str, wanted: pa.DataType | None
) -> tuple[pa.Array | None, Cursors]:
    size, code = _SIZES[kind]
    if wanted is None:
        return None, at + size
    if not size:
        return pa.nulls(len(at), wanted), at
    values = _gathered(data, at, size).view(code)[:, 0]
    return pa.array(values != 0 if kind == "boolean" else values), at + size


def _named(
    data: Bytes, at: Cursors, kind: Mapping[str, Any], wanted: pa.DataType | None
) -> tuple[pa.Array | None, Cursors]:
    if kind["type"] == "fixed":
        size = int(kind["size"])
        if not 0 <= size * max(1, len(at)) <= len(data):
            raise CorruptTableError(f"{len(at)} values of fixed size have {size} bytes each")
        if wanted is None:
            return None, at + size
        values = pa.py_buffer(_gathered(data, at, size).tobytes())
        offsets = pa.py_buffer(np.arange(len(at) + 1, dtype=np.int32) * np.int32(size))
        found = pa.Array.from_buffers(pa.binary(), len(at), [None, offsets, values])
        return with_logical_type(found, wanted), at + size
    if kind["type"] == "enum":
        values, at = _varints(data, at)
        return None if wanted is None else pa.array(kind["symbols"]).take(pa.array(values)), at
    children = []
    for position, field in enumerate(kind["fields"]):
        inner = None if wanted is None else wanted.field(position).type
        child, at = _decode(data, at, field["type"], inner)
        children.append(child)
    if wanted is None:
        return None, at
    if not children:
        return pa.array([{}] * len(at), wanted), at
    return pa.StructArray.from_arrays(children, fields=list(wanted)), at


def _union(
    data: Bytes, at: Cursors, kinds: Sequence[AvroType], wanted: pa.DataType | None
) -> tuple[pa.Array | None, Cursors]:
    """Values that may be null: the branch of each says whether one follows."""
    branches, at = _varints(data, at)
    if len(branches) and not 0 <= branches.min() <= branches.max() < len(kinds):
        raise CorruptTableError("a value is of a branch that its union has not")
    # Nulls are written with no bytes, so whatever the order, one branch alone has values.
    inner = next((number for number, kind in enumerate(kinds) if kind != "null"), 0)
    has_value = branches == inner
    if has_value.all():
        return _decode(data, at, kinds[inner], wanted)
    rows = np.flatnonzero(has_value)
    found, behind = _decode(data, at[rows], kinds[inner], wanted)
    at = at.copy()
    at[rows] = behind
    if found is None:
        return None, at
    positions = np.cumsum(has_value) - 1
    return found.take(pa.array(positions, mask=~has_value)), at


def _varints(data: Bytes, at: Cursors) -> tuple[npt.NDArray[np.int64], Cursors]:
    """Zigzag numbers of seven bits a byte, the least first."""
    octets = data[at]
    at = at + 1
    values = (octets & 0x7F).astype(np.uint64)
    more = np.flatnonzero(octets & 0x80)
    bits = 7
    while len(more):
        if bits > _MOST_VARINT_BITS:
            raise CorruptTableError("a number is longer than ten bytes")
        octets = data[at[more]]
        at[more] += 1
        values[more] |= (octets & 0x7F).astype(np.uint64) << np.uint64(bits)
        more = more[(octets & 0x80) != 0]
        bits += 7
    halves = (values >> np.uint64(1)).astype(np.int64)
    return halves ^ -(values & np.uint64(1)).astype(np.int64), at


def _whole_numbers(values: npt.NDArray[np.int64], wanted: pa.DataType) -> pa.Array:
    stored = pa.array(values)
    plain = storage_type(wanted)
    return with_logical_type(stored if plain == pa.int64() else stored.cast(plain), wanted)


def _texts(data: Bytes, at: Cursors, wanted: pa.DataType | None) -> tuple[pa.Array | None, Cursors]:
    lengths, at = _varints(data, at)
    ends = at + lengths
    if ((lengths < 0) | (lengths > len(data)) | (ends > len(data))).any():
        raise CorruptTableError("a text is longer than its record")
    if wanted is None:
        return None, ends
    found = spans(data, at, ends)
    return (found.cast(wanted) if wanted == pa.string() else with_logical_type(found, wanted)), ends


def _gathered(data: Bytes, at: Cursors, size: int) -> Bytes:
    """The next bytes of each record, one row a record."""
    rows: Bytes = np.ascontiguousarray(data[at[:, None] + np.arange(size)])
    return rows
