"""Records whose partition has changed: which stay, and which leave one file group for another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.fileslice.reader import SliceLogs
from pyhudi.fileslice.stored_keys import key_columns, keys_of
from pyhudi.keys.generators import KeyGenerator
from pyhudi.keys.key_positions import KeyPositions
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.columns import Flags, flags_of, one_array
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import PARTITION_PATH, RECORD_KEY
from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocationContext:
    """What whoever relocates records must know, as a value that travels to the workers.

    ``schema`` is the table's with the meta columns; ``is_combining`` says that rows of one key in
    the batch become one. ``virtual_keys`` makes the keys of stored rows where files keep none, and
    ``logs`` has the slices whose stored rows log files change.
    """

    storage: Storage
    rule: MergeRule
    schema: pa.Schema
    generator: KeyGenerator
    is_combining: bool
    virtual_keys: KeyGenerator | None = None
    logs: SliceLogs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """Where rows go whose keys a base file holds.

    ``moved_keys`` are those whose stored rows leave the file group, before ``updates`` are merged
    with what is left; an update of a moved key therefore replaces its record. ``inserts`` belong to
    other partitions, or to the file's own when there is no file. ``ignored`` counts rows that would
    have moved their records, had the stored rows not been newer.

    Shapes: the columns of the incoming rows; in ``inserts`` the partition path behind them.
    """

    updates: pa.Table
    moved_keys: pa.StringArray
    inserts: pa.Table
    ignored: int = 0


def relocate_stored(context: RelocationContext, file: BaseFile, rows: pa.Table) -> Relocation:
    """Relocate the rows whose keys a base file holds, some of them with another partition's path.

    Rows of keys that only come with the file's own partition are updates as ever. Of the others the
    newest row of the batch counts; when it names the file's partition, or deletes, it is an update
    too. Otherwise it is merged with the stored row: that one stays where it is if it is newer,
    and leaves for the partition of the merged row if not.

    Shapes: ``rows`` has the record key, the table's data columns, and the partition path; all rows
        of the batch whose keys the file holds must be among them.
    Guarantees: of the file the stored rows of moving keys alone are held in memory.
    Source: HoodieIndexUtils.tagGlobalLocationBackToRecords and mergeForPartitionUpdatesIfNeeded,
        Hudi 0.15, and mergeForPartitionUpdatesAndDeletionsIfNeeded, 1.1.
    """
    names = [name for name in rows.schema.names if name != PARTITION_PATH]
    is_foreign = pc.not_equal(rows.column(PARTITION_PATH), file.partition)
    foreign = pc.unique(rows.column(RECORD_KEY).filter(is_foreign))
    is_contested = pc.is_in(rows.column(RECORD_KEY), value_set=foreign)
    updates = [rows.filter(pc.invert(is_contested)).select(names)]
    newest, is_deleted = _combined(context, rows.filter(is_contested))
    is_moving = flags_of(pc.not_equal(newest.column(PARTITION_PATH), file.partition)) & ~is_deleted
    updates.append(newest.filter(pa.array(~is_moving)).select(names))
    moved_keys, moved, ignored = _merged(context, file, newest.filter(pa.array(is_moving)))
    is_back = pc.equal(moved.column(PARTITION_PATH), file.partition)
    updates.append(moved.filter(is_back).select(names))
    return Relocation(
        updates=pa.concat_tables(updates),
        moved_keys=moved_keys,
        inserts=moved.filter(pc.invert(is_back)),
        ignored=ignored,
    )


def relocate_new(context: RelocationContext, rows: pa.Table) -> pa.Table:
    """The rows to insert of keys that live nowhere and come with several partitions: one a key.

    Shapes: the record key, the table's data columns, and the partition path, on both sides.
    Source: HoodieWriteHelper.deduplicateRecords with a global index, Hudi 0.15 and 1.1.
    """
    newest, is_deleted = _combined(context, rows)
    found = newest.filter(pa.array(~is_deleted)) if is_deleted.any() else newest
    return _with_own_paths(context, found)


def _combined(context: RelocationContext, rows: pa.Table) -> tuple[pa.Table, Flags]:
    """The newest row of each key, and whether it deletes."""
    combined = context.rule.combine(
        rows, rows.column(RECORD_KEY), is_lookup=not context.is_combining
    )
    deleted = context.rule.deleted(combined)
    is_deleted = np.zeros(combined.num_rows, dtype=bool) if deleted is None else deleted
    return combined.select(rows.schema.names), is_deleted


def _merged(
    context: RelocationContext, file: BaseFile, moving: pa.Table
) -> tuple[pa.StringArray, pa.Table, int]:
    """The keys that leave, the rows that come of them, and how many rows stored ones outlast."""
    needed = context.rule.columns_to_merge(context.schema.names)
    if not (needed and moving.num_rows):
        return one_array(moving.column(RECORD_KEY)), moving, 0
    stored, beside = _stored_beside(context, file, moving, needed)
    merged = context.rule.merge(stored, beside)
    moved_keys = beside.column(RECORD_KEY).filter(pa.array(~merged.is_kept)).combine_chunks()
    return moved_keys, _with_own_paths(context, merged.rows), int(merged.is_kept.sum())


def _stored_beside(
    context: RelocationContext, file: BaseFile, moving: pa.Table, needed: Sequence[str]
) -> tuple[pa.Table, pa.Table]:
    """The stored row of each key, one a key, and the moving rows in the same order."""
    schema = pa.schema([context.schema.field(name) for name in needed])
    sought = KeyPositions(one_array(moving.column(RECORD_KEY)))
    is_open = np.ones(moving.num_rows, dtype=bool)
    stored, beside = [schema.empty_table()], [np.zeros(0, dtype=np.int64)]
    for batch in _batches(context, file, needed):
        row_numbers, found = sought.find(keys_of(batch, context.virtual_keys))
        positions, first = np.unique(found, return_index=True)
        is_first = is_open[positions]
        rows, positions = row_numbers[first][is_first], positions[is_first]
        is_open[positions] = False
        if len(positions):
            stored.append(reconcile(batch.take(pa.array(rows)), schema))
            beside.append(positions)
    order = pa.array(np.concatenate(beside))
    return pa.concat_tables(stored), moving.take(order)


def _batches(
    context: RelocationContext, file: BaseFile, needed: Sequence[str]
) -> Iterator[pa.Table]:
    merged = None if context.logs is None else context.logs.rows(context.storage, file, needed)
    if merged is not None:
        yield from merged
        return
    wanted = {*key_columns(context.virtual_keys), *needed}
    schema = pa.schema([field for field in context.schema if field.name in wanted])
    with open_base(context.storage, file) as base:
        yield from base.rows(schema)


def _with_own_paths(context: RelocationContext, rows: pa.Table) -> pa.Table:
    """The rows with the partition paths that their own values say, where they can say them.

    A row that was made of two may have the partition column of either.

    Source: HoodieIndexUtils.inferPartitionPath, Hudi 1.1.
    """
    columns = {name.partition(".")[0] for name in context.generator.path_fields}
    if context.rule.keeps_whole_rows or not rows.num_rows or not columns <= set(rows.schema.names):
        return rows
    paths = context.generator.partition_paths(rows)
    return rows.set_column(rows.schema.get_field_index(PARTITION_PATH), PARTITION_PATH, paths)
