"""A file slice with log files becomes a base file that holds its rows."""

from __future__ import annotations

from dataclasses import replace

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.logs import LogCounts
from pyhudi.fileslice.reader import OpenSlice, open_slice
from pyhudi.fileslice.reading import SliceReading
from pyhudi.runner.task import TaskIdentity
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import BaseFileHandle
from pyhudi.write.files.merge import BATCH_ROWS


def compact_slice(
    context: WriteContext, task: TaskIdentity, found: FileSlice, reading: SliceReading
) -> list[WriteStat]:
    """Write the rows of a slice to a base file of the compaction's instant.

    ``reading`` says which log blocks count: those committed up to that instant. Rows keep all their
    meta columns but the file name. A slice without base file whose blocks were all rolled back has
    nothing to write, and no statistics come back.

    Guarantees: the base file is read in batches of ``BATCH_ROWS`` rows, so memory is bounded by the
        log records of the slice, of which some lie on disk beyond their limit, and a few batches.
    Source: HoodieCompactor.compact, Hudi 0.15 and 1.1 (rows, meta columns, statistics).
    """
    counts = LogCounts()
    with open_slice(context.storage, found, reading, context.schema, counts) as opened:
        if opened.base is None and not len(opened.records):
            return []
        stat = _write(context, task, found, opened)
    return [with_scan(stat, found, counts, records=len(opened.records))]


def with_scan(stat: WriteStat, found: FileSlice, counts: LogCounts, *, records: int) -> WriteStat:
    """The statistics of a file, and what was read of the slice's log files for it.

    ``records`` counts what its blocks say, one a key.

    Source: HoodieCompactor.compact, Hudi 0.15 and 1.1.
    """
    return replace(
        stat,
        total_log_records=counts.rows,
        total_log_files_compacted=len(found.log_files),
        total_log_size_compacted=sum(log.size_bytes for log in found.log_files),
        total_updated_records_compacted=records,
        total_log_blocks=counts.blocks,
        total_corrupt_log_blocks=counts.damaged,
        total_rollback_blocks=counts.rollbacks,
        total_scan_time=counts.milliseconds,
    )


def _write(
    context: WriteContext, task: TaskIdentity, found: FileSlice, opened: OpenSlice
) -> WriteStat:
    base = opened.base
    handle = BaseFileHandle(
        context,
        task,
        partition=found.partition,
        file_id=found.file_id,
        previous=found.base_file,
        previous_bloom=None if base is None else base.footer.bloom_filter(),
    )
    with handle:
        for part in opened.parts(batch_rows=BATCH_ROWS, keep_dictionaries=True):
            handle.counts.deleted += part.deleted
            if part.rows.num_rows:
                rows = part.rows.select(context.schema.names)
                handle.write_stored(rows, has_stored_keys=not part.is_new)
            if part.is_new:
                handle.counts.inserted += part.rows.num_rows
            elif part.is_changed:
                handle.counts.updated += part.rows.num_rows
            else:
                handle.counts.kept += part.rows.num_rows
    return handle.stat
