"""Bring a table back to where no write is pending.

Source: BaseHoodieWriteClient.startCommit and BaseHoodieTableServiceClient.rollbackFailedWrites,
Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial

from pyhudi.actions.rollback import InstantInfo
from pyhudi.config.write import ConcurrencyConfig, HeartbeatConfig
from pyhudi.errors import CorruptTableError, MissingFileError, WriterAtWorkError
from pyhudi.services.rollback import (
    finish_rollback,
    roll_back,
    rollback_target,
    undo,
    withdraw_rollback,
)
from pyhudi.services.undo.restore import finish_restores
from pyhudi.storage.storage import Storage
from pyhudi.table.savepoints import pending_restores
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock, instant_time
from pyhudi.timeline.ending import sweep_endings
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer, at_work, live_writers
from pyhudi.transaction.gate import OPEN_GATE, Gate
from pyhudi.transaction.heartbeat import (
    delete_heartbeat,
    instants_with_heartbeat,
    names_beside_heartbeats,
)
from pyhudi.transaction.markers import delete_markers, delete_strays, marked_instants, read_markers
from pyhudi.transaction.tickets import Ticket, tickets_among
from pyhudi.transaction.turn import Turn

_log = logging.getLogger(__name__)


def writer_of(
    table: Table,
    clock: Clock,
    heartbeat: HeartbeatConfig,
    turn: Turn | None = None,
    *,
    undoes_dead: bool = True,
    gate: Gate = OPEN_GATE,
    concurrency: ConcurrencyConfig = ConcurrencyConfig(),  # noqa: B008 - it is frozen
) -> Writer:
    """One who writes a table, and whose instants are undone when they fail.

    Without a ``turn`` it goes before those who wait, and with a lock at the ``gate`` nobody waits.
    What a failed instant of its own left is deleted in this process: what runs tasks may be what
    has failed.
    """
    writer = Writer(
        table=table,
        clock=clock,
        heartbeat=heartbeat,
        undo=partial(undo, table, clock),
        undoes_dead=undoes_dead,
        gate=gate,
        concurrency=concurrency,
    )
    return writer if turn is None else replace(writer, is_behind=turn.is_behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """The instants that have markers, and the names beside heartbeats.

    To be listed before the timeline is: a write that begins in between must be on it.
    """

    marked: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, storage: Storage) -> LeftBehind:
        """What there is in a table now."""
        return cls(marked=marked_instants(storage), names=names_beside_heartbeats(storage))


def recover(writer: Writer, left: LeftBehind | None = None) -> tuple[str, ...]:
    """Bring the table back to where no write is pending; the instants that were undone.

    With what is ``left`` the writer's table was listed right after it; where nothing was pending
    then, nothing is listed again. A restore that was begun is finished first. A writer that does
    not undo dead writes leaves them where they are; beside other writers none does, as long as
    nobody cleans.

    Raises:
        WriterAtWorkError: a pending write is alive, or others wait that came before.
    """
    table, active = writer.table, writer.active
    if left is not None and has_nothing_pending(table.timeline):
        _check_turn(writer, _sweep(writer, left, table.timeline))
        return ()
    timeline = active.load()
    if pending_restores(timeline):
        finish_restores(writer)
        timeline = active.load()
    if writer.gate.is_shared:
        if _dead_rollbacks(writer):
            with writer.gate.hold():
                _finish_dead_rollbacks(writer)
        sweep(writer)
        return ()
    if timeline.pending():
        _finish_rollbacks(writer, timeline)
        timeline = active.load()
    undone = []
    for instant in timeline.pending_writes():
        if active.clustered_groups(instant) is not None:
            continue
        if writer.is_alive(instant.time):
            raise at_work(writer, [instant.time])
        if writer.undoes_dead:
            roll_back(table, writer.clock, instant.time, writer.delete)
            undone.append(instant.time)
    _check_turn(writer, sweep(writer))
    return tuple(undone)


def has_nothing_pending(timeline: Timeline) -> bool:
    """Whether nobody is at work or has died, compactions aside, which are left to their runs."""
    return all(found.action is Action.COMPACTION for found in timeline.pending())


def _check_turn(writer: Writer, waiting: tuple[Ticket, ...]) -> None:
    if not writer.gate.is_shared and writer.is_behind(waiting):
        raise WriterAtWorkError(
            f"{len(waiting)} other writers wait for their turn; retry when they have ended",
            where=writer.storage.uri,
        )


def _finish_rollbacks(writer: Writer, timeline: Timeline) -> None:
    """Finish the rollbacks that were begun, but for those of compactions.

    These are finished by whoever runs the compaction next, and may be by a live one.
    """
    table, active = writer.table, writer.active
    for pending in timeline.pending():
        if _is_torn_request(active, pending):
            active.remove(pending)
            continue
        target = rollback_target(active, pending)
        if pending.action is Action.ROLLBACK and not _is_compaction(target):
            # Of two that carry one out, one must not take it for too late and withdraw it.
            if alive := live_writers(writer):
                raise at_work(writer, alive)
            if _is_for_another(active, pending, target):
                withdraw_rollback(active, pending)
            else:
                finish_rollback(table, writer.clock, pending, writer.delete)


def _is_for_another(active: ActiveTimeline, rollback: Instant, target: InstantInfo | None) -> bool:
    """Whether a rollback was meant for a write that did not complete, and that has since.

    Who takes a completed write back keeps others out by an instant of its own, which is pending
    still when it has died.
    """
    timeline = active.load()
    is_completed = target is not None and any(
        found.time == target.time for found in timeline.write_instants().completed()
    )
    is_asked_for = any(found.time < rollback.time for found in timeline.pending_writes())
    return is_completed and not is_asked_for


def undo_dead_writes(writer: Writer) -> tuple[str, ...]:
    """Undo the writes that died, whoever else is at work; their instants.

    Those that had not begun when the writer's table was listed are left to the next.

    Source: BaseHoodieTableServiceClient.getInstantsToRollbackForLazyCleanPolicy, Hudi 0.15.
    """
    active, undone = writer.active, []
    if not any(_is_dead(writer, each) for each in writer.table.timeline.pending_writes()):
        return ()
    with writer.gate.hold():
        # Some may have renewed their heartbeat, or ended, while the lock was waited for.
        _finish_dead_rollbacks(writer)
        for instant in reversed(active.load().pending_writes().instants):
            if _is_dead(writer, instant):
                roll_back(writer.table, writer.clock, instant.time, writer.delete)
                undone.append(instant.time)
    return tuple(undone)


def _is_dead(writer: Writer, instant: Instant) -> bool:
    is_clustering = writer.active.clustered_groups(instant) is not None
    return not is_clustering and not writer.is_alive(instant.time)


def _finish_dead_rollbacks(writer: Writer) -> None:
    for rollback in _dead_rollbacks(writer):
        if _is_torn_request(writer.active, rollback):
            writer.active.remove(rollback)
        else:
            finish_rollback(writer.table, writer.clock, rollback, writer.delete)


def _dead_rollbacks(writer: Writer) -> tuple[Instant, ...]:
    """The rollbacks that were begun long ago, where writers go on beside each other.

    Whoever rolls back here holds the lock until it has ended; Hudi does not, and has no heartbeat
    meanwhile.
    """
    if not writer.gate.is_shared:
        return ()
    before_ms = writer.clock.now_ms() - writer.heartbeat.expires_ms
    before = instant_time(before_ms, writer.table.config.timezone)
    return tuple(
        found
        for found in writer.active.load().pending()
        if found.action is Action.ROLLBACK
        and found.time < before
        and not _is_compaction(rollback_target(writer.active, found))
    )


def _is_torn_request(active: ActiveTimeline, pending: Instant) -> bool:
    """Whether a rollback died while its plan was written, before it had deleted anything.

    Source: BaseHoodieTableServiceClient.getPendingRollbackInfos, Hudi 0.15, which deletes it too.
    """
    if pending.action is not Action.ROLLBACK or pending.state is not State.REQUESTED:
        return False
    try:
        active.read_rollback_plan(pending)
    except MissingFileError:
        return False
    except CorruptTableError as error:
        _log.warning(
            "%s: the rollback %s is planned anew: %s", active.storage.uri, pending.time, error
        )
        return True
    return False


def sweep(writer: Writer) -> tuple[Ticket, ...]:
    """Delete what ended writes left behind: markers, heartbeats, files of tasks that went on.

    Gives the tickets of those who wait, which lie beside the heartbeats.

    A task that Spark could not stop in time may leave its marker, and its file, after its write was
    committed or rolled back.
    """
    left = LeftBehind.of(writer.storage)
    return _sweep(writer, left, writer.active.load())


def _sweep(writer: Writer, left: LeftBehind, timeline: Timeline) -> tuple[Ticket, ...]:
    storage, active = writer.storage, writer.active
    writes = {found.time: found for found in timeline.write_instants()}
    sweep_endings(storage, left.names, timeline)
    for instant in left.marked:
        write = writes.get(instant)
        if write is None and _was_undone(active, timeline, instant):
            delete_strays(storage, instant, read_markers(storage, instant), ())
        if write is not None and write.is_completed:
            _delete_uncommitted(active, write)
        if write is None or write.is_completed:
            delete_markers(storage, instant)
    for instant in instants_with_heartbeat(left.names):
        write = writes.get(instant)
        is_over = not writer.is_alive(instant) if write is None else write.is_completed
        if is_over:
            delete_heartbeat(storage, instant)
    return tickets_among(left.names)


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
