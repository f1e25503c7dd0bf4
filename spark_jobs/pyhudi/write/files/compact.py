"""A file slice with log files becomes a base file that holds its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.open import BaseFileReader, open_base_file
from pyhudi.filegroup.slices import FileSlice
from pyhudi.logfile.merge.records import LogRecords
from pyhudi.logfile.merge.rows import merged_parts
from pyhudi.logfile.slice_log import LogCounts, read_log_records
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.table.log_merge import LogMerge
from pyhudi.write.files.handle import BaseFileHandle
from pyhudi.write.files.merge import BATCH_ROWS
from pyhudi.write.job import TaskIdentity, WriteContext


def compact_slice(
    job: WriteContext, task: TaskIdentity, found: FileSlice, merge: LogMerge
) -> WriteStat | None:
    """Write the rows of a slice to a base file of the compaction's instant.

    ``merge`` says which log blocks count: those committed up to that instant. Rows keep all their
    meta columns but the file name. A slice without base file whose blocks were all rolled back has
    nothing to write, and None comes back.

    Guarantees: the base file is read in batches of ``BATCH_ROWS`` rows, so memory is bounded by the
        log records of the slice, of which some lie on disk beyond their limit, and a few batches.
    Source: HoodieCompactor.compact, Hudi 0.15 and 1.1 (rows, meta columns, statistics).
    """
    started = time.perf_counter()
    counts = LogCounts()
    names = [log.path for log in found.log_files]
    how = merge.reading(job.schema)
    records = read_log_records(names, job.storage.open_input, how, counts)
    scan_ms = int((time.perf_counter() - started) * 1000)
    base = found.base_file
    if base is None:
        if not len(records):
            return None
        stat = _write(job, task, found, None, records, merge)
    else:
        with job.storage.open_input(base.path) as source:
            reader = open_base_file(source, name=job.storage.absolute(base.path))
            stat = _write(job, task, found, reader, records, merge)
    return with_scan(stat, found, counts, records=len(records), milliseconds=scan_ms)


def with_scan(
    stat: WriteStat, found: FileSlice, counts: LogCounts, *, records: int, milliseconds: int
) -> WriteStat:
    """The statistics of a file, and what was read of the slice's log files for it.

    ``records`` are those that its blocks came to, one a key.

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
        total_scan_time=milliseconds,
    )


def _write(
    job: WriteContext,
    task: TaskIdentity,
    found: FileSlice,
    reader: BaseFileReader | None,
    records: LogRecords,
    merge: LogMerge,
) -> WriteStat:
    handle = BaseFileHandle(
        job,
        task,
        partition=found.partition,
        file_id=found.file_id,
        previous=found.base_file,
        previous_bloom=None if reader is None else reader.footer.bloom_filter(),
    )
    stored = () if reader is None else _stored(job, reader)
    with handle:
        for part in merged_parts(stored, records, merge.keys_of, merge.rule):
            handle.counts.deleted += part.deleted
            if part.rows.num_rows:
                rows = part.rows.select(job.schema.names)
                handle.write_stored(rows, has_stored_keys=not part.is_new)
            if part.is_new:
                handle.counts.inserted += part.rows.num_rows
            elif part.is_changed:
                handle.counts.updated += part.rows.num_rows
            else:
                handle.counts.kept += part.rows.num_rows
    return handle.stat


def _stored(job: WriteContext, reader: BaseFileReader) -> Iterator[pa.Table]:
    # Texts that are stored with a dictionary pass through encoded, which spares most of their cost.
    for table in reader.iter_tables(batch_rows=BATCH_ROWS, keep_dictionaries=True):
        yield reconcile(table, job.schema, keep_dictionaries=True)
