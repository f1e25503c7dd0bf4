"""Rows of earlier commits of a slot, taken out of the file slices that have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import FileSlice, GroupId
from pyhudi.fileslice.reading import SliceReading
from pyhudi.pipeline.batch.pieces import record_batch
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.write.context import WriteContext
from pyhudi.write.files.others_rows import TakenOut, take_out
from pyhudi.write.plan.sharing import share_tasks

# Slices share a task as long as they are not much to read.
_TASK_BYTES = 32 << 20
_RESULT_SCHEMA = pa.schema(
    [
        pa.field("number", pa.int32()),
        pa.field("removed", pa.int64()),
        pa.field("stat", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedRows:
    """What taking rows out of many slices came to.

    ``stats`` are of the files with the rows of others, which with ``groups``, hidden, are the
    slices that had rows to remove; ``count`` is how many these were.
    """

    stats: tuple[WriteStat, ...] = ()
    groups: tuple[GroupId, ...] = ()
    count: int = 0


def remove_rows(
    runner: Runner,
    context: WriteContext,
    slices: Sequence[FileSlice],
    reading: SliceReading,
    instants: tuple[str, ...],
) -> RemovedRows:
    """Take the rows of some commits out of slices, in tasks.

    Guarantees: of the attempts of a task only the one that the runner took is in the result.
    """
    sizes = [(_size(each), len(each.log_files)) for each in slices]
    tasks = share_tasks(sizes, bounds=(_TASK_BYTES, len(slices)))
    if not tasks:
        return RemovedRows()

    def remove(task: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        for each in tasks[number]:
            taken = take_out(
                context,
                task,
                slices[each],
                reading,
                instants=instants,
                new_file_id=f"{new_file_id_prefix()}-0",
            )
            if taken.removed:
                yield _batch(each, taken)

    found = runner.tasks(len(tasks), remove, _RESULT_SCHEMA).collect()
    touched = [slices[row.number] for row in found]
    return RemovedRows(
        stats=tuple(_stat(row.stat) for row in found if row.stat is not None),
        groups=tuple((each.partition, each.file_id) for each in touched),
        count=sum(row.removed for row in found),
    )


def _batch(number: int, taken: TakenOut) -> pa.RecordBatch:
    stat = None if taken.stat is None else json.dumps(taken.stat.to_json())
    columns = [
        pa.array([value], field.type)
        for value, field in zip((number, taken.removed, stat), _RESULT_SCHEMA, strict=True)
    ]
    return record_batch(columns, _RESULT_SCHEMA)


def _stat(text: str) -> WriteStat:
    return replace(WriteStat.from_json(json.loads(text)), num_ignored=0)


def _size(found: FileSlice) -> int:
    base = 0 if found.base_file is None else found.base_file.size_bytes
    return base + sum(log.size_bytes for log in found.log_files)
