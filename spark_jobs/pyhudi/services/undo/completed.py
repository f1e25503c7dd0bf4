"""Take a completed write back, the latest of its table.

::

    rollback requested ── the write made inflight again (readers see it no more) ── inflight
      ── files deleted, blocks taken back ── the write's instant files deleted ── completed

Source: BaseRollbackActionExecutor, CopyOnWriteRollbackActionExecutor and
MergeOnReadRollbackActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

import logging

from pyhudi.actions.rollback import RollbackMetadata, RollbackPlan
from pyhudi.errors import ConflictError, RequestError, StorageError
from pyhudi.services.rollback import (
    Delete,
    finish_rollback,
    request_rollback,
    rollbacks_of,
    withdraw_rollback,
)
from pyhudi.services.rollback_plan import planned_on
from pyhudi.services.written import Written
from pyhudi.table.pending import pending_plans
from pyhudi.table.table import Table
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State

_PLANNED = (Action.COMPACTION, Action.LOG_COMPACTION)
_log = logging.getLogger(__name__)


def roll_back_completed(
    table: Table, clock: Clock, instant: Instant, delete: Delete | None = None
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
    running = _running_on(table, plan)
    if running is not None:
        withdraw_rollback(active, rollback)
        raise ConflictError(
            f"compaction {running} runs on the files of instant {instant.time}; retry when it has "
            "ended",
            where=table.storage.uri,
        )
    done = finish_rollback(table, clock, rollback, delete)
    if done is None:
        raise ConflictError(
            f"others have built on instant {instant.time} meanwhile; it is not rolled back",
            where=table.storage.uri,
        )
    return done


def _running_on(table: Table, plan: RollbackPlan) -> str | None:
    """The compaction at work that may be reading what is to be taken back.

    It looks for rollbacks before it commits, and who rolls back looks for it after its request: one
    of the two sees the other.
    """
    gone = {
        (request.partition, path.rpartition("/")[2])
        for request in plan.requests
        for path in (*request.log_blocks, *request.files_to_delete)
    }
    for at, found in pending_plans(table.active, table.active.load()):
        read = {(each.partition, name) for each in found.operations for name in each.log_files}
        if at.state is State.INFLIGHT and gone & read:
            return at.time
    return None


def plan_rollback_of(table: Table, instant: Instant) -> RollbackPlan:
    """What takes back a completed write, if nothing is in the way; nothing is changed yet.

    Raises:
        RequestError: as ``roll_back_completed``.
    """
    written = Written.of(table, instant)
    plan = written.plan(table)
    reason = _why_not(table, written, plan)
    if reason is not None:
        raise RequestError(
            f"instant {instant.time} cannot be rolled back: {reason}", where=table.storage.uri
        )
    return plan


def plan_undo(table: Table, instant: Instant) -> RollbackPlan:
    """What takes back an instant that is completed, or was; of a compaction the plan is not kept.

    Nothing is deleted yet. Where the instant does not say which files it wrote, all are listed.
    """
    return Written.of(table, instant).plan(table)


def _why_not(table: Table, written: Written, plan: RollbackPlan) -> str | None:
    active, timeline, time = table.active, table.timeline, written.instant.time
    reason = written.why_not_undone(active, timeline)
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
    return None
