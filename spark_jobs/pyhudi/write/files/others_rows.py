"""A file slice without the rows of some commits; others go to a file group of their own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.condition import RowCondition
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.opener import open_base
from pyhudi.fileslice.reader import slice_rows
from pyhudi.fileslice.reading import SliceReading
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import COMMIT_TIME
from pyhudi.write.context import WriteContext
from pyhudi.write.files.handle import BaseFileHandle
from pyhudi.write.files.merge import BATCH_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOut:
    """What taking rows out of a file slice came to.

    ``removed`` counts them; with none of them the slice stays as it is. ``stat`` is of the file
    with the rows of others, None where there are none.
    """

    removed: int = 0
    stat: WriteStat | None = None


def take_out(
    context: WriteContext,
    task: TaskIdentity,
    found: FileSlice,
    reading: SliceReading,
    *,
    instants: tuple[str, ...],
    new_file_id: str,
) -> TakenOut:
    """Write the rows of a slice that are of no commit in ``instants`` to a new file group.

    They keep all their meta columns but the file name, so that they are no news to an incremental
    read. A row that somebody has updated since is of that commit, and stays.

    Guarantees: rows are read in batches; of a slice without log files only row groups that can have
        such rows are looked at, unless it has some.
    """
    gone = pa.array(instants, pa.string())
    if not found.log_files and not _may_have(context, found, gone):
        return TakenOut()
    removed, handle = 0, None
    with ExitStack() as stack:
        for rows in slice_rows(
            context.storage, found, reading, context.schema, batch_rows=BATCH_ROWS
        ):
            kept = rows.filter(pc.invert(pc.is_in(rows[COMMIT_TIME], value_set=gone)))
            removed += rows.num_rows - kept.num_rows
            if not kept.num_rows:
                continue
            if handle is None:
                handle = stack.enter_context(
                    BaseFileHandle(
                        context, task, partition=found.partition, file_id=new_file_id, previous=None
                    )
                )
            handle.write_stored(kept.select(context.schema.names), has_stored_keys=False)
            handle.counts.kept += kept.num_rows
    return TakenOut(removed=removed, stat=None if handle is None else handle.stat)


def _may_have(context: WriteContext, found: FileSlice, gone: pa.Array) -> bool:
    """Whether a base file has a row of these commits."""
    if found.base_file is None:
        return False
    schema = pa.schema([context.schema.field(COMMIT_TIME)])
    condition = RowCondition(
        expression=pc.field(COMMIT_TIME).isin(gone), columns=(COMMIT_TIME,), schema=schema
    )
    with open_base(context.storage, found.base_file) as base:
        return any(
            pc.any(pc.is_in(rows[COMMIT_TIME], value_set=gone)).as_py()
            for rows in base.rows(schema, condition=condition)
        )
