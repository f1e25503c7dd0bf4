"""The record keys that a base file holds."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyhudi.fileslice.opener import OpenBaseFile
from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.columns import one_array
from pyhudi.schema.metafields import RECORD_KEY


def keys_of(rows: pa.Table, virtual_keys: KeyGenerator | None) -> pa.Array | pa.ChunkedArray:
    """The record keys of stored rows.

    ``virtual_keys`` makes them from the other columns of a table that keeps none.
    """
    if virtual_keys is None:
        return rows.column(RECORD_KEY)
    return virtual_keys.record_keys(rows)


def key_columns(virtual_keys: KeyGenerator | None) -> tuple[str, ...]:
    """The columns that ``keys_of`` looks at."""
    return (RECORD_KEY,) if virtual_keys is None else virtual_keys.key_columns


def stored_keys(
    base: OpenBaseFile, virtual_keys: KeyGenerator | None, *, rows: int
) -> Iterator[pa.ChunkedArray]:
    """The record keys of a base file, in file order, at least ``rows`` at a time but at its end.

    How many are best depends on how they are searched, see ``SoughtKeys``.
    """
    waiting: list[pa.StringArray] = []
    for table in base.tables(key_columns(virtual_keys)):
        waiting.append(one_array(keys_of(table, virtual_keys)))
        if sum(map(len, waiting)) >= rows:
            yield pa.chunked_array(waiting, pa.string())
            waiting = []
    if waiting:
        yield pa.chunked_array(waiting, pa.string())
