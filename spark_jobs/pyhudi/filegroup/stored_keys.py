"""The record keys that a base file holds."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyhudi.basefile.open import BaseFileReader
from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.metafields import RECORD_KEY


def keys_of(rows: pa.Table, virtual_keys: KeyGenerator | None) -> pa.Array | pa.ChunkedArray:
    """The record keys of stored rows.

    ``virtual_keys`` makes them from the other columns of a table that keeps none.
    """
    if virtual_keys is None:
        return rows.column(RECORD_KEY)
    return virtual_keys.record_keys(rows)


def stored_keys(
    reader: BaseFileReader, virtual_keys: KeyGenerator | None, *, rows: int
) -> Iterator[pa.ChunkedArray]:
    """The record keys of a base file, in file order, at least ``rows`` at a time but at its end.

    How many are best depends on how they are searched, see ``SoughtKeys``.
    """
    waiting: list[pa.StringArray] = []
    for keys in _keys(reader, virtual_keys):
        waiting.append(keys)
        if sum(map(len, waiting)) >= rows:
            yield pa.chunked_array(waiting, pa.string())
            waiting = []
    if waiting:
        yield pa.chunked_array(waiting, pa.string())


def _keys(reader: BaseFileReader, virtual_keys: KeyGenerator | None) -> Iterator[pa.StringArray]:
    if virtual_keys is None:
        yield from reader.keys()
        return
    for rows in reader.iter_tables(virtual_keys.key_columns):
        yield virtual_keys.record_keys(rows)
