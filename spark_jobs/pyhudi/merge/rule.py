"""The rule by which records of one key become one, as a value that travels to the workers.

Everything here is about Arrow tables: the rows of a batch, and stored rows beside incoming ones. No
function knows a file, so writers, readers of logs and indexes that move records share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.options.merging import DeleteMarker, MergeMode, PartialUpdate
from pyhudi.errors import UnsupportedError
from pyhudi.merge.choice import Step, choose, choose_rows, filled, fold
from pyhudi.merge.custom import run_merger, with_soft_deletes
from pyhudi.merge.debezium import DELETED, EVENT_COLUMN, EVENT_OPERATION, UNSENT, event_order
from pyhudi.merge.deletes import SOFT_DELETE, soft_deletes, text_is
from pyhudi.merge.filling import newest_filled
from pyhudi.merge.ordering import (
    key_codes,
    ordering_columns,
    refuse_nulls,
    stored_is_newer,
    surviving_positions,
)
from pyhudi.merge.partial import Filling, filled_up, has_notes
from pyhudi.schema.columns import Column, Flags, flags_of
from pyhudi.schema.metafields import META_FIELDS

OPERATION = "Op"
"""The column in which the AWS Database Migration Service says what was done to a row."""

_DELETED_BY_DMS = "d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Which stored rows are kept, replaced or deleted by incoming ones of their keys.

    Shapes: a flag a stored row each in ``is_kept``, where it stays as it is, commit time and all,
        and ``is_deleted``; ``rows`` has what replaces the others, in their order, in the columns
        of the incoming rows.
    """

    is_kept: Flags
    is_deleted: Flags
    rows: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """One merge mode with the columns that it looks at.

    ``ordering_fields`` is empty where the order of arrival counts; ``COMMIT_TIME``,
    ``NON_DEFAULTS`` and ``DMS`` look at them within a batch alone. ``defaults`` has the default
    values of the table's columns that are not null. ``merger`` is the class path of the merger
    that ``CUSTOM`` calls. ``ignores_deletes`` writes rows that say they are deleted. ``filling``
    says which values of a record are taken from the one that it goes before, of ``COMMIT_TIME``
    and ``EVENT_TIME`` alone.
    """

    mode: MergeMode
    ordering_fields: tuple[str, ...] = ()
    delete_marker: DeleteMarker | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)
    merger: str | None = None
    ignores_deletes: bool = False
    filling: Filling | None = None

    @property
    def weighs_deletes(self) -> bool:
        """Whether a delete is a record among others, and goes first by its ordering value."""
        return self.mode in (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME, MergeMode.DMS)

    @property
    def keeps_whole_rows(self) -> bool:
        """Whether a merged row is always one of the two, so that ordering columns decide alone."""
        return self.weighs_deletes and self.filling is None

    @property
    def asks_stored_rows(self) -> bool:
        """Whether the stored row has a say in the merged row of a key."""
        return self.filling is not None or self.mode not in (MergeMode.COMMIT_TIME, MergeMode.DMS)

    def for_rows(self, schema: pa.Schema) -> MergeRule:
        """The rule of records some of which are parts of rows, where a schema has notes of that.

        Raises:
            UnsupportedError: a rule that knows whole rows alone, as Hudi's do.
        """
        if not has_notes(schema):
            return self
        if self.mode not in (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME):
            raise UnsupportedError(
                f"log files hold parts of rows, which cannot be merged by {self.mode.value}"
            )
        return replace(self, filling=Filling(kind=PartialUpdate.KEEP_VALUES))

    @property
    def may_keep_stored(self) -> bool:
        """Whether a stored row can stay as it is, and the incoming one be left out."""
        return self.mode in (MergeMode.EVENT_TIME, MergeMode.CUSTOM, *EVENT_COLUMN)

    @property
    def event_columns(self) -> tuple[str, ...]:
        """The columns by which Debezium orders events, of ``POSTGRES`` and ``MYSQL``."""
        return (EVENT_COLUMN[self.mode],) if self.mode in EVENT_COLUMN else ()

    @property
    def judges_deletes(self) -> bool:
        """Whether rows that delete meet others like any row, as they may be the older ones."""
        return self.mode in (MergeMode.CUSTOM, *EVENT_COLUMN)

    @property
    def deleting_columns(self) -> tuple[str, ...]:
        """The columns by which rows can say that they delete their key."""
        marker = () if self.delete_marker is None else (self.delete_marker.field,)
        operation = (OPERATION,) if self.mode is MergeMode.DMS else ()
        event = (EVENT_OPERATION,) if self.mode in EVENT_COLUMN else ()
        return (SOFT_DELETE, *operation, *event, *marker)

    def columns_to_merge(self, names: Sequence[str]) -> list[str]:
        """Of a table's columns those that ``merge`` needs of the stored rows."""
        if self.filling is not None:
            return list(names)
        if not self.keeps_whole_rows:
            return [name for name in names if name not in META_FIELDS]
        needed = {path.partition(".")[0] for path in self.ordering_fields}
        return sorted(needed) if self.mode is MergeMode.EVENT_TIME else []

    def deleted(self, rows: pa.Table) -> Flags | None:
        """Which rows delete their key; None when none does.

        Source: BaseAvroPayload.isDeleteRecord, AWSDmsAvroPayload, DeleteContext, Hudi 1.1.
        """
        if self.ignores_deletes:
            return None
        found = soft_deletes(rows)
        if self.mode is MergeMode.DMS and OPERATION in rows.schema.names:
            found = _either(found, text_is(rows.column(OPERATION), _DELETED_BY_DMS, any_case=True))
        if self.mode in EVENT_COLUMN and EVENT_OPERATION in rows.schema.names:
            events = text_is(rows.column(EVENT_OPERATION), DELETED, any_case=True)
            found = _either(found, events)
        marker = self.delete_marker
        if marker is not None and marker.field in rows.schema.names:
            found = _either(found, text_is(rows.column(marker.field), marker.value))
        return found if found is not None and found.any() else None

    def combine(self, rows: pa.Table, keys: Column, *, is_lookup: bool = False) -> pa.Table:
        """The rows of a batch, one a key.

        ``is_lookup`` says that the batch was not to be combined, and meets stored rows one a key.

        Shapes: the columns of ``rows``, with ``_hoodie_is_deleted`` behind them where a custom
            merger says by it what the rows have no column for.

        Raises:
            RequestError: rows of one key that cannot be compared for want of an ordering value.
        Source: preCombine of the payload classes and FileGroupReaderBasedMergeHandle, Hudi 1.1;
            OverwriteWithLatestAvroPayload.preCombine, Hudi 0.15.
        """
        if self.filling is not None:
            return _folded(rows, keys, self._join_filling)
        match self.mode:
            case MergeMode.COMMIT_TIME if is_lookup and self.ordering_fields:
                return replace(self, ordering_fields=()).combine(rows, keys)
            case MergeMode.PARTIAL_UPDATE | MergeMode.NON_DEFAULTS if is_lookup:
                return replace(self, ordering_fields=())._filled(rows, keys)
            case MergeMode.PARTIAL_UPDATE:
                return self._filled(rows, keys)
            case MergeMode.CUSTOM:
                return _folded(with_soft_deletes(rows), keys, self._join_by_merger)
            case _:
                # Places in a log of MySQL are compared as numbers, in a batch too.
                is_event = self.mode is MergeMode.MYSQL and bool(self.ordering_fields)
                ordering = (
                    event_order(rows, self.mode)
                    if is_event
                    else ordering_columns(rows, self.ordering_fields)
                )
                positions = surviving_positions(keys, ordering)
                return rows if positions is None else rows.take(pa.array(positions))

    def merge(self, stored: pa.Table, incoming: pa.Table) -> Merged:
        """Merge stored rows, each with the incoming row of its key.

        Shapes: as many rows on both sides; of the stored ones the columns that
            ``columns_to_merge`` names suffice, in any encoding.
        Source: combineAndGetUpdateValue of the payload classes, BufferedRecordMergerFactory,
        Hudi 1.1.
        """
        nothing = np.zeros(incoming.num_rows, dtype=bool)
        deleted = self.deleted(incoming)
        is_deleted = nothing if deleted is None else deleted
        if self.filling is not None:
            is_kept = self._is_newer(stored, incoming)
            rows = filled_up(
                *(stored, incoming),
                later_first=~is_kept,
                fills=~is_deleted,
                by=self.filling,
            )
            return _merged(rows, is_kept & is_deleted, is_deleted)
        match self.mode:
            case MergeMode.PARTIAL_UPDATE:
                is_newer = self._is_newer(stored, incoming)
                soft = soft_deletes(stored)
                if soft is not None:
                    is_deleted = is_deleted | (soft & is_newer)
                joined = _joined(stored, incoming, is_newer)
                return _merged(joined, nothing, is_deleted)
            case MergeMode.NON_DEFAULTS:
                return _merged(self._without_defaults(stored, incoming), nothing, is_deleted)
            case MergeMode.POSTGRES | MergeMode.MYSQL:
                return self._by_event(stored, incoming, is_deleted)
            case MergeMode.CUSTOM:
                return self._by_merger(stored, incoming)
            case _:
                is_ordered = self.mode is MergeMode.EVENT_TIME
                is_kept = self._is_newer(stored, incoming) if is_ordered else nothing
                return _merged(incoming, is_kept, is_deleted)

    def _is_newer(self, stored: pa.Table, incoming: pa.Table) -> Flags:
        if not self.ordering_fields or self.mode is MergeMode.COMMIT_TIME:
            return np.zeros(incoming.num_rows, dtype=bool)
        paths = self.ordering_fields
        return stored_is_newer(ordering_columns(stored, paths), ordering_columns(incoming, paths))

    def _join_filling(self, before: pa.Table, after: pa.Table) -> pa.Table:
        for column in ordering_columns(pa.concat_tables([before, after]), self.ordering_fields):
            refuse_nulls(column.null_count)
        fills = np.ones(after.num_rows, dtype=bool)
        for deleted in (self.deleted(before), self.deleted(after)):
            if deleted is not None:
                fills &= ~deleted
        is_later_first = ~self._is_newer(before, after)
        by = self.filling or Filling(kind=PartialUpdate.KEEP_VALUES)
        return filled_up(before, after, later_first=is_later_first, fills=fills, by=by)

    def _filled(self, rows: pa.Table, keys: Column) -> pa.Table:
        deleted = soft_deletes(rows)
        if deleted is None:
            return newest_filled(rows, keys, ordering_columns(rows, self.ordering_fields))
        # A delete ends the filling of its key, which only steps can follow.
        codes = key_codes(keys)
        is_stepwise = np.bincount(codes, weights=deleted)[codes] > 0
        stepwise, others = pa.array(is_stepwise), pa.array(~is_stepwise)
        plain = self._filled(rows.filter(others), keys.filter(others))
        stepped = _folded(rows.filter(stepwise), keys.filter(stepwise), self._join_partially)
        return pa.concat_tables([plain, stepped])

    def _join_partially(self, before: pa.Table, after: pa.Table) -> pa.Table:
        for column in ordering_columns(pa.concat_tables([before, after]), self.ordering_fields):
            refuse_nulls(column.null_count)
        is_newer = self._is_newer(before, after)
        joined = _joined(before, after, is_newer)
        gone, here = soft_deletes(before), soft_deletes(after)
        if gone is None and here is None:
            return joined
        nothing = np.zeros(after.num_rows, dtype=bool)
        is_base_deleted = np.where(
            is_newer, nothing if gone is None else gone, nothing if here is None else here
        )
        # Nothing is filled into a deleted record, nor is it kept before a later one.
        return choose_rows(after, joined, is_base_deleted)

    def _without_defaults(self, stored: pa.Table, incoming: pa.Table) -> pa.Table:
        def set_or_stored(name: str, below: Column, column: Column) -> Column:
            if name not in self.defaults:
                return filled(column, below)
            default = pa.scalar(self.defaults[name], column.type)
            is_set = pc.fill_null(pc.not_equal(column, default), fill_value=True)
            return choose(column, below, flags_of(is_set))

        return _by_column(stored, incoming, set_or_stored)

    def _by_event(self, stored: pa.Table, incoming: pa.Table, is_deleted: Flags) -> Merged:
        events = (event_order(rows, self.mode) for rows in (stored, incoming))
        is_kept = stored_is_newer(*events)

        def sent_or_stored(name: str, below: Column, column: Column) -> Column:
            lacking = UNSENT.lacking(name, incoming)
            return column if lacking is None else choose(below, column, lacking)

        is_filled = self.mode is MergeMode.POSTGRES
        rows = _by_column(stored, incoming, sent_or_stored) if is_filled else incoming
        return _merged(rows, is_kept, is_deleted)

    def _by_merger(self, stored: pa.Table, incoming: pa.Table) -> Merged:
        newer = with_soft_deletes(incoming)
        older = with_soft_deletes(_by_column(stored, incoming, lambda _name, below, _: below))
        rows, is_kept = run_merger(self.merger or "", older, newer)
        deleted = self.deleted(rows)
        is_deleted = np.zeros(rows.num_rows, dtype=bool) if deleted is None else deleted
        return _merged(rows.select(incoming.schema.names), is_kept, is_deleted)

    def _join_by_merger(self, before: pa.Table, after: pa.Table) -> pa.Table:
        rows, is_kept = run_merger(self.merger or "", before, after)
        return choose_rows(before, rows, is_kept)


def _merged(rows: pa.Table, is_kept: Flags, is_deleted: Flags) -> Merged:
    is_deleted = is_deleted & ~is_kept
    is_out = is_kept | is_deleted
    return Merged(
        is_kept=is_kept,
        is_deleted=is_deleted,
        rows=rows.filter(pa.array(~is_out)) if is_out.any() else rows,
    )


def _either(found: Flags | None, more: Flags) -> Flags:
    return more if found is None else found | more


def _folded(rows: pa.Table, keys: Column, step: Step) -> pa.Table:
    if pc.count_distinct(keys).as_py() == rows.num_rows:
        return rows
    return fold(rows, keys, step)


def _joined(older: pa.Table, newer: pa.Table, older_first: Flags) -> pa.Table:
    """Each row with the values that it lacks taken from the other."""

    def join(_name: str, below: Column, column: Column) -> Column:
        return choose(filled(below, column), filled(column, below), older_first)

    return _by_column(older, newer, join)


def _by_column(
    stored: pa.Table, incoming: pa.Table, join: Callable[[str, Column, Column], Column]
) -> pa.Table:
    """Rows whose columns ``join`` makes of a name, the stored and the incoming values.

    Stored values come in the type of the incoming ones; meta columns are the incoming ones.
    """
    columns = [
        column if name in META_FIELDS else join(name, _like(stored.column(name), column), column)
        for name, column in zip(incoming.schema.names, incoming.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=incoming.schema)


def _like(column: Column, other: Column) -> Column:
    return column if column.type == other.type else column.cast(other.type)
