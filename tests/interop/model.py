"""A table as a dict: what Hudi's rules say that a sequence of operations leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tests.interop.rows import Row, rows_of


@dataclass
class TableModel:
    """Rows by key within a partition; `ordering` None means that what comes later wins."""

    schema: pa.Schema
    keys: Sequence[str]
    partitions: Sequence[str] = ()
    ordering: str | None = None
    _rows: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)

    def _identity(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in (*self.partitions, *self.keys))

    def upsert(self, batch: pa.Table) -> None:
        """Within the batch the highest ordering value wins; against the table a tie replaces."""
        chosen: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in batch.to_pylist():
            self._keep(chosen, row)
        for row in chosen.values():
            self._keep(self._rows, row)

    def _keep(self, into: dict[tuple[Any, ...], dict[str, Any]], row: dict[str, Any]) -> None:
        held = into.get(self._identity(row))
        if held is None or self.ordering is None or row[self.ordering] >= held[self.ordering]:
            into[self._identity(row)] = row

    def delete(self, batch: pa.Table) -> None:
        """Delete by key, whatever the ordering value."""
        for row in batch.to_pylist():
            self._rows.pop(self._identity(row), None)

    def rows(self) -> list[Row]:
        """What a reader should find, user columns only."""
        return rows_of(self.table())

    def table(self) -> pa.Table:
        """The same as an Arrow table."""
        return pa.Table.from_pylist(list(self._rows.values()), schema=self.schema)

    def copy(self) -> TableModel:
        """An independent model with the same rows."""
        return TableModel(self.schema, self.keys, self.partitions, self.ordering, dict(self._rows))
