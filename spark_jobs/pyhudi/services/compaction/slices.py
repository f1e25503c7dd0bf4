"""The file slices of a compaction's plan, as they are when it is run.

Source: CompactionOperation and HoodieCompactor, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from pyhudi.actions.compaction import CompactionOperation, CompactionPlan
from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.slices import BaseFile, FileSlice, GroupId, LogFile
from pyhudi.table.files import TableFiles
from pyhudi.table.table import Table

_log = logging.getLogger(__name__)


def planned_slices(plan: CompactionPlan, table: Table, instant: str) -> tuple[FileSlice, ...]:
    """The slices of the plan at an instant, with the sizes of their files.

    In table versions 8 and 9 a slice is left out that has log files now of which the plan does not
    know: its base file would hide them. The next plan takes it. What the plan knows of writes that
    are not committed may be gone, and does not count.

    Raises:
        CorruptTableError: a file of the plan is gone, or one that was committed is damaged.
    Source: HoodieFileGroup.getBaseInstantTime, Hudi 1.0 and 1.1 (whose a log file is); a run of
    Hudi's looks at the plan alone.
    """
    partitions = sorted({operation.partition for operation in plan.operations})
    listed = table.files(partitions)
    by_completion = table.config.version.logs_name_their_write
    late = _unplanned(plan, listed, instant) if by_completion else {}
    if late:
        _log.warning(
            "%s: %d of %d file slices of compaction %s are left as they are: log files were "
            "completed before it that it was not planned with, such as %s",
            *(table.storage.uri, len(late), len(plan.operations), instant),
            next(iter(late.values())).path,
        )
    bases = {(file.partition, file.name): file for file in listed.base_files}
    logs = {(log.partition, str(log.name)): log for log in listed.log_files}
    return tuple(
        _slice(_counted(each, listed) if by_completion else each, bases, logs, table.storage.uri)
        for each in plan.operations
        if each.file_group not in late
    )


def _slice(
    operation: CompactionOperation,
    bases: Mapping[tuple[str, str], BaseFile],
    logs: Mapping[tuple[str, str], LogFile],
    where: str,
) -> FileSlice:
    partition = operation.partition
    wanted = [(partition, name) for name in operation.log_files]
    base = None if operation.base_file is None else (partition, operation.base_file)
    lost = [name for _, name in wanted if (partition, name) not in logs]
    if base is not None and base not in bases:
        lost.append(base[1])
    if lost:
        raise CorruptTableError(
            f"the compaction plan names {lost[0]} in partition {partition!r}, which is not there; "
            "unschedule the compaction and plan another",
            where=where,
        )
    return FileSlice(
        partition=partition,
        file_id=operation.file_id,
        base_instant=operation.base_instant,
        base_file=None if base is None else bases[base],
        log_files=tuple(logs[name] for name in wanted),
    )


def _counted(operation: CompactionOperation, listed: TableFiles) -> CompactionOperation:
    """An operation with those of its log files whose write is committed."""
    is_committed = listed.timeline.committed_test()
    named = ((name, LogFile.of(operation.partition, name, 0)) for name in operation.log_files)
    kept = (name for name, log in named if log and listed.order.is_read(log, is_committed))
    return replace(operation, log_files=tuple(kept))


def _unplanned(plan: CompactionPlan, listed: TableFiles, instant: str) -> dict[GroupId, LogFile]:
    """A log file of each planned slice that its plan does not name, though it lies below it.

    Its write had drawn its completion time before the plan was made, and was seen afterwards:
    writers that keep no turn can be so slow.
    """
    order, is_committed = listed.order, listed.timeline.committed_test()
    operations = {each.file_group: each for each in plan.operations}
    found: dict[GroupId, LogFile] = {}
    for log in listed.log_files:
        group = log.partition, log.name.file_id
        each = operations.get(group)
        if each is None or str(log.name) in each.log_files:
            continue
        below = order.base_instant(log, (each.base_instant, instant)) == each.base_instant
        if below and order.is_read(log, is_committed):
            found[group] = log
    return found
