"""Bring a table back to where no write is pending, and begin the next one.

Source: BaseHoodieWriteClient.startCommit and BaseHoodieTableServiceClient.rollbackFailedWrites,
Hudi 0.15 and 1.1.
"""

from __future__ import annotations

from functools import partial

from pyhudi.actions.rollback import InstantInfo
from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import ConflictError
from pyhudi.services.rollback import finish_rollback, roll_back, rollback_target, undo
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline, Metadata
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.heartbeat import delete_heartbeat, instants_with_heartbeat
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import delete_markers, delete_strays, marked_instants, read_markers


def writer_of(table: Table, clock: Clock, heartbeat: HeartbeatConfig) -> Writer:
    """One who writes a table, and whose instants are undone when they fail."""
    return Writer(table=table, clock=clock, heartbeat=heartbeat, undo=partial(undo, table, clock))


def begin_write(
    table: Table,
    clock: Clock,
    heartbeat: HeartbeatConfig,
    action: Action,
    requested: Metadata | None = None,
) -> InstantRun:
    """Undo what dead writers left, and give the run of a new instant, which is to be entered.

    ``requested`` is what the requested file says, which is nothing for a commit.

    Raises:
        ConflictError: another writer is at work.
    """
    writer = writer_of(table, clock, heartbeat)
    recover(writer)
    return InstantRun(writer, action, requested)


def recover(writer: Writer) -> tuple[str, ...]:
    """Bring the table back to where no write is pending; the instants that were undone.

    Raises:
        ConflictError: a pending write is alive.
    """
    table, active = writer.table, writer.active
    for pending in active.load().pending():
        target = rollback_target(active, pending)
        # That of a compaction is finished by whoever runs it next, and may be by a live one.
        if pending.action is Action.ROLLBACK and not _is_compaction(target):
            finish_rollback(table, writer.clock, pending)
    undone = []
    for instant in active.load().pending_writes():
        if active.clustered_groups(instant) is not None:
            continue
        if writer.is_alive(instant.time):
            raise ConflictError(
                f"another writer is at work (instant {instant.time}); retry when it has ended",
                where=writer.storage.uri,
            )
        roll_back(table, writer.clock, instant.time)
        undone.append(instant.time)
    _sweep(writer)
    return tuple(undone)


def _sweep(writer: Writer) -> None:
    """Delete what ended writes left behind: markers, heartbeats, files of tasks that went on.

    A task that Spark could not stop in time may leave its marker, and its file, after its write was
    committed or rolled back.
    """
    storage, active = writer.storage, writer.active
    # Listed before the timeline is: a write that begins in between must be on it.
    marked, beating = marked_instants(storage), instants_with_heartbeat(storage)
    timeline = active.load()
    writes = {found.time: found for found in timeline.write_instants()}
    for instant in marked:
        write = writes.get(instant)
        if write is None and _was_undone(active, timeline, instant):
            delete_strays(storage, instant, read_markers(storage, instant), ())
        if write is not None and write.is_completed:
            _delete_uncommitted(active, write)
        if write is None or write.is_completed:
            delete_markers(storage, instant)
    for instant in beating:
        write = writes.get(instant)
        is_over = not writer.is_alive(instant) if write is None else write.is_completed
        if is_over:
            delete_heartbeat(storage, instant)


def _delete_uncommitted(active: ActiveTimeline, write: Instant) -> None:
    storage = active.storage
    committed = {stat.path for stat in active.read_commit(write).write_stats if stat.path}
    if committed:
        delete_strays(storage, write.time, read_markers(storage, write.time), committed)


def _was_undone(active: ActiveTimeline, timeline: Timeline, instant: str) -> bool:
    """Whether a write that is not on the timeline was rolled back, rather than archived."""
    if not timeline.is_committed(instant):
        return True
    for found in timeline:
        target = rollback_target(active, found)
        # A compaction that was rolled back may have been run again.
        if target is not None and target.time == instant:
            return not _is_compaction(target)
    return False


def _is_compaction(target: InstantInfo | None) -> bool:
    return target is not None and target.action == Action.COMPACTION.value
