"""What keeps others out of an instant while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import ConflictError, WriterAtWorkError
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.heartbeat import is_alive
from pyhudi.transaction.markers import MarkedFile, delete_written
from pyhudi.transaction.tickets import Ticket

_RIVAL_WAITS_S = (0.05, 0.1, 0.2, 0.4)


def _goes_first(_: Collection[Ticket]) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One who writes a table, and what that takes.

    ``undoes_dead`` says whether it undoes the writes of others that died. ``undo`` takes back an
    instant of this writer that failed. ``is_behind`` says whether some of those who wait go before
    it.
    """

    table: Table
    clock: Clock
    heartbeat: HeartbeatConfig
    undo: Callable[[Instant], None]
    undoes_dead: bool = True
    is_behind: Callable[[Collection[Ticket]], bool] = _goes_first

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

    def check_held(self, writer: Writer, instant: Instant, files: Collection[str], /) -> None:
        """Called last before the commit point, with the files that are about to count."""
        ...


class Alone:
    """One writer at a time: whoever finds another at work is refused."""

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Step back when another live writer is pending, or was faster.

        Two writers that begin at once see each other, since each looks after its heartbeat has
        started. The later instant steps back at once, the earlier one only when the later does not.
        One that began later and has ended by now wrote files that an earlier instant cannot follow.
        """
        for wait_s in (*_RIVAL_WAITS_S, 0.0):
            timeline = writer.active.load()
            rivals = [found for found in _alive(writer, timeline) if found != instant.time]
            if not rivals:
                _check_latest(writer, instant, timeline)
                return
            if min(rivals) < instant.time or wait_s == 0.0:
                raise at_work(writer, rivals)
            time.sleep(wait_s)

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Nobody else has files at this instant."""

    def check_held(self, writer: Writer, instant: Instant, files: Collection[str]) -> None:
        """Whoever takes a writer for dead rolls it back, which takes its request away."""
        if not writer.active.is_requested(instant):
            delete_written(writer.storage, instant.time, files)
            raise undone_by_another(writer, instant.time)


def undone_by_another(writer: Writer, instant: str) -> ConflictError:
    """The error of one that was taken for dead."""
    return ConflictError(
        f"instant {instant} was rolled back by another writer; retry", where=writer.storage.uri
    )


def at_work(writer: Writer, instants: Collection[str]) -> WriterAtWorkError:
    """The error that tells of those who write at these instants."""
    return WriterAtWorkError(
        f"another writer is at work (instant {min(instants)}); retry when it has ended",
        where=writer.storage.uri,
    )


def live_writers(writer: Writer) -> list[str]:
    """The instants of pending writes whose heartbeat is fresh."""
    return _alive(writer, writer.active.load())


def _alive(writer: Writer, timeline: Timeline) -> list[str]:
    now_ms = writer.clock.now_ms()
    return [
        instant.time
        for instant in timeline.pending_writes()
        if is_alive(writer.storage, instant.time, now_ms=now_ms, config=writer.heartbeat)
    ]


def _check_latest(writer: Writer, instant: Instant, timeline: Timeline) -> None:
    """Refuse an instant that is not the latest: it was drawn before a later one was.

    A clean writes no rows, and runs beside whoever does.
    """
    others = (found.time for found in timeline if found.action is not Action.CLEAN)
    later = [time for time in others if time > instant.time]
    if later:
        raise WriterAtWorkError(
            f"another writer was faster (instant {max(later)}, this one had drawn {instant.time}); "
            "retry",
            where=writer.storage.uri,
        )
