"""Avro records encoded column by column: the inverse of ``avro_columns``.

Each field becomes binary columns, the bytes that its values take in a record; Arrow joins the
columns of a row. No step is taken for a record alone.

Source: the binary encoding of Avro 1.11; HoodieAvroDataBlock, Hudi 0.15 and 1.1 (the framing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import SchemaError
from pyhudi.schema.avro import AvroType
from pyhudi.schema.columns import one_array

Part: TypeAlias = pa.Array | pa.Scalar
"""Bytes of each record; a null is none, and a scalar the same in all."""

_BINARY: Final = pa.binary()
_MOST_VARINT_BYTES: Final = 10
_FLOATS: Final[Mapping[str, npt.DTypeLike]] = {"float": "<f4", "double": "<f8"}
_NOTHING: Final = pa.scalar(b"", _BINARY)


def encode_records(rows: pa.Table, schema: Mapping[str, Any]) -> pa.BinaryArray:
    """Each row as a record of the schema, its length in four bytes before it.

    Shapes: ``rows`` has the columns of the schema by name, of types that ``arrow_to_avro`` turns
        into the schema's; one value a row.

    Raises:
        SchemaError: a null where the schema allows none, or a type that is not encoded here.
        ArrowInvalid: the records take more than 2 GiB together.
    """
    parts = [
        part
        for field in schema["fields"]
        for part in _column(rows.column(field["name"]), field["type"], field["name"])
    ]
    lengths = np.zeros(rows.num_rows, dtype=np.int64)
    for part in parts:
        lengths += _lengths(part)
    prefix = _fixed(lengths.astype(">i4").view(np.uint8), 4, rows.num_rows)
    return _joined([prefix, *parts], rows.num_rows)


def _column(column: pa.ChunkedArray, kind: AvroType, where: str) -> Iterator[Part]:
    array = one_array(column)
    if not pa.types.is_dictionary(array.type):
        yield from _encoded(array, kind, where)
    elif len(array.dictionary) == 1 and not array.null_count:
        (value,) = _joined(list(_encoded(array.dictionary, kind, where)), 1)
        yield value
    else:
        yield from _encoded(array.cast(array.type.value_type), kind, where)


def _lengths(part: Part) -> npt.NDArray[np.int64] | int:
    if isinstance(part, pa.Scalar):
        return len(part.as_py())
    lengths = pc.binary_length(part)
    found: npt.NDArray[np.int64] = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    return found


def _joined(parts: Sequence[Part], count: int) -> pa.BinaryArray:
    if not parts:
        return pa.array([b""] * count, _BINARY)
    if all(isinstance(part, pa.Scalar) for part in parts):
        parts = [pa.nulls(count, _BINARY), *parts]
    return pc.binary_join_element_wise(
        *parts, _NOTHING, null_handling="replace", null_replacement=""
    )


def _encoded(array: pa.Array, kind: AvroType, where: str) -> Iterator[Part]:
    """The bytes of values that are all to be written."""
    if isinstance(kind, list):
        yield from _union(array, kind, where)
        return
    if array.null_count:
        raise SchemaError(f"column {where} has {array.null_count} nulls and may have none")
    if not isinstance(kind, dict):
        yield from _plain_values(array, kind, where)
    elif kind["type"] == "fixed":
        yield _fixed_values(array, int(kind["size"]))
    elif kind["type"] == "record":
        for position, field in enumerate(kind["fields"]):
            child = array.field(position)
            yield from _encoded(child, field["type"], f"{where}.{field['name']}")
    elif kind["type"] in ("array", "map"):
        yield from _collections(array, kind, where)
    else:
        yield from _encoded(array, kind["type"], where)


def _plain_values(array: pa.Array, kind: str, where: str) -> Iterator[Part]:
    match kind:
        case "null":
            return
        case "boolean":
            yield pc.if_else(array, _scalar(b"\x01"), _scalar(b"\x00"))
        case "int" | "long":
            yield _varints(_whole_numbers(array))
        case "float" | "double":
            values = array.to_numpy(zero_copy_only=False).astype(_FLOATS[kind])
            yield _fixed(values.view(np.uint8), values.itemsize, len(array))
        case "string" | "bytes":
            yield from _texts(array)
        case _:
            raise SchemaError(f"column {where} has the Avro type {kind}, which is not written")


def _union(array: pa.Array, kinds: Sequence[AvroType], where: str) -> Iterator[Part]:
    """Values that may be null: the number of the branch, then the value if there is one."""
    inner = next((number for number, kind in enumerate(kinds) if kind != "null"), 0)
    branches = [bytes([2 * number]) for number in range(len(kinds))]
    if not array.null_count:
        yield _scalar(branches[inner])
        yield from _encoded(array, kinds[inner], where)
        return
    is_there = array.is_valid()
    null = branches[kinds.index("null")] if "null" in kinds else None
    if null is None:
        raise SchemaError(f"column {where} has {array.null_count} nulls and may have none")
    yield pc.if_else(is_there, _scalar(branches[inner]), _scalar(null))
    values = array.drop_null()
    joined = _joined(list(_encoded(values, kinds[inner], where)), len(values))
    positions = np.cumsum(is_there.to_numpy(zero_copy_only=False)) - 1
    yield joined.take(pa.array(positions, mask=array.is_null().to_numpy(zero_copy_only=False)))


def _scalar(data: bytes) -> pa.Scalar:
    return pa.scalar(data, _BINARY)


def _whole_numbers(array: pa.Array) -> npt.NDArray[np.int64]:
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_time64(array.type):
        array = array.view(pa.int64())
    found: npt.NDArray[np.int64] = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _varints(values: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Zigzag numbers of seven bits a byte, the least first."""
    rest = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(len(values), dtype=np.int32)
    bound = np.uint64(7)
    for _ in range(_MOST_VARINT_BYTES - 1):
        is_longer = (rest >> bound) != 0
        if not is_longer.any():
            break
        lengths += is_longer
        bound += np.uint64(7)
    offsets = _offsets(lengths)
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    at, left, groups = offsets[:-1].astype(np.int64), lengths, rest
    while len(at):
        is_last = left == 1
        data[at] = (groups & np.uint64(0x7F)).astype(np.uint8) | np.where(is_last, 0, 0x80).astype(
            np.uint8
        )
        more = ~is_last
        at, left, groups = at[more] + 1, left[more] - 1, groups[more] >> np.uint64(7)
    return _binary(offsets, data)


def _offsets(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _binary(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(_BINARY, len(offsets) - 1, buffers)


def _fixed(data: npt.NDArray[np.uint8], width: int, count: int) -> pa.BinaryArray:
    return _binary(np.arange(count + 1, dtype=np.int32) * np.int32(width), data)


def _texts(array: pa.Array) -> Iterator[Part]:
    if pa.types.is_decimal(array.type):
        raise SchemaError("decimals are written as fixed types, and not as bytes")
    values = array.cast(_BINARY)
    yield _varints(pc.binary_length(values).cast(pa.int64()).to_numpy(zero_copy_only=False))
    yield values


def _fixed_values(array: pa.Array, size: int) -> pa.BinaryArray:
    """Decimals as two's complement, the greatest byte first; other values as they are."""
    if not pa.types.is_decimal128(array.type):
        return array.cast(_BINARY)
    words = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    least_first = words.reshape(-1, 16)[array.offset : array.offset + len(array)]
    return _fixed(np.ascontiguousarray(least_first[:, :size][:, ::-1]), size, len(array))


def _collections(array: pa.Array, kind: Mapping[str, Any], where: str) -> Iterator[Part]:
    """Lists and maps: the number of items and the items, unless there are none; then a zero."""
    if kind["type"] == "map":
        key = list(_texts(array.keys))
        item = list(_encoded(array.items, kind["values"], f"{where}.value"))
        items = _joined([*key, *item], len(array.keys))
    else:
        items = _joined(
            list(_encoded(array.values, kind["items"], f"{where}.element")), len(array.values)
        )
    ends = np.frombuffer(array.buffers()[1], dtype=np.int32)
    ends = ends[array.offset : array.offset + len(array) + 1]
    starts = np.frombuffer(items.buffers()[1], dtype=np.int32)[items.offset :]
    data = items.buffers()[2]
    joined = pa.Array.from_buffers(
        _BINARY, len(array), [None, pa.py_buffer(np.ascontiguousarray(starts[ends])), data]
    )
    counts = np.diff(ends).astype(np.int64)
    is_empty = pa.array(counts == 0)
    yield pc.if_else(is_empty, _NOTHING, _varints(counts))
    yield joined
    yield _scalar(b"\x00")
