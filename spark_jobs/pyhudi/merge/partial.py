"""Records that lack values, which come from the record that each goes before.

Source: PartialUpdateHandler and PartialMergerWithKeepValues, Hudi 1.1; SparkRecordMergingUtils,
Hudi 1.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.options.merging import PartialUpdate
from pyhudi.merge.choice import choose
from pyhudi.schema.columns import Column, Flags, flags_of

# No column of a table has a name with a space.
_HAS: Final = " has "


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Which values of a record count as none.

    ``defaults`` has the default values that are not null, for ``IGNORE_DEFAULTS``; ``unavailable``
    is the text of ``FILL_UNAVAILABLE``.
    """

    kind: PartialUpdate
    defaults: Mapping[str, object] = field(default_factory=dict)
    unavailable: str | None = None

    def lacking(self, name: str, rows: pa.Table) -> Flags | None:
        """Which rows have no value of their own in a column; None when all have."""
        column = rows.column(name)
        if self.kind is PartialUpdate.KEEP_VALUES:
            found = _absent(name, rows)
        elif self.kind is PartialUpdate.IGNORE_DEFAULTS:
            found = self._default(name, column)
        else:
            found = self._unavailable(column)
        return found if found is not None and found.any() else None

    def _default(self, name: str, column: Column) -> Flags | None:
        if name not in self.defaults:
            return flags_of(column.is_null()) if column.null_count else None
        default = pa.scalar(self.defaults[name], column.type)
        return flags_of(pc.fill_null(pc.equal(column, default), fill_value=False))

    def _unavailable(self, column: Column) -> Flags | None:
        is_text = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
        if self.unavailable is None or not is_text:
            return None
        text = pa.scalar(self.unavailable.encode(), pa.binary()).cast(column.type)
        return flags_of(pc.fill_null(pc.equal(column, text), fill_value=False))


def filled_up(
    earlier: pa.Table, later: pa.Table, *, later_first: Flags, fills: Flags, by: Filling
) -> pa.Table:
    """Of each pair the row that goes first, and where it ``fills``, what it lacks from the other.

    Shapes: aligned rows; the columns of ``later``, whose notes of what a row has may be missing in
        the ``earlier`` ones.
    """
    columns = []
    for name, column in zip(later.schema.names, later.columns, strict=True):
        if name.startswith(_HAS):
            columns.append(_has_either(earlier, later, name, later_first=later_first, fills=fills))
            continue
        below = earlier.column(name)
        below = below if below.type == column.type else below.cast(column.type)
        takes_earlier = ~later_first
        for rows, is_first in ((earlier, ~later_first), (later, later_first)):
            lacking = by.lacking(name, rows)
            if lacking is not None:
                takes_earlier = takes_earlier ^ (lacking & is_first & fills)
        columns.append(choose(below, column, takes_earlier))
    return pa.Table.from_arrays(columns, schema=later.schema)


def with_presence(
    schema: pa.Schema, blocks: Iterable[Collection[str]]
) -> tuple[pa.Schema, tuple[str, ...]]:
    """The schema with notes of what a row has, for the columns that some of the blocks have not.

    Shapes: ``blocks`` has the names of the columns of each block with parts of rows.
    """
    known = list(blocks)
    optional = [name for name in schema.names if any(name not in block for block in known)]
    notes = [pa.field(f"{_HAS}{name}", pa.bool_()) for name in optional]
    return pa.schema([*schema, *notes]), tuple(optional)


def noted(
    rows: pa.Table, optional: Iterable[str], present: Collection[str] | None = None
) -> pa.Table:
    """The rows with notes of what they have: all columns, or those that are ``present``."""
    for name in optional:
        flag = present is None or name in present
        rows = rows.append_column(f"{_HAS}{name}", pa.array(np.full(rows.num_rows, flag)))
    return rows


def own_names(schema: pa.Schema) -> list[str]:
    """The names of a schema that are no notes."""
    return [name for name in schema.names if not name.startswith(_HAS)]


def has_notes(schema: pa.Schema) -> bool:
    """Whether there are notes of what rows have."""
    return any(name.startswith(_HAS) for name in schema.names)


def _absent(name: str, rows: pa.Table) -> Flags | None:
    note = f"{_HAS}{name}"
    return ~flags_of(rows.column(note)) if note in rows.schema.names else None


def _has_either(
    earlier: pa.Table, later: pa.Table, name: str, *, later_first: Flags, fills: Flags
) -> pa.Array:
    upper = flags_of(later.column(name))
    if name not in earlier.schema.names:
        return pa.array(upper)
    lower = flags_of(earlier.column(name))
    return pa.array(np.where(fills, upper | lower, np.where(later_first, upper, lower)))
