"""A new version of a base file: the old rows, changed and completed by incoming ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.parquet import BaseFileReader
from pyhudi.filegroup.slices import BaseFile
from pyhudi.merge.batches import incoming_wins
from pyhudi.schema.evolution import reconcile
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.handle import BaseFileHandle
from pyhudi.write.incoming import IncomingRows
from pyhudi.write.job import TaskIdentity, WriteJob

BATCH_ROWS = 131_072


def merge_file(job: WriteJob, task: TaskIdentity, base: BaseFile, rows: pa.Table) -> WriteStat:
    """Write the next version of a file group.

    Old rows keep their order by batches and, unless replaced, all their meta columns but the file
    name; replaced rows follow the kept ones of their batch; rows of new keys come last.

    Shapes: ``rows`` has the record key first, then the table's data columns.
    Guarantees: the old file is read in batches of ``BATCH_ROWS`` rows, whatever its size, so memory
        is bounded by the incoming rows and a few batches.
    Source: HoodieMergeHandle, HoodieConcatHandle, Hudi 0.15 and 1.1.
    """
    incoming = IncomingRows.gather(rows, job, is_lookup=not job.is_concatenating)
    seen = np.zeros(incoming.rows.num_rows, dtype=bool)
    with job.storage.open_input(base.path) as source:
        reader = BaseFileReader(source, name=job.storage.absolute(base.path))
        handle = BaseFileHandle(
            job,
            task,
            partition=base.partition,
            file_id=base.file_id,
            previous=base,
            previous_bloom=reader.footer.bloom_filter(),
        )
        with handle:
            for old in _old_rows(job, reader):
                if job.is_concatenating:
                    handle.write_kept(old)
                else:
                    _merge_batch(job, handle, old, incoming, seen)
            _write_inserts(handle, incoming, seen)
    return handle.stat


def _old_rows(job: WriteJob, reader: BaseFileReader) -> Iterator[pa.Table]:
    # Texts that are stored with a dictionary pass through encoded, which spares most of their cost.
    for table in reader.iter_tables(batch_rows=BATCH_ROWS, keep_dictionaries=True):
        yield reconcile(table, job.schema, keep_dictionaries=True)


def _merge_batch(
    job: WriteJob,
    handle: BaseFileHandle,
    old: pa.Table,
    incoming: IncomingRows,
    seen: npt.NDArray[np.bool_],
) -> None:
    found = incoming.positions_of(old.column(RECORD_KEY))
    if found.null_count == len(found):
        handle.write_kept(old)
        return
    is_hit = pc.is_valid(found)
    old_positions = np.flatnonzero(is_hit.to_numpy(zero_copy_only=False))
    positions = found.drop_null().to_numpy().astype(np.int64)
    seen[positions] = True
    wins = _winners(job, old, old_positions, incoming, positions)
    replaced = np.zeros(old.num_rows, dtype=bool)
    replaced[old_positions[wins]] = True
    handle.write_kept(old.filter(pa.array(~replaced)))
    winning = positions[wins]
    if incoming.is_delete is not None:
        gone = incoming.is_delete[winning]
        handle.counts.deleted += int(gone.sum())
        winning = winning[~gone]
    if len(winning):
        handle.write_new(incoming.rows.take(pa.array(winning)), has_stored_keys=True)
        handle.counts.updated += len(winning)


def _winners(
    job: WriteJob,
    old: pa.Table,
    old_positions: npt.NDArray[np.int64],
    incoming: IncomingRows,
    positions: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    if job.ordering_field is None or job.is_deleting:
        return np.ones(len(positions), dtype=bool)
    wins = incoming_wins(
        incoming.rows.column(job.ordering_field).take(pa.array(positions)),
        old.column(job.ordering_field).take(pa.array(old_positions)),
    )
    flags: npt.NDArray[np.bool_] = wins.to_numpy()
    return flags


def _write_inserts(
    handle: BaseFileHandle, incoming: IncomingRows, seen: npt.NDArray[np.bool_]
) -> None:
    is_insert = ~seen
    if incoming.is_delete is not None:
        is_insert &= ~incoming.is_delete
    if is_insert.any():
        rows = incoming.rows if is_insert.all() else incoming.rows.filter(pa.array(is_insert))
        handle.write_new(rows)
        handle.counts.inserted += rows.num_rows
