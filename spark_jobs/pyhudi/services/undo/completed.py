"""Take a completed write back, the latest of its table.

::

    rollback requested ── the write made inflight again (readers see it no more) ── inflight
      ── files deleted, blocks taken back ── the write's instant files deleted ── completed

Source: BaseRollbackActionExecutor, CopyOnWriteRollbackActionExecutor and
MergeOnReadRollbackActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from pyhudi.actions.commit import ReplaceCommitMetadata
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.actions.rollback import InstantInfo, RollbackMetadata, RollbackPlan
from pyhudi.errors import ConflictError, MissingFileError, RequestError, StorageError
from pyhudi.services.rollback import (
    Delete,
    finish_rollback,
    request_rollback,
    rollbacks_of,
    withdraw_rollback,
)
from pyhudi.services.rollback_plan import (
    PresentFiles,
    planned_on,
    undo_requests,
    why_kept,
    why_not_whole,
)
from pyhudi.table.pending import pending_plans
from pyhudi.table.savepoints import saved_instants
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.appended import logs_with_blocks_of

_PLANNED = (Action.COMPACTION, Action.LOG_COMPACTION)
_log = logging.getLogger(__name__)


def roll_back_completed(
    table: Table, clock: Clock, instant: Instant, delete: Delete
) -> RollbackMetadata:
    """Take a completed write back; afterwards the table is as it was before it.

    To be called while nobody else writes.

    Raises:
        RequestError: later writes, a savepoint or a plan are in the way, or what the write
            replaced is not there any more. Nothing was changed.
        ConflictError: others were faster.
        StorageError: the storage failed; the next writer goes on from where this one came.
    """
    active, plan = table.active, plan_rollback_of(table, instant)
    _log.warning("%s: rolling back %s %s", table.config.name, instant.action.value, instant.time)
    try:
        rollback = request_rollback(active, clock, plan)
    except StorageError:
        # It may be there all the same, and would be carried out by whoever writes next.
        for found in rollbacks_of(active, active.load().pending(), instant.time):
            withdraw_rollback(active, found)
        raise
    done = finish_rollback(table, clock, rollback, delete)
    if done is None:
        raise ConflictError(
            f"others have built on instant {instant.time} meanwhile; it is not rolled back",
            where=table.storage.uri,
        )
    return done


def plan_rollback_of(table: Table, instant: Instant) -> RollbackPlan:
    """What takes the latest completed write back; nothing is deleted yet.

    Raises:
        RequestError: later writes, a savepoint or a plan are in the way, or what the write
            replaced is not there any more.
    """
    written = _Written.of(table, instant)
    plan = written.plan(table)
    _check(table, written, plan)
    return plan


def plan_undo(table: Table, instant: Instant) -> RollbackPlan:
    """What takes back an instant that is completed, or was; of a compaction the plan is not kept.

    Nothing is deleted yet. Where the instant does not say which files it wrote, all are listed.
    """
    return _Written.of(table, instant).plan(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What an instant did, and the files in the partitions where it did it.

    ``says_files`` is whether its own file tells all that it wrote.
    """

    instant: Instant
    metadata: ReplaceCommitMetadata
    says_files: bool
    files: PresentFiles

    @classmethod
    def of(cls, table: Table, instant: Instant) -> _Written:
        metadata = _said(table.active, instant)
        stats = list(metadata.commit.write_stats)
        says_files = instant.is_completed or (bool(stats) and all(stat.path for stat in stats))
        touched = {
            *metadata.commit.partition_to_write_stats,
            *metadata.partition_to_replaced_file_ids,
        }
        found = table.listing.files(sorted(touched) if says_files else None)
        return cls(
            instant=instant,
            metadata=metadata,
            says_files=says_files,
            files=PresentFiles(bases=found.base_files, logs=found.log_files + found.cdc_files),
        )

    def plan(self, table: Table) -> RollbackPlan:
        storage, instant = table.storage, self.instant
        appended = {stat.path for stat in self.metadata.commit.write_stats if stat.path}
        if not self.says_files and instant.action is not Action.COMPACTION:
            appended.update(logs_with_blocks_of(storage, self.files.logs, instant.time))
        return RollbackPlan(
            instant=InstantInfo(time=instant.time, action=instant.action.value),
            requests=undo_requests(instant.time, self.files, appended, storage.absolute),
        )


def _said(active: ActiveTimeline, instant: Instant) -> ReplaceCommitMetadata:
    """What the instant's file says; that of one which is requested says nothing of files."""
    if instant.state is not State.REQUESTED:
        try:
            return active.read_replace_commit(instant)
        except MissingFileError:
            pass
    return ReplaceCommitMetadata.from_bytes(b"")


def _check(table: Table, written: _Written, plan: RollbackPlan) -> None:
    reason = _why_not(table, written, plan)
    if reason is not None:
        raise RequestError(
            f"instant {written.instant.time} cannot be rolled back: {reason}",
            where=table.storage.uri,
        )


def _why_not(table: Table, written: _Written, plan: RollbackPlan) -> str | None:
    active, timeline, time = table.active, table.timeline, written.instant.time
    reason = why_kept(timeline, time, saved_instants(active, timeline))
    if reason is not None:
        return reason
    for action in _PLANNED:
        plans = ((at.time, found) for at, found in pending_plans(active, timeline, action))
        planned = planned_on(plan.requests, plans)
        if planned is not None:
            return f"{action.value} {planned} is planned on its files; run or unschedule that first"
    clustered = written.files.groups_begun_at(time) & table.clustered_groups()
    if clustered:
        return (
            f"a clustering is planned on its file group {min(clustered)[1]}; roll that back first"
        )
    others = timeline.write_instants().completed().instants
    bases = table.listing.files().base_files if len(others) == 1 else ()
    if any(file.instant < time for file in bases):
        return "it is the only write that has not been archived"
    return why_not_whole(
        time,
        written.metadata.commit.write_stats,
        written.metadata.partition_to_replaced_file_ids,
        _compaction_plan(active, written.instant),
        written.files,
    )


def _compaction_plan(active: ActiveTimeline, instant: Instant) -> CompactionPlan | None:
    action = active.begun_as(instant)
    if action not in _PLANNED:
        return None
    return active.read_compaction_plan(replace(instant, action=action))
