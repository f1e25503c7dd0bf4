"""The log side of a file slice: its rows and deletes, one a key.

Source: KeyBasedFileGroupRecordBuffer, BufferedRecordMergerFactory, Hudi 1.1.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.errors import CorruptTableError
from pyhudi.logfile.deletes.blocks import Deletes
from pyhudi.logfile.deletes.orderings import are_all_valid, ordering_values
from pyhudi.logfile.merge.filled import filled_records
from pyhudi.logfile.merge.keyed_spill import KeyedSpill
from pyhudi.logfile.merge.log_records import (
    IS_DELETE,
    KEY,
    LogRecords,
    joined_up,
    packed,
    unpacked,
)
from pyhudi.logfile.merge.row_file import RowFile, in_large_batches
from pyhudi.logfile.merge.survivors import Arrivals, surviving_records
from pyhudi.merge.choice import fold
from pyhudi.merge.deletes import operation_deletes
from pyhudi.merge.ordering import key_codes, ordering_columns
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Column, flags_of, one_array

KeysOf = Callable[[pa.Table], Column]
"""The record keys of some rows."""

WAITING_RECORDS: Final = 1 << 19
"""So many records are gathered at least before those of one key are merged."""

_log = logging.getLogger(__name__)


def merge_log_records(
    parts: Iterable[pa.Table | Deletes],
    schema: pa.Schema,
    keys_of: KeysOf,
    rule: MergeRule,
    memory: MergeMemory = DEFAULT_MEMORY,
) -> LogRecords:
    """Merge rows and deletes in their order of arrival to one record a key.

    Shapes: the tables among ``parts`` have the ``schema``, in which ``keys_of`` finds keys and
        ``rule`` its columns. Records are in no order.

    Guarantees: holds one record a key and at most as many again, or ``WAITING_RECORDS``, and of
        them no more than ``memory`` allows: what goes beyond waits on disk, parted by keys, and is
        merged part by part. Then keys, flags and ordering values are in memory, and rows stay on
        disk. What lies there is gone as soon as nobody holds the records.

    Raises:
        CorruptTableError: a row or a delete without a record key.
        StorageError: the disk takes no more.
    """
    with _Gathering(_nothing(schema, rule), rule, memory) as gathering:
        for part in parts:
            if isinstance(part, Deletes):
                gathering.add(_delete_records(part, gathering.nothing, rule))
            elif part.num_rows:
                gathering.add(_row_records(part, keys_of, rule))
        return gathering.merged()


class _Gathering:
    """Records as they arrive, in memory while there is room. A context manager."""

    def __init__(self, nothing: LogRecords, rule: MergeRule, memory: MergeMemory) -> None:
        self.nothing = nothing
        self._rule = rule
        self._memory = memory
        self._merged, self._waiting = nothing, [nothing]
        self._merged_bytes = self._waiting_bytes = self._waiting_count = 0
        self._spill: KeyedSpill | None = None

    def __enter__(self) -> _Gathering:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spill is not None:
            self._spill.close()

    def add(self, records: LogRecords) -> None:
        """Gather records that come after all others."""
        self._waiting.append(records)
        self._waiting_count += len(records)
        self._waiting_bytes += records.size_bytes
        # While records are merged they are there twice.
        is_full = self._merged_bytes + self._waiting_bytes > self._memory.limit_bytes // 2
        if self._spill is not None:
            if is_full:
                self._put_aside(self._spill)
        elif is_full or self._waiting_count >= max(WAITING_RECORDS, len(self._merged)):
            self._merge_waiting()
            if self._merged_bytes > self._memory.limit_bytes // 4:
                _log.info("log records of %d bytes and more wait on disk", self._merged_bytes)
                schema = packed(self.nothing).schema
                self._spill = KeyedSpill(schema, KEY, self._memory.folder)
                self._put_aside(self._spill)

    def merged(self) -> LogRecords:
        """Merge all records; nothing can be added after that."""
        if self._spill is None:
            self._merge_waiting()
            return self._merged
        self._put_aside(self._spill)
        return _merged_parts(self._spill, self.nothing, self._rule, self._memory)

    def _merge_waiting(self) -> None:
        self._merged = _one_a_key([self._merged, *self._waiting], self._rule)
        self._merged_bytes = self._merged.size_bytes
        self._waiting, self._waiting_bytes, self._waiting_count = [], 0, 0

    def _put_aside(self, spill: KeyedSpill) -> None:
        # What comes later is not merged first: a delete between two rows would be forgotten.
        spill.add(packed(joined_up([self._merged, *self._waiting])))
        self._merged, self._merged_bytes = self.nothing, 0
        self._waiting, self._waiting_bytes, self._waiting_count = [], 0, 0


def _merged_parts(
    spill: KeyedSpill, nothing: LogRecords, rule: MergeRule, memory: MergeMemory
) -> LogRecords:
    """Merge the records of each part of the spill, their rows in a file of their own."""
    unbounded = replace(memory, limit_bytes=sys.maxsize)
    with RowFile(nothing.rows.schema, memory.folder) as file:
        heads = [nothing]
        for part in spill.parts():
            with _Gathering(nothing, rule, unbounded) as gathering:
                for batch in part.to_batches():
                    gathering.add(unpacked(pa.Table.from_batches([batch]), nothing))
                records = gathering.merged()
            file.append(records.rows)
            heads.append(replace(records, rows=nothing.rows))
        rows = pa.Table.from_batches(file.mapped(), nothing.rows.schema)
    return replace(joined_up(heads), rows=rows)


def _one_a_key(pieces: Sequence[LogRecords], rule: MergeRule) -> LogRecords:
    arrived = joined_up(pieces)
    codes = key_codes(arrived.keys)
    if len(codes) == 0 or codes.max() + 1 == len(codes):
        return replace(arrived, rows=in_large_batches(arrived.rows))
    if rule.filling is not None:
        return filled_records(arrived, rule)
    if not rule.keeps_whole_rows:
        return _folded(arrived, rule)
    arrivals = Arrivals(
        codes=codes,
        orderings=arrived.orderings,
        is_delete_record=~arrived.is_row,
        is_final=arrived.is_final,
    )
    return arrived.take(surviving_records(arrivals))


def _nothing(schema: pa.Schema, rule: MergeRule) -> LogRecords:
    rows, none = schema.empty_table(), np.zeros(0, dtype=bool)
    return LogRecords(
        keys=pa.array([], pa.string()),
        rows=rows,
        is_row=none,
        is_delete=none,
        is_final=none,
        orderings=_orderings_of(rows, rule),
    )


def _orderings_of(rows: pa.Table, rule: MergeRule) -> tuple[pa.Array, ...]:
    return tuple(one_array(each) for each in ordering_columns(rows, rule.ordering_fields))


def _row_records(rows: pa.Table, keys_of: KeysOf, rule: MergeRule) -> LogRecords:
    # Where rules judge rows that are marked deleted, these come as rows.
    flags = [] if rule.judges_deletes else [rule.deleted(rows), operation_deletes(rows)]
    keys = one_array(keys_of(rows)).cast(pa.string())
    if keys.null_count:
        raise CorruptTableError(f"{keys.null_count} rows of a log file have no record key")
    is_delete = np.zeros(len(keys), dtype=bool)
    for found in flags:
        if found is not None:
            is_delete = is_delete | found
    return LogRecords(
        keys=keys,
        rows=rows,
        is_row=np.ones(len(keys), dtype=bool),
        is_delete=is_delete,
        # Only rules by ordering value alone weigh a delete against rows.
        is_final=is_delete & (not rule.weighs_deletes),
        orderings=_orderings_of(rows, rule),
    )


def _delete_records(deletes: Deletes, like: LogRecords, rule: MergeRule) -> LogRecords:
    count = len(deletes)
    if deletes.keys.null_count:
        raise CorruptTableError(
            f"{deletes.keys.null_count} deletes of a log file have no record key"
        )
    orderings = ordering_values(deletes, [column.type for column in like.orderings])
    nulls = [pa.nulls(count, field.type) for field in like.rows.schema]
    return LogRecords(
        keys=deletes.keys,
        rows=pa.Table.from_arrays(nulls, schema=like.rows.schema),
        is_row=np.zeros(count, dtype=bool),
        is_delete=np.ones(count, dtype=bool),
        is_final=~are_all_valid(orderings, count) | (not rule.weighs_deletes),
        orderings=orderings,
    )


def _folded(arrived: LogRecords, rule: MergeRule) -> LogRecords:
    """The records of each key joined one after another."""
    names = arrived.rows.schema.names
    rows = arrived.rows.append_column(KEY, arrived.keys)
    rows = rows.append_column(IS_DELETE, pa.array(arrived.is_delete))
    joined = fold(rows, arrived.keys, lambda before, after: _joined(before, after, names, rule))
    is_delete = flags_of(joined.column(IS_DELETE))
    return LogRecords(
        keys=one_array(joined.column(KEY)),
        rows=joined.select(names),
        is_row=~is_delete,
        is_delete=is_delete,
        is_final=is_delete,
        orderings=_orderings_of(joined, rule),
    )


def _joined(before: pa.Table, after: pa.Table, names: Sequence[str], rule: MergeRule) -> pa.Table:
    """Merge each record with the next of its key.

    A delete goes before what was there, and is replaced by what follows.
    """
    is_delete = flags_of(after.column(IS_DELETE))
    met = np.flatnonzero(~is_delete & ~flags_of(before.column(IS_DELETE)))
    pairs = pa.array(met)
    merged = rule.merge(before.select(names).take(pairs), after.select(names).take(pairs))
    is_delete[met[merged.is_deleted]] = True
    replaced = met[~(merged.is_kept | merged.is_deleted)]
    count = before.num_rows
    chosen = np.arange(count, 2 * count)
    chosen[met[merged.is_kept]] -= count
    chosen[replaced] = 2 * count + np.arange(len(replaced))
    hidden = after.select([KEY, IS_DELETE]).take(pa.array(replaced))
    rows = merged.rows.append_column(KEY, hidden.column(KEY))
    rows = rows.append_column(IS_DELETE, hidden.column(IS_DELETE))
    found = pa.concat_tables([before, after, rows]).take(pa.array(chosen))
    return found.set_column(found.num_columns - 1, IS_DELETE, pa.array(is_delete))
