"""How file slices are read: which log blocks count, and by which rule they merge. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.config.options.merging import MergeMode
from pyhudi.filegroup.slices import LogWrite
from pyhudi.fileslice.span import CommitSpan
from pyhudi.fileslice.stored_keys import key_columns, keys_of
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.deletes import OPERATION_FIELD
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Column
from pyhudi.schema.metafields import COMMIT_TIME
from pyhudi.timeline.timeline import Timeline

ArchivedWrites = Callable[[Any, str], Sequence[LogWrite]]
"""Says which archived writes wrote a log file, given the table's storage and the file's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReading:
    """How log files are read and merged with base files.

    Blocks of writes that are not committed on the ``timeline``, or are later than ``as_of``, do not
    count. With a ``span`` neither do they nor stored rows of other commits: what these changed is
    merged with itself alone. ``virtual_keys`` makes the record keys of rows in tables that keep
    none. ``memory`` is the room for the log records of a slice. ``archived`` says which archived
    writes wrote a log file, given the table's storage and the file's path, and is asked about files
    with bytes that no block has; without it such bytes are passed over.

    Source: HoodieMergeOnReadSnapshotReader and MergeOnReadIncrementalRelation, Hudi 0.15 and 1.1
    (both filter base files and log blocks by the range before they merge).
    """

    rule: MergeRule
    timeline: Timeline
    as_of: str | None = None
    span: CommitSpan | None = None
    virtual_keys: KeyGenerator | None = None
    memory: MergeMemory = DEFAULT_MEMORY
    archived: ArchivedWrites | None = None

    def columns(self, asked: Sequence[str], own: Sequence[str]) -> frozenset[str]:
        """The columns to read for rows of those asked for; ``own`` are all of the table.

        Columns that the table has not can be among them.
        """
        # A merger in Python sees whole rows.
        names = own if self.rule.mode is MergeMode.CUSTOM else asked
        range_ends = () if self.span is None else (COMMIT_TIME,)
        ordering = (path.partition(".")[0] for path in self.rule.ordering_fields)
        merged = (*self.rule.columns_to_merge(names), *ordering)
        deleting = (OPERATION_FIELD, *self.rule.deleting_columns, *self.rule.event_columns)
        keys = key_columns(self.virtual_keys)
        return frozenset((*asked, *keys, *range_ends, *deleting, *merged))

    def instant_test(self) -> Callable[[str], bool]:
        """Whether the blocks of an instant count, as a function."""
        is_committed = self.timeline.committed_test()

        def is_wanted(instant: str) -> bool:
            is_other = self.span is not None and not self.span.holds(instant)
            is_late = self.as_of is not None and instant > self.as_of
            return not is_other and not is_late and is_committed(instant)

        return is_wanted

    def keys_of(self, rows: pa.Table) -> Column:
        """The record keys of some rows."""
        return keys_of(rows, self.virtual_keys)
