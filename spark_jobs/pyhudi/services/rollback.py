"""Undo a write that did not complete.

::

    plan (from markers, or from a listing when they are gone)
      ── rollback requested ── inflight ── files deleted ── the write's instant files deleted
      ── rollback completed ── markers and heartbeat deleted

A write that was completed is made inflight again before its files are deleted
(``undo/completed.py`` plans for those). Every step can be done again: a rollback that dies is found
pending and finished from its plan.

Source: BaseRollbackActionExecutor and MarkerBasedRollbackStrategy, Hudi 0.15.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from pyhudi.actions.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
    RollbackPlan,
)
from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
    StorageError,
)
from pyhudi.filegroup.names import inner_path
from pyhudi.filegroup.slices import LogFile
from pyhudi.services.left_files import plan_rollback
from pyhudi.services.rollback_plan import files_to_delete
from pyhudi.services.written import Written, has_files_of
from pyhudi.storage.objects.transfer.uploads import give_up_uploads
from pyhudi.storage.storage import Storage
from pyhudi.table.bootstrap_index import drop_bootstrap_index
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.bootstrap import FULL_BOOTSTRAP, first_half
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import METADATA_BOOTSTRAP, Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.appended import append_rollback_block, logs_of_write
from pyhudi.transaction.heartbeat import delete_heartbeat
from pyhudi.transaction.instant_run import complete_instant, draw_instant
from pyhudi.transaction.markers import delete_markers, delete_written

Delete: TypeAlias = Callable[[Table, Instant, RollbackPlan], None]
"""Deletes the files that the plan of a rollback names, which is on the timeline by then."""
_log = logging.getLogger(__name__)


def undo(table: Table, clock: Clock, instant: Instant) -> None:
    """Undo an instant that did not complete, as its action wants it.

    A compaction goes back to its plan, of any other nothing stays.

    Raises:
        StorageError: the storage failed; whoever undoes it next goes on from where this one came.
    """
    if instant.action is Action.COMPACTION:
        revert_compaction(table, clock, instant)
    elif not roll_back(table, clock, instant.time) and not _write_at(table.active, instant.time):
        _delete_late(table, instant)


def _delete_late(table: Table, instant: Instant) -> None:
    """Delete what a write that others have undone went on to make, markers or not.

    Whoever undid it deleted the markers of that time, and planned by those of an earlier one.
    """
    storage, found = table.storage, table.listing.files()
    late = {file.path for file in found.base_files if file.instant == instant.time}
    version = table.config.version
    late.update(logs_of_write(storage, found.log_files, instant.time, version))
    delete_written(storage, instant.time, late)
    delete_markers(storage, instant.time)


def roll_back(table: Table, clock: Clock, instant: str, delete: Delete | None = None) -> bool:
    """Undo one pending write: afterwards the table is as it was before it.

    False where there is none, as it is completed or others have undone it.

    One that was slow, not dead, and completes meanwhile, stays. With the second instant of a
    bootstrap goes the first, which is half a table. Without ``delete`` this process deletes files.

    Raises:
        StorageError: the storage failed; the next writer goes on from where this one came.
    """
    write = _write_at(table.active, instant)
    if write is None or write.is_completed:
        return False
    half = first_half(table.active.load())
    if half is not None and instant == FULL_BOOTSTRAP:
        table.active.revert(half)
        roll_back(table, clock, half.time, delete)
    plan = plan_rollback(table, write)
    _log.warning("%s: rolling back instant %s, which did not complete", table.config.name, instant)
    rollback = _requested(table, clock, plan)
    now = _write_at(table.active, instant)
    if now is not None and now.is_completed:
        # It has looked for the last time whether anybody undoes it.
        withdraw_rollback(table.active, rollback)
        return False
    finish_rollback(table, clock, rollback, delete)
    return True


def _write_at(active: ActiveTimeline, instant: str) -> Instant | None:
    writes = active.load().write_instants()
    return next((found for found in writes if found.time == instant), None)


def revert_compaction(
    table: Table, clock: Clock, instant: Instant, delete: Delete | None = None
) -> None:
    """Undo what a run of a compaction did, so that its plan is as when it was requested.

    A rollback of it that did not end is finished first. To be called by the one who runs it.

    Raises:
        StorageError: the storage failed; the next run goes on from where this one came.
    Source: HoodieTable.rollbackInflightCompaction, Hudi 0.15 and 1.1.
    """
    pending = table.active.load().pending()
    for rollback in rollbacks_of(table.active, pending, instant.time):
        finish_rollback(table, clock, rollback, delete)
    inflight = instant.in_state(State.INFLIGHT)
    if inflight not in table.active.load().instants:
        return
    name = table.config.name
    _log.warning("%s: rolling back an earlier run of compaction %s", name, instant.time)
    _requested(table, clock, plan_rollback(table, inflight))
    # A request that failed after it had appeared is there twice, and nobody would end the first.
    for rollback in rollbacks_of(table.active, table.active.load().pending(), instant.time):
        finish_rollback(table, clock, rollback, delete)


def rollbacks_of(active: ActiveTimeline, timeline: Timeline, instant: str) -> tuple[Instant, ...]:
    """The rollbacks of an instant that are on a timeline."""
    return tuple(
        found
        for found in timeline
        if (target := rollback_target(active, found)) is not None and target.time == instant
    )


def rollback_target(active: ActiveTimeline, rollback: Instant) -> InstantInfo | None:
    """What a rollback undoes; None when that cannot be known, or the instant is no rollback.

    A plan that cannot be read may be on its way: Hudi makes the file, and then writes into it.
    """
    if rollback.action is not Action.ROLLBACK:
        return None
    try:
        return active.read_rollback_plan(rollback).instant
    except MissingFileError:
        return None
    except CorruptTableError:
        if rollback.state is State.REQUESTED:
            return None
        raise


def _requested(table: Table, clock: Clock, plan: RollbackPlan) -> Instant:
    try:
        return request_rollback(table.active, clock, plan)
    except StorageError:
        # A full disk cannot take the plan before it has lost the files of the failed write.
        delete_files(table.storage, files_to_delete(plan))
        return request_rollback(table.active, clock, plan)


def request_rollback(active: ActiveTimeline, clock: Clock, plan: RollbackPlan) -> Instant:
    """Put a rollback with its plan on the timeline, at a time of its own."""

    def take(at: str) -> bool:
        try:
            active.request(_rollback(at), plan)
        except AlreadyExistsError:
            return False
        return True

    return _rollback(draw_instant(active, clock, take))


def _rollback(at: str) -> Instant:
    return Instant(time=at, action=Action.ROLLBACK, state=State.REQUESTED)


def finish_rollback(
    table: Table, clock: Clock, rollback: Instant, delete: Delete | None = None
) -> RollbackMetadata | None:
    """Carry out a rollback that is requested, from the beginning or from midway.

    Nobody is kept out: whoever else finishes it takes the same steps. Gives what it did, or None
    where it was withdrawn: what it is to undo is completed still, and has a savepoint or later
    writes by now, or what it replaced is cleaned.
    """
    active, started = table.active, time.perf_counter()
    plan = active.read_rollback_plan(rollback)
    with contextlib.suppress(AlreadyExistsError):
        active.start(rollback, None)
    undone = _made_pending(table, plan)
    if undone is None:
        withdraw_rollback(active, rollback)
        return None
    (delete or delete_here)(table, rollback, plan)
    appended = _take_back_blocks(table, plan, rollback.time)
    if undone.time == METADATA_BOOTSTRAP:
        drop_bootstrap_index(table.storage)
    has_plan_to_keep = plan.instant.action == Action.COMPACTION.value
    active.remove(undone)
    active.forget_ending(undone)
    if not has_plan_to_keep:
        active.remove(undone.in_state(State.REQUESTED))
    metadata = RollbackMetadata(
        start_time=rollback.time,
        time_taken_ms=int((time.perf_counter() - started) * 1000),
        instants=(plan.instant,),
        partitions=_with_log_files(_deleted_by(plan), appended),
    )
    with contextlib.suppress(AlreadyExistsError):
        complete_instant(active, rollback, metadata, clock)
    if not has_plan_to_keep:  # whose next run looks after them
        delete_markers(table.storage, undone.time)
        delete_heartbeat(table.storage, undone.time)
    return metadata


def withdraw_rollback(active: ActiveTimeline, rollback: Instant) -> None:
    """Take a rollback that has changed nothing off the timeline."""
    for state in (State.INFLIGHT, State.REQUESTED):
        active.remove(rollback.in_state(state))


def _made_pending(table: Table, plan: RollbackPlan) -> Instant | None:
    """The inflight instant that a rollback is to undo, made of a completed one where it is one.

    None where a completed one has to stay.
    """
    active, info = table.active, plan.instant
    action, timeline = action_of(info), active.load()
    pending = Instant(time=info.time, action=action, state=State.INFLIGHT)
    identity = pending.identity
    found = next((each for each in timeline if each.identity == identity), pending)
    if not found.is_completed:
        return found.in_state(State.INFLIGHT)
    try:
        if action is Action.COMPACTION:
            # The run that is undone may have completed meanwhile, or another after it.
            if not has_files_of(plan, active.read_commit(found)):
                return pending
            reason: str | None = "that run of the compaction has completed"
        else:
            reason = Written.of(table, found).why_not_undone(active, timeline)
            if reason is None:
                return active.revert(found)
    except MissingFileError:  # somebody else has just done it
        return _made_pending(table, plan)
    _log.warning("instant %s is not rolled back: %s", info.time, reason)
    return None


def action_of(info: InstantInfo) -> Action:
    """The action that a plan names.

    Raises:
        CorruptTableError: there is none of this name.
    """
    try:
        return Action(info.action)
    except ValueError as error:
        raise CorruptTableError(
            f"a plan is for the action {info.action[:60]!r}, which is not known"
        ) from error


def delete_here(table: Table, _: Instant, plan: RollbackPlan) -> None:
    """Delete the files that a rollback names, one after another in this process."""
    delete_files(table.storage, files_to_delete(plan))


def delete_files(storage: Storage, files: Iterable[str]) -> None:
    """Delete files that a write made, and what it has uploaded of them; absent ones are fine."""
    paths = tuple(files)
    storage.delete_all(paths)
    give_up_uploads(storage, paths)


def _deleted_by(plan: RollbackPlan) -> dict[str, RollbackPartition]:
    deleted: dict[str, tuple[str, ...]] = {}
    for request in plan.requests:
        before = deleted.get(request.partition, ())
        deleted[request.partition] = (*before, *request.files_to_delete)
    return {path: RollbackPartition(deleted=files) for path, files in deleted.items()}


def _take_back_blocks(table: Table, plan: RollbackPlan, at: str) -> dict[str, dict[str, int]]:
    """The log files that got a block to take others back, with their sizes, by partition."""
    storage = table.storage
    appended: dict[str, dict[str, int]] = defaultdict(dict)
    for request in plan.requests:
        for file in islice(request.log_blocks, 1):
            slice_of = LogFile.of(request.partition, file.rsplit("/", 1)[-1], 0)
            if slice_of is None:
                continue
            inner_path(slice_of.path)
            logs = table.listing.files([request.partition]).log_files
            path = append_rollback_block(storage, logs, slice_of, at=at, target=plan.instant.time)
            status = storage.status(path)
            size = 0 if status is None else status.size_bytes
            appended[request.partition][_with_scheme(storage.absolute(path))] = size
    return appended


def _with_scheme(path: str) -> str:
    """A path as Hudi names these files, and no others."""
    return f"file:{path}" if path.startswith("/") else path


def _with_log_files(
    deleted: Mapping[str, RollbackPartition], appended: Mapping[str, Mapping[str, int]]
) -> dict[str, RollbackPartition]:
    return {
        partition: replace(
            deleted.get(partition, RollbackPartition()), log_files=appended.get(partition, {})
        )
        for partition in sorted({*deleted, *appended})
    }
