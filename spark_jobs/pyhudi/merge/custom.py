"""Mergers that users write, as Python classes."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyhudi.errors import OptionError, RequestError
from pyhudi.merge.deletes import SOFT_DELETE, soft_deletes
from pyhudi.schema.columns import Flags
from pyhudi.schema.metafields import META_FIELDS

KEEPS_OLDER = "_pyhudi_keeps_older"
"""The column by which a merger says where the older record stays as it is, commit time and all."""


class Merger(Protocol):
    """What a class must offer to merge records; it is made without arguments.

    It is called for stored rows beside incoming ones, and for rows of one key in a batch, the
    earlier as the older. It runs in Spark's workers, so its module must be importable there; what
    it answers may depend on the two rows alone, as tasks may be tried again.

    ``merge`` gets two tables of equal length and equal columns, row beside row of one key: the
    table's columns, and ``_hoodie_is_deleted`` also where the table has none. It answers a table of
    that length with these columns. A row of which ``_hoodie_is_deleted`` is true is deleted; a
    boolean column ``_pyhudi_keeps_older`` may be added.
    """

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The merged record of each pair."""


@lru_cache(maxsize=8)
def load_merger(path: str) -> Merger:
    """The merger at a class path, ``package.module:Class`` or ``package.module.Class``.

    Raises:
        OptionError: there is no such class, or it has no ``merge``.
    """
    module_name, _, class_name = path.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module_name), class_name, None)
    except (ImportError, ValueError) as error:
        raise OptionError(
            f"the merger {path} cannot be imported: {error}; its module must be installed where "
            "the job and Spark's workers run"
        ) from error
    if not isinstance(found, type) or not callable(getattr(found, "merge", None)):
        raise OptionError(f"the merger {path} is no class with a method merge")
    merger: Merger = found()
    return merger


def with_soft_deletes(rows: pa.Table) -> pa.Table:
    """The rows with the column that says which are deleted, added behind the others if need be."""
    if SOFT_DELETE in rows.schema.names:
        return rows
    return rows.append_column(SOFT_DELETE, pa.array(np.zeros(rows.num_rows, dtype=bool)))


def run_merger(path: str, older: pa.Table, newer: pa.Table) -> tuple[pa.Table, Flags]:
    """What a merger makes of two aligned tables, and where it keeps the older row.

    Shapes: the columns of ``newer``, meta columns as they are there.

    Raises:
        RequestError: the merger answered something else than its protocol says.
    """
    names = [name for name in newer.schema.names if name not in META_FIELDS]
    found = load_merger(path).merge(older.select(names), newer.select(names))
    _check(path, found, names, newer.num_rows)
    is_kept = np.zeros(newer.num_rows, dtype=bool)
    if KEEPS_OLDER in found.schema.names:
        kept = soft_deletes(pa.table({SOFT_DELETE: found.column(KEEPS_OLDER)}))
        is_kept = is_kept if kept is None else kept
    columns = [
        newer.column(name) if name in META_FIELDS else _cast(path, found, newer.schema.field(name))
        for name in newer.schema.names
    ]
    return pa.Table.from_arrays(columns, schema=newer.schema), is_kept


def _check(path: str, found: object, names: list[str], rows: int) -> None:
    if not isinstance(found, pa.Table):
        raise RequestError(f"the merger {path} answered {type(found).__name__}, not a table")
    missing = [name for name in names if name not in found.schema.names]
    lacking = f" and lacks the columns {', '.join(missing)}" if missing else ""
    if missing or found.num_rows != rows:
        raise RequestError(
            f"the merger {path} answered {found.num_rows} rows for {rows}{lacking}; it must answer "
            "a row a pair, with every column"
        )


def _cast(path: str, found: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    column = found.column(field.name)
    try:
        return column if column.type == field.type else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise RequestError(
            f"the merger {path} answered the column {field.name} as {column.type}, which does not "
            f"fit {field.type}: {error}"
        ) from error
