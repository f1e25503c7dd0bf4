"""What keeps others out of an instant while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pyhudi.actions.rollback import RollbackPlan
from pyhudi.config.instant_text import AskedInstant
from pyhudi.config.options.concurrency import MODE, ConcurrencyMode
from pyhudi.config.options.files import HEARTBEAT_INTERVAL
from pyhudi.config.options.locks import PROVIDER
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.write import ConcurrencyConfig, HeartbeatConfig
from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    MissingFileError,
    RolledBackError,
    StorageError,
    WriteConflictError,
    WriterAtWorkError,
)
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import load_config
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline, Metadata, Seen
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.conflicts.change import Change
from pyhudi.transaction.conflicts.conflict import Conflict
from pyhudi.transaction.gate import OPEN_GATE, Gate
from pyhudi.transaction.heartbeat import Heartbeat, is_alive
from pyhudi.transaction.markers import MarkedFile, delete_written
from pyhudi.transaction.tickets import Ticket

_RIVAL_WAITS_S = (0.05, 0.1, 0.2, 0.4)


_NO_CONCURRENCY = ConcurrencyConfig()


def _goes_first(_: Collection[Ticket]) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One who writes a table, and what that takes.

    ``undoes_dead`` says whether it undoes the writes of others that died. ``undo`` takes back an
    instant of this writer that failed. ``is_behind`` says whether some of those who wait go before
    it. Where writers go on beside each other, the ``gate`` has the lock of the table, and
    ``concurrency`` says what a conflict is. ``latest`` is the latest time on the timeline, where it
    has just been listed. ``delete`` deletes the files that a rollback of another's instant names;
    None where this process does.
    """

    table: Table
    clock: Clock
    heartbeat: HeartbeatConfig
    undo: Callable[[Instant], None]
    undoes_dead: bool = True
    is_behind: Callable[[Collection[Ticket]], bool] = _goes_first
    gate: Gate = OPEN_GATE
    concurrency: ConcurrencyConfig = _NO_CONCURRENCY
    latest: str | None = None
    delete: Callable[[Table, Instant, RollbackPlan], None] | None = None

    @property
    def storage(self) -> Storage:
        """Where the table lies."""
        return self.table.storage

    @property
    def active(self) -> ActiveTimeline:
        """The table's timeline as it is on storage."""
        return self.table.active

    def is_alive(self, instant: str) -> bool:
        """Whether the writer of a pending instant still lives."""
        now_ms = self.clock.now_ms()
        return is_alive(self.storage, instant, now_ms=now_ms, config=self.heartbeat)


class Exclusion(Protocol):
    """Keeps others out of what an instant is about, from its beginning to its commit point.

    Each method raises ConflictError when others are in.
    """

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Called when a new instant is requested, or to give a planned one its heartbeat."""
        ...

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Called before any file is deleted, with those that the instant's markers name."""
        ...

    def check_held(
        self, writer: Writer, instant: Instant, files: Collection[str], heartbeat: Heartbeat, /
    ) -> None:
        """Called before the commit point, with the files that are about to count.

        The ``heartbeat`` is that of the instant.
        """
        ...

    def agree(self, writer: Writer, instant: Instant, metadata: Metadata | None) -> Metadata | None:
        """What is to be committed beside what others have committed since the instant began.

        Called before the lock is taken, and last before the commit point while it is held.
        """
        ...

    def overlooked(
        self, writer: Writer, instant: Instant, seen: Seen | None
    ) -> WriteConflictError | None:
        """What others committed despite the lock that a completed instant cannot stand beside.

        Called right after the commit point, while the lock is held. ``seen`` is the timeline as it
        was listed after that point, if it was.
        """
        ...


class Alone:
    """One writer at a time: whoever finds another at work is refused.

    Who is at work is told by clocks and heartbeats, which may be wrong: a writer that was taken for
    dead, or that took another for dead, finds so before its commit point. With ``passes_dead``
    writes that did not complete may stay; else who undoes such does so first.

    ``own`` are the instants of a job that writes at several, the first a table has: whatever does
    not write rows may have a later one. ``seen`` is the timeline on which it began.
    """

    def __init__(self, *, passes_dead: bool = False, own: Collection[str] = ()) -> None:
        self._passes_dead, self._own = passes_dead, frozenset(own)
        self._done_before: frozenset[str] = frozenset()
        self.seen: Seen | None = None

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Step back when another live writer is pending, or was faster.

        Two writers that begin at once see each other, since each looks after its heartbeat has
        started. The later instant steps back at once, the earlier one only when the later does not.
        One that began later and has ended by now wrote files that an earlier instant cannot follow.
        """
        for wait_s in (*_RIVAL_WAITS_S, 0.0):
            self.seen = writer.active.look()
            timeline = self.seen.timeline
            own = self._own | {instant.time}
            rivals = _alive(writer, timeline, own)
            if not rivals:
                _check_known(writer, timeline)
                _check_latest(writer, instant, timeline, self._own)
                if writer.undoes_dead and not self._passes_dead:
                    _check_no_dead(writer, timeline, own)
                self._done_before = _done(writer, timeline)
                return
            if min(rivals) < instant.time or wait_s == 0.0:
                raise at_work(writer, rivals)
            writer.clock.sleep(wait_s)

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Nobody else has files at this instant."""

    def check_held(
        self, writer: Writer, instant: Instant, files: Collection[str], heartbeat: Heartbeat
    ) -> None:
        """Whoever takes a writer for dead plans its rollback, and takes its request away last.

        A write that was completed since this one began was not seen by it, and would be lost; one
        that was taken back would come again with the files that were made of its own.
        """
        states = [file.instant for file in writer.active.state_files()]
        is_there = instant.in_state(State.REQUESTED) in states
        if not is_there or _is_being_undone(writer.active, Timeline.of(states), instant):
            delete_written(writer.storage, instant.time, files)
            raise undone_by_another(writer, instant.time, heartbeat)
        done = _done(writer, Timeline.of(states))
        gone = {time for time in self._done_before - done if not done or time > min(done)}
        if gone:  # rather than archived, which takes the oldest
            raise ConflictError(
                f"the write {min(gone)}, which this one has seen, was taken back meanwhile; retry",
                where=writer.storage.uri,
            )
        unseen = done - self._done_before - self._own
        if unseen:
            raise ConflictError(
                f"another writer has written meanwhile (instant {min(unseen)}) and waited for "
                f"nobody; retry, and see to it that all writers have the same {MODE.key}, and "
                "that their clocks agree",
                where=writer.storage.uri,
            )

    def agree(self, _: Writer, __: Instant, metadata: Metadata | None) -> Metadata | None:
        """Nobody else has committed anything."""
        return metadata

    def overlooked(self, writer: Writer, instant: Instant, seen: Seen | None) -> None:
        """There is no lock."""


def _is_being_undone(active: ActiveTimeline, timeline: Timeline, instant: Instant) -> bool:
    """Whether a pending rollback is one of a write; plans stay when a run of theirs is undone."""
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        return False
    for found in timeline.pending():
        if found.action is Action.ROLLBACK:
            # One that is gone or torn has ended, or died before it deleted anything.
            with suppress(MissingFileError, CorruptTableError):
                if active.read_rollback_plan(found).instant.time == instant.time:
                    return True
    return False


def undone_by_another(writer: Writer, instant: str, heartbeat: Heartbeat) -> RolledBackError:
    """The error of one that another writer has undone: who that was, and why it did.

    One whose heartbeat was never late was undone by somebody who honours none. Of a job that undoes
    whatever is pending before it writes, its own write is the nearest to the rollback.
    """
    rollback, ahead_s = _rollback_of(writer, instant), 0
    by = "" if rollback is None else f" (rollback {rollback.time})"
    waits_s = writer.heartbeat.expires_ms // 1000
    if heartbeat.has_lapsed:
        why = (
            f"it was taken for dead: its heartbeat was not renewed for "
            f"{heartbeat.longest_silence_ms // 1000} s, and others wait for {waits_s} s. Where "
            f"processes are suspended for so long, raise {HEARTBEAT_INTERVAL.key} for all writers"
        )
    else:
        if rollback is not None:
            by = f" (rollback {rollback.time}{_told_beside(writer, instant, rollback.time)})"
            ahead_s = (_moment_ms(writer, rollback.time) - writer.clock.now_ms()) // 1000
        other = (
            f"its clock is wrong, which is {ahead_s} s ahead of this one"
            if ahead_s > waits_s
            else f"it waits for heartbeats for less than {waits_s} s"
        )
        why = (
            f"its heartbeat was never late. Unless {other}, the other one runs in single-writer "
            "mode, in which a writer undoes whatever is pending: set "
            f"{MODE.key}={ConcurrencyMode.OPTIMISTIC.value} and one {PROVIDER.key} for all "
            "writers of the table, or let them take turns"
        )
    return RolledBackError(
        f"instant {instant} was rolled back by another writer{by}; {why}; retry",
        where=writer.storage.uri,
    )


def _rollback_of(writer: Writer, instant: str) -> Instant | None:
    """The latest rollback of an instant; None where there is none, or it cannot be read."""
    found = (each for each in _looked_at(writer) if each.action is Action.ROLLBACK)
    for rollback in sorted(found, key=lambda each: each.time, reverse=True):
        with suppress(StorageError, CorruptTableError):
            if writer.active.read_rollback_plan(rollback).instant.time == instant:
                return rollback
    return None


def _told_beside(writer: Writer, instant: str, rollback: str) -> str:
    """The write that began after an instant, and next to its rollback, and who asked for it."""
    at_ms, since = _moment_ms(writer, rollback), _looked_at(writer).write_instants()
    later = (each for each in since if each.time > instant)
    nearest = min(later, key=lambda each: abs(_moment_ms(writer, each.time) - at_ms), default=None)
    if nearest is None:
        return ""
    change = Change(instant=nearest)
    with suppress(StorageError, CorruptTableError):
        change = Change.of(nearest, writer.active.read_replace_commit(nearest))
    return f", beside which {Conflict.with_change(change, 'began')}"


def _looked_at(writer: Writer) -> Timeline:
    """The timeline of now; an empty one where the storage does not answer."""
    with suppress(StorageError):
        return writer.active.load()
    return Timeline.of(())


def _moment_ms(writer: Writer, time: str) -> int:
    return AskedInstant(digits=time).moment_ms(writer.table.config.timezone)


def at_work(writer: Writer, instants: Collection[str]) -> WriterAtWorkError:
    """The error that tells of those who write at these instants."""
    return WriterAtWorkError(
        f"another writer is at work (instant {min(instants)}); retry when it has ended",
        where=writer.storage.uri,
    )


def live_writers(writer: Writer) -> list[str]:
    """The instants of pending writes whose heartbeat is fresh."""
    return _alive(writer, writer.active.load())


def _alive(writer: Writer, timeline: Timeline, own: Collection[str] = ()) -> list[str]:
    now_ms = writer.clock.now_ms()
    return [
        instant.time
        for instant in timeline.pending_writes()
        if instant.time not in own
        and is_alive(writer.storage, instant.time, now_ms=now_ms, config=writer.heartbeat)
    ]


def _done(writer: Writer, timeline: Timeline) -> frozenset[str]:
    """The instants of the writes that are completed.

    Compactions, which go on beside writers, are the commits of a merge-on-read table.
    """
    is_delta = writer.table.config.table_type is TableType.MERGE_ON_READ
    return frozenset(
        found.time
        for found in timeline.write_instants().completed()
        if not (is_delta and found.action is Action.COMMIT)
    )


def check_timeline_counts(table: Table, now: TableConfig) -> None:
    """Refuse to begin on the timeline of a version that the table had before.

    Raises:
        WriterAtWorkError: by its configuration of now the timeline is another.
    """
    if now.version.timeline_layout is not table.config.version.timeline_layout:
        raise WriterAtWorkError(
            f"the table was given version {now.version.value} meanwhile; retry",
            where=table.storage.uri,
        )


def _check_known(writer: Writer, timeline: Timeline) -> None:
    """Ask for the version where the latest write is gone that the writer has seen.

    A change of the version takes all instants away from the old timeline, the latest first. Others
    take away some, which is no reason to refuse.
    """
    known = writer.table.timeline.last_completed
    if known is not None and not timeline.completed().contains(known.time):
        check_timeline_counts(writer.table, load_config(writer.storage))


def _check_no_dead(writer: Writer, timeline: Timeline, own: Collection[str]) -> None:
    """Refuse to begin beside a write that seems to have died since dead ones were undone.

    It may be at work, seen by a clock that is ahead: undone first, it finds so before it commits.
    """
    for found in timeline.pending_writes():
        if found.time not in own and writer.active.clustered_groups(found) is None:
            raise WriterAtWorkError(
                f"the write {found.time} has just died; retry, which rolls it back first",
                where=writer.storage.uri,
            )


def _check_latest(
    writer: Writer, instant: Instant, timeline: Timeline, own: Collection[str]
) -> None:
    """Refuse an instant that is not the latest: it was drawn before a later one was.

    A clean writes no rows, and runs beside whoever does. A rollback may have drawn the same time.
    Before the first writes of a table there are at most rollbacks of some that failed.
    """
    if own:
        others = (found for found in timeline.write_instants() if found.time not in own)
    else:
        others = (found for found in timeline if found.action is not Action.CLEAN)
    later = [
        found.time
        for found in others
        if found.time > instant.time
        or (found.time == instant.time and found.identity != instant.identity)
    ]
    if later:
        raise WriterAtWorkError(
            f"another writer was faster (instant {max(later)}, this one had drawn {instant.time}); "
            "retry",
            where=writer.storage.uri,
        )
