"""Rows on their way between tasks: Arrow record batches as binary values, called pieces.

A runner moves, keeps and spills them like any value, and neither side takes them apart into rows.
They are compressed once, since the JVM copies each value several times on its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyhudi.errors import InvariantError
from pyhudi.schema.metafields import RECORD_KEY

KEY_FIELD = pa.field(RECORD_KEY, pa.string(), nullable=False)
KEY_SCHEMA = pa.schema([KEY_FIELD])
# The JVM holds pieces as single byte arrays, and many large ones fragment its heap.
PIECE_BYTES = 2 << 20
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def keyed_schema(data: pa.Schema) -> pa.Schema:
    """The record key first, then the data columns."""
    return pa.schema([KEY_FIELD, *data])


def to_bytes(rows: pa.Table | pa.RecordBatch) -> bytes:
    """One record batch as an Arrow IPC stream."""
    if isinstance(rows, pa.Table):
        batches = rows.combine_chunks().to_batches()
        if len(batches) != 1:
            raise InvariantError(f"one batch expected, found {len(batches)}")
        rows = batches[0]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as writer:
        writer.write_batch(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: pa.Buffer | bytes, schema: pa.Schema) -> pa.RecordBatch:
    """The record batch of ``to_bytes``, which has this schema."""
    with pa.ipc.open_stream(data) as reader:
        batch = reader.read_next_batch()
    if not batch.schema.equals(schema):
        raise InvariantError(f"rows of the schema {batch.schema} came where {schema} was expected")
    return batch


def buffers(column: pa.Array) -> list[pa.Buffer]:
    """The binary values of a column of pieces, without copying them."""
    return [value.as_buffer() for value in column]


def rechunk(batches: Iterator[pa.RecordBatch], *, rows: int, size_bytes: int) -> Iterator[pa.Table]:
    """Join small batches until one of the bounds is reached."""
    held: list[pa.RecordBatch] = []
    held_rows = held_bytes = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        held_rows += batch.num_rows
        held_bytes += batch.nbytes
        if held_rows >= rows or held_bytes >= size_bytes:
            yield pa.Table.from_batches(held)
            held, held_rows, held_bytes = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def one_by_one(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pieces of some batches, each as a batch of one row."""
    for batch in batches:
        for number in range(batch.num_rows):
            yield batch.slice(number, 1)


def sliced(rows: pa.Table) -> Iterator[pa.Table]:
    """Rows in parts that take about ``PIECE_BYTES`` at most."""
    step = max(1, rows.num_rows * PIECE_BYTES // max(1, rows.nbytes))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def one_row(values: Sequence[object], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of one row with these values."""
    columns = [pa.array([v], f.type) for v, f in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def record_batch(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of the schema; the columns are cast to it where they differ."""
    cast = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(cast, schema=schema)
