"""The log blocks of a file slice become one block of each kind, its base file left as it is."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import AppendTarget, FileSlice
from pyhudi.fileslice.logs import LogCounts
from pyhudi.fileslice.reader import slice_records
from pyhudi.fileslice.reading import SliceReading
from pyhudi.logfile.deletes.new import kept_deletes
from pyhudi.logfile.framing import HeaderKey
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.row_file import BATCH_ROWS
from pyhudi.merge.partial import has_notes
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import FILE_NAME
from pyhudi.write.context import WriteContext
from pyhudi.write.files.append import SliceLog, chunks
from pyhudi.write.files.compact import with_scan
from pyhudi.write.new_rows import constant


def log_compact_slice(
    context: WriteContext, task: TaskIdentity, found: FileSlice, reading: SliceReading
) -> list[WriteStat]:
    """Append the merged records of a slice's log files, one a key, to its next log file.

    ``reading`` says which log blocks count. Rows keep all their meta columns, deletes their
    ordering values, and every block names the writes that it stands for. Where no block counts
    nothing is written, nor where some hold parts of rows: what these lack is in the base file.

    Guarantees: memory is bounded by the log records of the slice, of which some lie on disk beyond
        their limit, and one encoded block.
    Source: LogCompactionExecutionHelper and HoodieAppendHandle, Hudi 0.15.
    """
    counts = LogCounts()
    records = slice_records(context.storage, found, reading, context.schema, counts)
    if not len(records) or has_notes(records.rows.schema):
        return []
    # Hudi names them from the newest to the oldest.
    header: dict[int, str] = {HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(reversed(counts.instants))}
    with SliceLog(context, task, AppendTarget.after(found), header) as log:
        log.write_rows(_rows(context, found, records))
        is_delete = pa.array(records.is_delete)
        orderings = [column.filter(is_delete) for column in records.orderings]
        log.write_deletes(kept_deletes(records.keys.filter(is_delete), found.partition, orderings))
    return [with_scan(stat, found, counts, records=len(records)) for stat in log.stats]


def _rows(context: WriteContext, found: FileSlice, records: LogRecords) -> Iterator[pa.Table]:
    """The rows that are left, with the file name that rows in log files have."""
    first, position = 0, context.schema.get_field_index(FILE_NAME)
    for batch in records.rows.select(context.schema.names).to_batches(max_chunksize=BATCH_ROWS):
        is_left = ~records.is_delete[first : first + batch.num_rows]
        first += batch.num_rows
        for rows in chunks(pa.Table.from_batches([batch]).filter(pa.array(is_left))):
            if context.has_meta_columns:
                rows = rows.set_column(position, FILE_NAME, constant(found.file_id, rows.num_rows))
            yield rows
