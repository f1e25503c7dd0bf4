"""How the columns of a base file are encoded, decided by its first rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi.schema.arrow import is_any_list
from pyhudi.schema.metafields import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
)

ALL_DIFFERENT: Final = (COMMIT_SEQNO, RECORD_KEY)
_FEW_VALUES: Final = (COMMIT_TIME, PARTITION_PATH, FILE_NAME)
_ENCODED_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_SAMPLE_ROWS: Final = 16_384
# TPC-H lineitem: dictionaries pay for dates (15 % of a sample differ) and discounts, and cost time
# and space for prices and comments (over 90 %) and for order keys (25 %, in runs).
_MOST_DISTINCT: Final = 0.2
# Indices into a dictionary that fills its page take at most 20 bits, plain texts far more.
_DICTIONARY_VALUE_BYTES: Final = 3


def stored_schema(schema: pa.Schema, first: Sequence[pa.Table]) -> pa.Schema:
    """The schema with dictionary types where texts repeat or come dictionary-encoded.

    Not: the Parquet schema is the same; only the way to it is shorter.
    """
    encoded = {
        field.name
        for table in first
        for field in table.schema
        if pa.types.is_dictionary(field.type)
    }
    encoded.update(_FEW_VALUES)
    return pa.schema(
        [
            field.with_type(_ENCODED_TEXT)
            if field.type == pa.string() and field.name in encoded
            else field
            for field in schema
        ]
    )


def dictionary_columns(stored: pa.Schema, first: Sequence[pa.Table]) -> list[str]:
    """Paths of the Parquet columns worth a dictionary: those whose values repeat.

    Every column inside a nested one counts as such.
    """
    return [
        path
        for position, field in enumerate(stored)
        if field.name not in ALL_DIFFERENT and _repeats(field, position, first)
        for path in _leaf_paths(field, field.name)
    ]


def repeating_texts(
    metadata: pq.FileMetaData, row_groups: Sequence[int], names: Iterable[str]
) -> set[str]:
    """Those of some top-level string columns that row groups store with a dictionary throughout."""
    found = set(names)
    for number in row_groups:
        if not found:
            break
        group = metadata.row_group(number)
        for position in range(group.num_columns):
            chunk = group.column(position)
            most = chunk.num_values * _DICTIONARY_VALUE_BYTES
            if not chunk.has_dictionary_page or chunk.total_uncompressed_size > most:
                found.discard(chunk.path_in_schema)
    return found


def joined(columns: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    """Columns one after the other, each encoded or decoded as the type says."""
    chunks = [chunk for column in columns for chunk in _as_stored(column, kind).chunks]
    return pa.chunked_array(chunks, type=kind)


def _as_stored(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind.value_type)
    return pc.dictionary_encode(column).cast(kind)


def _repeats(field: pa.Field, position: int, first: Sequence[pa.Table]) -> bool:
    if not first or pa.types.is_nested(field.type) or pa.types.is_dictionary(field.type):
        return True
    sample = first[0].column(position).slice(0, _SAMPLE_ROWS)
    distinct = pc.count_distinct(sample, mode="all").as_py()
    return bool(distinct <= len(sample) * _MOST_DISTINCT)


def _leaf_paths(field: pa.Field, path: str) -> Iterator[str]:
    kind = field.type
    if pa.types.is_struct(kind):
        for child in kind:
            yield from _leaf_paths(child, f"{path}.{child.name}")
    elif pa.types.is_map(kind):
        yield from _leaf_paths(kind.key_field, f"{path}.key_value.key")
        yield from _leaf_paths(kind.item_field, f"{path}.key_value.value")
    elif is_any_list(kind):
        yield from _leaf_paths(kind.value_field, f"{path}.list.element")
    else:
        yield path
