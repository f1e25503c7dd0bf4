"""A new version of a base file: the old rows, changed and completed by incoming ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.fileslice.stored_keys import keys_of
from pyhudi.keys.key_positions import KeyPositions
from pyhudi.merge.rule import Merged
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.columns import Positions
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import BaseFileHandle
from pyhudi.write.incoming import IncomingRows

BATCH_ROWS = 131_072


def merge_file(
    context: WriteContext,
    task: TaskIdentity,
    previous: BaseFile,
    rows: pa.Table,
    moved_keys: pa.Array | None = None,
) -> WriteStat:
    """Write the next version of a file group.

    Old rows keep their order by batches and, unless replaced, all their meta columns but the file
    name; replaced rows, merged ones among them, follow the kept ones of their batch and belong to
    this instant; rows of new keys come last. Old rows of ``moved_keys``, whose records went to
    another file group, are left out before anything is merged.

    Shapes: ``rows`` has the record key first, then the table's data columns.
    Guarantees: the old file is read in batches of ``BATCH_ROWS`` rows, whatever its size, so memory
        is bounded by the incoming rows and a few batches.
    Source: HoodieMergeHandle, HoodieConcatHandle, Hudi 0.15 and 1.1.
    """
    incoming = IncomingRows.gather(rows, context, is_lookup=not context.is_concatenating)
    seen = np.zeros(incoming.rows.num_rows, dtype=bool)
    with open_base(context.storage, previous) as base:
        handle = BaseFileHandle(
            context,
            task,
            partition=previous.partition,
            file_id=previous.file_id,
            previous=previous,
            previous_bloom=base.footer.bloom_filter(),
        )
        with handle:
            sought = KeyPositions(incoming.keys)
            stored = base.rows(context.schema, batch_rows=BATCH_ROWS, keep_dictionaries=True)
            for old in stored:
                if moved_keys is not None:
                    old = _without(context, old, moved_keys, handle)
                if context.is_concatenating:
                    handle.write_kept(old)
                else:
                    found = sought.find(keys_of(old, context.virtual_keys))
                    _merge_batch(context, handle, old, incoming.rows, found, seen)
            _write_inserts(handle, incoming, seen, context)
    return handle.stat


def _merge_batch(
    context: WriteContext,
    handle: BaseFileHandle,
    old: pa.Table,
    incoming: pa.Table,
    found: tuple[Positions, Positions],
    seen: npt.NDArray[np.bool_],
) -> None:
    old_positions, positions = found
    if not len(positions):
        handle.write_kept(old)
        return
    seen[positions] = True
    merged = _merged(context, old, old_positions, incoming.take(pa.array(positions)))
    replaced = np.zeros(old.num_rows, dtype=bool)
    replaced[old_positions[~merged.is_kept]] = True
    handle.write_kept(old.filter(pa.array(~replaced)))
    handle.counts.deleted += int(merged.is_deleted.sum())
    handle.counts.ignored += int(merged.is_kept.sum())
    if merged.rows.num_rows:
        handle.write_new(merged.rows, has_stored_keys=True)
        handle.counts.updated += merged.rows.num_rows


def _without(
    context: WriteContext, old: pa.Table, moved_keys: pa.Array, handle: BaseFileHandle
) -> pa.Table:
    is_moved = pc.is_in(keys_of(old, context.virtual_keys), value_set=moved_keys)
    kept = old.filter(pc.invert(is_moved))
    handle.counts.deleted += old.num_rows - kept.num_rows
    return kept


def _merged(
    context: WriteContext, old: pa.Table, old_positions: npt.NDArray[np.int64], incoming: pa.Table
) -> Merged:
    if context.is_deleting:
        everything = np.ones(incoming.num_rows, dtype=bool)
        return Merged(is_kept=~everything, is_deleted=everything, rows=incoming.slice(0, 0))
    needed = context.rule.columns_to_merge(context.schema.names)
    stored = old.select(needed).take(pa.array(old_positions))
    return context.rule.merge(stored, incoming)


def _write_inserts(
    handle: BaseFileHandle,
    incoming: IncomingRows,
    seen: npt.NDArray[np.bool_],
    context: WriteContext,
) -> None:
    is_insert = ~seen
    if incoming.is_delete is not None:
        if not context.is_deleting:
            # Hudi counts deletes of keys that are nowhere too.
            handle.counts.deleted += int((is_insert & incoming.is_delete).sum())
        is_insert &= ~incoming.is_delete
    if is_insert.any():
        rows = incoming.rows if is_insert.all() else incoming.rows.filter(pa.array(is_insert))
        handle.write_new(rows)
        handle.counts.inserted += rows.num_rows
