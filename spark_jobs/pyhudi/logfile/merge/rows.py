"""The rows of a base file after the log records of their slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi.config.options.merging import MergeMode
from pyhudi.keys.key_positions import KeyPositions
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.records import KeysOf
from pyhudi.logfile.merge.row_file import BATCH_ROWS
from pyhudi.merge.ordering import ordering_columns, stored_is_newer
from pyhudi.merge.partial import own_names
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Flags, Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPart:
    """Some rows of a slice, and how many keys were deleted beside them.

    ``is_changed`` says that log records made them of stored rows, ``is_new`` that their keys are
    not in the base file. Deletes that met nothing are among the ``deleted``.
    """

    rows: pa.Table
    is_changed: bool = False
    is_new: bool = False
    deleted: int = 0


def merged_parts(
    stored: Iterable[pa.Table], records: LogRecords, keys_of: KeysOf, rule: MergeRule
) -> Iterator[MergedPart]:
    """The rows of a slice in parts, each of rows of one kind.

    Shapes: tables of the schema of ``records.rows``, notes aside, in which ``stored`` comes too,
        some rows at a time; rows that were changed follow the others of their batch, new ones come
        last.
    Guarantees: holds one of the stored tables at a time, and of ``records.rows`` those that meet
        its rows, or a batch.
    Source: KeyBasedFileGroupRecordBuffer.doHasNext, Hudi 1.1. It matches each log record with one
    stored row; here every row of a key is changed, as a compaction changes it.
    """
    is_new = np.ones(len(records), dtype=bool)
    sought = KeyPositions(records.keys)
    for rows in stored:
        row_numbers, positions = sought.find(keys_of(rows))
        if not len(row_numbers):
            yield MergedPart(rows=rows)
            continue
        is_new[positions] = False
        yield from _changed(rows, row_numbers, records.take(positions), rule)
    met_nothing = int((is_new & records.is_delete).sum())
    if met_nothing:
        none = records.rows.slice(0, 0).select(own_names(records.rows.schema))
        yield MergedPart(rows=none, is_new=True, deleted=met_nothing)
    is_new &= ~records.is_delete
    names = own_names(records.rows.schema)
    first = 0
    for batch in records.rows.to_batches(max_chunksize=BATCH_ROWS):
        is_in = is_new[first : first + batch.num_rows]
        first += batch.num_rows
        if is_in.any():
            found = pa.Table.from_batches([batch]).select(names).filter(pa.array(is_in))
            kept = _not_deleted(found, rule)
            deleted = found.num_rows - kept.num_rows
            yield MergedPart(rows=kept, is_new=True, deleted=deleted)


def _not_deleted(rows: pa.Table, rule: MergeRule) -> pa.Table:
    """New rows but those that a rule, which sees rows that delete, would have deleted."""
    deleted = rule.deleted(rows) if rule.judges_deletes else None
    return rows if deleted is None else rows.filter(pa.array(~deleted))


def _changed(
    rows: pa.Table, row_numbers: Positions, records: LogRecords, rule: MergeRule
) -> Iterator[MergedPart]:
    """The rows of a table of which some meet a log record each."""
    stored = _at(rows.select(rule.columns_to_merge(rows.schema.names)), row_numbers)
    is_kept = _is_newer(stored, records, rule)
    alive = np.flatnonzero(~records.is_delete)
    if len(alive) < len(records):
        merged = rule.merge(_at(stored, alive), _at(records.rows, alive))
    else:
        merged = rule.merge(stored, records.rows)
    is_kept[alive] = merged.is_kept
    is_untouched = np.ones(rows.num_rows, dtype=bool)
    is_untouched[row_numbers[~is_kept]] = False
    yield MergedPart(rows=rows.filter(pa.array(is_untouched)))
    changed = merged.rows.select(own_names(merged.rows.schema))
    deleted = int((~is_kept).sum()) - changed.num_rows
    yield MergedPart(rows=changed, is_changed=True, deleted=deleted)


def _is_newer(stored: pa.Table, records: LogRecords, rule: MergeRule) -> Flags:
    """Where a stored row is newer than the delete that it meets."""
    is_newer = np.zeros(len(records), dtype=bool)
    weighed = np.flatnonzero(records.is_delete & ~records.is_final)
    if rule.mode is MergeMode.EVENT_TIME and len(weighed):
        rows = _at(stored, weighed)
        theirs = [column.take(pa.array(weighed)) for column in records.orderings]
        is_newer[weighed] = stored_is_newer(ordering_columns(rows, rule.ordering_fields), theirs)
    return is_newer


def _at(rows: pa.Table, positions: Positions) -> pa.Table:
    """The rows at some positions; a table without columns is left as it is."""
    return rows.take(pa.array(positions)) if rows.num_columns else rows
