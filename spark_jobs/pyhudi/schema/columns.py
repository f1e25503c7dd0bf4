"""Arrow columns in one piece, and as NumPy arrays with which rows are chosen and counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvariantError

Column: TypeAlias = pa.Array | pa.ChunkedArray
Flags: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = npt.NDArray[np.int64]
Offsets: TypeAlias = npt.NDArray[np.signedinteger]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_MOST_16_BITS: Final = (1 << 16) - 1


def one_array(column: Column) -> pa.Array:
    """The column in one piece, which is copied only where it is in several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def field_at(schema: pa.Schema, path: str) -> pa.Field | None:
    """The field at a dotted path of columns and struct fields, if there is one."""
    name, _, inner = path.partition(".")
    if name not in schema.names:
        return None
    found = schema.field(name)
    if not inner:
        return found
    return field_at(pa.schema(list(found.type)), inner) if pa.types.is_struct(found.type) else None


def flags_of(column: Column) -> Flags:
    """The values of a boolean column; null is no.

    Guarantees: the array is new, so that it may be changed.
    """
    flags: Flags = np.array(pc.fill_null(column, fill_value=False), dtype=bool)
    return flags


def text_buffers(texts: pa.Array) -> tuple[Offsets, Bytes]:
    """The offsets of an array's texts, one more than texts, and the bytes in which they count.

    Shapes: string or binary, plain or large.

    Raises:
        InvariantError: other values.
    """
    kind = texts.type
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (is_large or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        raise InvariantError(f"keys must be strings or binary, found {kind}")
    _, offset_buffer, data_buffer = texts.buffers()
    offsets: Offsets = np.frombuffer(offset_buffer, dtype=np.int64 if is_large else np.int32)
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return offsets[texts.offset : texts.offset + len(texts) + 1], data


def text_slices(offsets: Offsets, *, rows: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut texts into runs of so many at most, and of so many bytes unless a single one is longer.

    Shapes: where each run starts and stops.
    """
    start, count = 0, len(offsets) - 1
    while start < count:
        by_bytes = int(np.searchsorted(offsets, offsets[start] + size_bytes, side="right")) - 1
        stop = min(count, start + rows, max(start + 1, by_bytes))
        yield start, stop
        start = stop


def order_of(codes: npt.NDArray[np.integer]) -> Positions:
    """The positions of whole numbers in their order, equal ones as they come.

    Numbers of 16 bits are sorted by radix, in a third of the time.
    """
    if len(codes) and codes.min() >= 0 and codes.max() <= _MOST_16_BITS:
        codes = codes.astype(np.uint16)
    return np.argsort(codes, kind="stable")


def with_children(array: pa.Array, kind: pa.DataType, children: pa.Array) -> pa.Array:
    """The lists or maps of an array over other elements, in a type that says so."""
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], -1, array.offset, children=[children]
    )
