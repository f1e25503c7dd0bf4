"""Take a table back to a savepoint: everything after it is undone, the newest first.

::

    restore requested (readers of ours see the savepoint from here on) ── inflight
      ── for each instant: a rollback, requested to completed
      ── restore completed ── the rollbacks after the savepoint taken off the timeline

From the request on it is only finished, by whoever finds it, and every step can be done again.

Source: BaseRestoreActionExecutor, CopyOnWriteRestoreActionExecutor and
MergeOnReadRestoreActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import replace

from pyhudi.actions.restore import RestoreMetadata, RestorePlan
from pyhudi.actions.rollback import InstantInfo, RollbackMetadata
from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.errors import AlreadyExistsError, MissingFileError, RequestError, WriterAtWorkError
from pyhudi.services.rollback import (
    Delete,
    action_of,
    finish_rollback,
    request_rollback,
    rollback_target,
    rollbacks_of,
)
from pyhudi.services.undo.completed import plan_undo
from pyhudi.services.undo.restore_plan import plan_restore, why_not_restored, written_beside
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.savepoints import pending_restores, savepoints
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.exclusion import Writer, at_work, live_writers
from pyhudi.transaction.instant_run import complete_instant, draw_instant
from pyhudi.transaction.spans import nobody_writing

_log = logging.getLogger(__name__)


def restore(writer: Writer, table: Table, savepoint: str, own: str) -> Instant | None:
    """Take a table back to a savepoint; the restore's instant, or None when it is there already.

    To be called while nobody else writes and no restore is pending; ``own`` is the instant by
    which the caller sees to that.

    Raises:
        RequestError: there is no such savepoint, or what it keeps is not there. Nothing was
            changed.
        WriterAtWorkError: a compaction runs, or others have written meanwhile.
        LockError: the lock was lost. Nothing was changed.
        StorageError: the storage failed; who writes next finishes the restore, if it had begun.
    """
    plan = plan_restore_of(table, savepoint)
    if not {info.time for info in plan.instants} - {own}:
        return None
    _check_nobody_runs(writer, plan, own)
    _log.warning(
        "%s: restoring savepoint %s, which undoes %d instants",
        table.config.name,
        savepoint,
        len({info.time for info in plan.instants} - {own}),
    )
    with writer.gate.hold() as lock:
        lock.confirm()
        requested = _request(table.active, writer.clock, plan)
    _finish(replace(writer, table=table), requested, own)
    return requested


def finish_restores(writer: Writer) -> tuple[Instant, ...]:
    """Finish restores that were begun and did not end; which they were.

    Raises:
        WriterAtWorkError: somebody is at it, or a compaction that is to be undone runs.
    """
    active, finished = writer.active, []
    if not pending_restores(active.load()):
        return ()
    alive = live_writers(writer)
    if alive:
        raise at_work(writer, alive)
    with nobody_writing(writer) as own:
        for pending in pending_restores(active.load()):
            _check_nobody_runs(writer, active.read_restore_plan(pending), own)
            _log.warning("%s: finishing restore %s", writer.storage.uri, pending.time)
            _finish(writer, pending, own)
            finished.append(pending)
    return tuple(finished)


def find_savepoint(table: Table, savepoint: str) -> SavepointMetadata:
    """What a savepoint keeps.

    Raises:
        RequestError: there is none at this instant.
    """
    found = dict(savepoints(table.active, table.timeline))
    if savepoint not in found:
        known = ", ".join(found) or "none"
        raise RequestError(
            f"there is no savepoint {savepoint}; savepoints of the table: {known}",
            where=table.storage.uri,
        )
    return found[savepoint]


def check_restorable(table: Table, savepoint: str) -> None:
    """Refuse to go back to a savepoint that cannot be restored.

    Raises:
        RequestError: there is no such savepoint, what it keeps is not there, or what came after it
            was archived.
    """
    timeline, kept = table.timeline, find_savepoint(table, savepoint)
    files = table.listing.files()
    logs = {log.path for log in (*files.log_files, *files.cdc_files)}
    reason = why_not_restored(
        timeline,
        savepoint,
        saved=kept.paths,
        present=logs | {file.path for file in files.base_files},
        instants=(file.instant for file in files.base_files),
        archived=ArchivedTimeline.of(table.storage, table.config).writes_since(savepoint),
    )
    if reason is not None:
        raise RequestError(
            f"savepoint {savepoint} cannot be restored: {reason}", where=table.storage.uri
        )


def plan_restore_of(table: Table, savepoint: str) -> RestorePlan:
    """What takes a table back to a savepoint; nothing is undone yet.

    Raises:
        RequestError: as ``check_restorable``.
    """
    check_restorable(table, savepoint)
    active, timeline = table.active, table.timeline
    clustering = [
        found.time for found in timeline.pending() if active.clustered_groups(found) is not None
    ]
    return plan_restore(timeline, savepoint, clustering=clustering, begun_as=active.begun_as)


def _check_nobody_runs(writer: Writer, plan: RestorePlan, own: str) -> None:
    others = (info.time for info in plan.instants if info.time != own)
    running = [time for time in others if writer.is_alive(time)]
    if running:
        raise WriterAtWorkError(
            f"a service is at work (instant {running[0]}); retry when it has ended",
            where=writer.storage.uri,
        )


def _request(active: ActiveTimeline, clock: Clock, plan: RestorePlan) -> Instant:
    def take(at: str) -> bool:
        try:
            active.request(_restore_at(at), plan)
        except AlreadyExistsError:
            return False
        return True

    return _restore_at(draw_instant(active, clock, take))


def _restore_at(at: str) -> Instant:
    return Instant(time=at, action=Action.RESTORE, state=State.REQUESTED)


def _finish(writer: Writer, pending: Instant, own: str) -> None:
    """Carry out a restore that is requested, from the beginning or from midway.

    ``own`` is the instant that keeps others out, which is left to whoever holds it.
    """
    active, clock, started = writer.active, writer.clock, time.perf_counter()
    plan = active.read_restore_plan(pending)
    instants = tuple({info.time: info for info in reversed(plan.instants)}.values())[::-1]
    instants = tuple(info for info in instants if info.time != own)
    if pending.state is State.REQUESTED:
        _check_whole(active, pending, plan)
    with contextlib.suppress(AlreadyExistsError):
        active.start(pending, None)
    for info in instants:
        _undo(writer.table, clock, info, writer.delete)
    metadata = RestoreMetadata(
        start_time=pending.time,
        time_taken_ms=int((time.perf_counter() - started) * 1000),
        instants=instants,
        rollbacks=dict(_rollbacks(active, pending, plan)),
    )
    with contextlib.suppress(AlreadyExistsError):
        complete_instant(active, pending, metadata, clock)
    _forget_rollbacks(active, plan.savepoint or pending.time)


def _check_whole(active: ActiveTimeline, requested: Instant, plan: RestorePlan) -> None:
    """Withdraw a restore that others have written beside before it was there to be seen.

    They came in where the lock was lost, or where they honour none. Their files would lie on top of
    such as are to go, and nobody could finish the restore.

    Raises:
        WriterAtWorkError: they have. Nothing is undone.
    """
    if beside := written_beside(plan, active.load()):
        active.remove(requested)
        raise WriterAtWorkError(
            f"another writer has written while a restore was planned (instant {beside[-1]}); "
            "retry, which takes that back too",
            where=active.storage.uri,
        )


def _undo(table: Table, clock: Clock, info: InstantInfo, delete: Delete | None) -> None:
    """Undo one instant of the plan unless that is done; the plan of a compaction goes too."""
    active = table.active
    for rollback in rollbacks_of(active, active.load().pending(), info.time):
        finish_rollback(table, clock, rollback, delete)
    action = action_of(info).completes_as
    for found in active.load():
        if found.time == info.time and found.action.completes_as is action:
            plan = plan_undo(table, found)
            rollback = request_rollback(active, clock, plan)
            if finish_rollback(table, clock, rollback, delete) is None:
                raise RequestError(
                    f"instant {info.time} has got a savepoint meanwhile; delete that, and restore "
                    "again",
                    where=table.storage.uri,
                )
            active.remove(found.in_state(State.REQUESTED))


def _rollbacks(
    active: ActiveTimeline, restore: Instant, plan: RestorePlan
) -> Iterator[tuple[str, RollbackMetadata]]:
    """What was done to each instant of the plan, by the rollbacks since the restore began."""
    undone = {info.time for info in plan.instants}
    for found in active.load().completed():
        if found.action is Action.ROLLBACK and found.time > restore.time:
            target = rollback_target(active, found)
            if target is not None and target.time in undone:
                yield target.time, active.read_rollback(found)


def _forget_rollbacks(active: ActiveTimeline, savepoint: str) -> None:
    """Take the rollbacks after a savepoint off the timeline, as Hudi does."""
    for found in active.load():
        if found.action is Action.ROLLBACK and found.time > savepoint:
            for state in (State.COMPLETED, State.INFLIGHT, State.REQUESTED):
                active.remove(found.in_state(state))


def restored_to(active: ActiveTimeline, restore: Instant) -> str | None:
    """The savepoint that a restore went back to, or is going to; None where nobody knows."""
    try:
        return active.read_restore_plan(restore).savepoint
    except MissingFileError:
        return None
