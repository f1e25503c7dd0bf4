"""Deletes the files of rollbacks, many of them over tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa

from pyhudi.actions.rollback import RollbackPlan
from pyhudi.config.write import WriteConfig
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.rollback import Delete, delete_files, delete_here
from pyhudi.services.rollback_plan import files_to_delete
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Instant
from pyhudi.transaction.exclusion import Writer

# As many as a clean deletes here, and in a task.
_IN_DRIVER = 16
_FILES_A_TASK = 50
_DELETED = pa.schema({"files": pa.int64()})


def deleting_over_tasks(writer: Writer, runner: Runner, config: WriteConfig) -> Writer:
    """The writer, who deletes few files of a rollback in this process and many over tasks."""
    delete: Delete = partial(_delete, runner, config.services.rollback_parallelism)
    return replace(writer, delete=delete)


def _delete(
    runner: Runner, most_tasks: int, table: Table, rollback: Instant, plan: RollbackPlan
) -> None:
    files = sum(1 for _ in files_to_delete(plan))
    if files <= _IN_DRIVER:
        delete_here(table, rollback, plan)
        return
    count, active = min(-(-files // _FILES_A_TASK), most_tasks), table.active

    def delete_some(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        # Read here: a task gets no list of all files with its function.
        own = tuple(files_to_delete(active.read_rollback_plan(rollback)))[number::count]
        delete_files(active.storage, own)
        yield pa.RecordBatch.from_pydict({"files": [len(own)]}, _DELETED)

    runner.tasks(count, delete_some, _DELETED).collect()
