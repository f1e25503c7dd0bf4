"""The records of an HFile data block: values of an HFile, decoded into Arrow columns.

Source: HoodieHFileDataBlock, HFileUtils and HoodieAvroHFileReaderImplBase, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.hfile.reader import Entries, HFile, iter_entries, open_hfile
from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.columns import spans
from pyhudi.logfile.avro.rows import RecordSchema, faults_in, iter_decoded, record_schema

_SCHEMA: Final = b"schema"
_KEY_FIELD: Final = "key"


def iter_tables(
    content: bytes, schema_text: str, columns: Collection[str] | None, *, where: str
) -> Iterator[pa.Table]:
    """The records of an HFile data block in the order of their keys, some at a time.

    ``where`` names the block in errors. Of a column with the name ``key`` Hudi writes nothing, as
    the HFile has it already; it is filled from there.

    Shapes: those of ``columns`` that the block's schema has, in its order and types, and the first
        one where it has none of them; None for all.

    Raises:
        CorruptTableError: bytes that are no HFile with records of the schema.
        UnsupportedError: an HFile of a form that is not read.
    """
    with faults_in(where):
        schema = record_schema(schema_text)
        file = open_hfile(content)
        _check_schema(file, schema)
        for entries in iter_entries(file):
            at = 0
            for rows in iter_decoded(
                entries.data, entries.value_starts, entries.value_ends, schema, columns
            ):
                yield _with_keys(rows, entries, at)
                at += rows.num_rows


def _check_schema(file: HFile, schema: RecordSchema) -> None:
    """Hold the block's header, which has no checksum, against what the HFile says of itself."""
    stated = file.info.get(_SCHEMA)
    if stated is not None and record_schema(stated.decode("utf-8")) != schema:
        raise CorruptTableError("its header has another schema than its HFile")


def _with_keys(rows: pa.Table, entries: Entries, at: int) -> pa.Table:
    """The rows of some entries, their empty keys filled in."""
    position = rows.schema.get_field_index(_KEY_FIELD)
    if position < 0 or rows.schema.field(position).type != pa.string():
        return rows
    some = slice(at, at + rows.num_rows)
    data = np.frombuffer(entries.data, dtype=np.uint8)
    keys = spans(data, entries.key_starts[some], entries.key_ends[some]).cast(pa.string())
    stored = rows.column(position)
    filled = pc.if_else(pc.equal(stored, ""), keys, stored)
    return rows.set_column(position, rows.schema.field(position), filled)
