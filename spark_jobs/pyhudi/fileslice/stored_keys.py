"""The record keys of stored rows. Pure."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.columns import Column
from pyhudi.schema.metafields import RECORD_KEY


def keys_of(rows: pa.Table, virtual_keys: KeyGenerator | None) -> Column:
    """The record keys of stored rows.

    ``virtual_keys`` makes them from the other columns of a table that keeps none.
    """
    if virtual_keys is None:
        return rows.column(RECORD_KEY)
    return virtual_keys.record_keys(rows)


def key_columns(virtual_keys: KeyGenerator | None) -> tuple[str, ...]:
    """The columns that ``keys_of`` looks at."""
    return (RECORD_KEY,) if virtual_keys is None else virtual_keys.key_columns
