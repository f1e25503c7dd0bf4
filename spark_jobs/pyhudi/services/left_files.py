"""Which files a write that did not complete may have left, and what becomes of each.

Source: MarkerBasedRollbackStrategy, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

from collections import defaultdict

from pyhudi.actions.rollback import InstantInfo, RollbackPlan, RollbackRequest
from pyhudi.filegroup.names import LogFileName, parse_log_file_name
from pyhudi.table.pending import pending_plans
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.appended import is_own_log, logs_of_write
from pyhudi.transaction.markers import read_markers_twice


def plan_rollback(table: Table, write: Instant) -> RollbackPlan:
    """Which files a pending write may have left; nothing is deleted yet.

    Markers tell; without any, which a crash between two deletions can leave, a listing does. A log
    file that names the write goes. Others go too, unless another write has blocks in them: those
    get a block that takes back. So do those that a compaction is going to read, which Hudi plans
    while others write.

    Source: MarkerBasedRollbackStrategy, Hudi 0.15, which takes back blocks of log files always.
    """
    storage = table.storage
    by_partition: dict[str, list[str]] = defaultdict(list)
    appended: list[RollbackRequest] = []
    shared = _Shared(table, write)
    for path in sorted(_paths(table, write)):
        partition, _, name = path.rpartition("/")
        log = parse_log_file_name(name)
        if log is None or not shared.has(path, log):
            by_partition[partition].append(storage.absolute(path))
        elif (status := storage.status(path)) is not None:
            appended.append(
                RollbackRequest(
                    partition=partition,
                    file_id=log.file_id,
                    latest_base_instant=log.base_instant,
                    log_blocks={name: status.size_bytes},
                )
            )
    deleting = (
        RollbackRequest(partition=partition, files_to_delete=tuple(files))
        for partition, files in by_partition.items()
    )
    return RollbackPlan(
        instant=InstantInfo(time=write.time, action=write.action.value),
        requests=(*deleting, *appended),
    )


def _paths(table: Table, write: Instant) -> set[str]:
    marked = {file.path for file in read_markers_twice(table.storage, write.time)}
    if marked:
        return marked
    found = table.listing.files()
    paths = {file.path for file in found.base_files if file.instant == write.time}
    if write.action is not Action.COMPACTION:  # which writes no log files
        version = table.config.version
        paths.update(logs_of_write(table.storage, found.log_files, write.time, version))
    return paths


class _Shared:
    """The log files of a write that others need: with blocks of theirs, or in plans of theirs."""

    def __init__(self, table: Table, write: Instant) -> None:
        self._table, self._write = table, write
        self._planned: frozenset[tuple[str, str]] | None = None

    def has(self, path: str, log: LogFileName) -> bool:
        """Whether a log file of the write is one of them."""
        table, time = self._table, self._write.time
        if table.config.version.logs_name_their_write and log.base_instant == time:
            return False
        if not is_own_log(table.storage, path, time):
            return True
        if self._planned is None:
            self._planned = _logs_of_plans(table)
        partition, _, name = path.rpartition("/")
        return (partition, name) in self._planned


def _logs_of_plans(table: Table) -> frozenset[tuple[str, str]]:
    """The log files that pending compactions are going to read: partitions and names."""
    plans = pending_plans(table.active, table.active.load())
    return frozenset(
        (each.partition, name)
        for _, plan in plans
        for each in plan.operations
        for name in each.log_files
    )
