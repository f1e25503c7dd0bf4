"""Wait until other writers have ended, in the order in which those who wait came.

::

    attempt ── another writer is in the way ── ticket ── look now and then ──▶ attempt again
                                                             └── waited long enough: ConflictError

A ticket decides nothing: who begins while another writer lives is turned away by the exclusion of
its instant, as ever. It keeps those who wait from all beginning at once, and those who come later
from going first. One whose owner died unnoticed holds nobody up for long: who is next in line goes
when the table has been free for some seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from pyhudi.config.options.files import WAIT_SECONDS
from pyhudi.config.write import WaitConfig
from pyhudi.errors import StorageError, WriterAtWorkError
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import about
from pyhudi.transaction.exclusion import Writer, live_writers
from pyhudi.transaction.heartbeat import owner_of
from pyhudi.transaction.tickets import Queue, Ticket, take_ticket

T = TypeVar("T")

# Between two looks; longer, the longer one has waited and the more go before.
_SHORTEST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
_LONGEST_PAUSE_OF_NEXT_S = 0.5
_PAUSE_SHARE = 0.05
# How long each that goes before may leave a free table alone.
_PATIENCE_S = 2.0
_LOG_EVERY_S = 30.0
# A ticket is good for this long after the last look of its owner.
_GRACE_S = 60.0
_log = logging.getLogger(__name__)


class Turn:
    """The place of one job among those that wait to write a table.

    All that it waits counts together against its bound. ``timed`` is entered while it waits.

    Not: a lock. Who is let go may still meet another, and waits again in its old place.
    """

    def __init__(
        self,
        config: WaitConfig,
        timed: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._bound_s, self._timed = config.seconds, timed
        self._waited_s = 0.0
        self._came_ms: int | None = None
        self._ticket: Ticket | None = None
        self._storage: Storage | None = None
        self._is_due = False

    @property
    def may_wait(self) -> bool:
        """Whether it waits at all, and has not done so long enough."""
        return self._waited_s < self._bound_s

    def take(self, look: Callable[[], Writer], attempt: Callable[[], T]) -> T:
        """What an attempt gives that no other writer is in the way of.

        ``look`` gives one who can look at the table.

        Raises:
            WriterAtWorkError: others were in the way for too long.
        """
        try:
            while True:
                try:
                    return attempt()
                except WriterAtWorkError as error:  # noqa: PERF203 - it waits between
                    self.wait(look(), error)
        finally:
            self.leave()

    def is_behind(self, tickets: Collection[Ticket]) -> bool:
        """Whether some of these go first; nobody does once this one's turn has come."""
        if self._is_due or not self._bound_s:
            return False
        others = [ticket for ticket in tickets if ticket != self._ticket]
        came_ms = self._came_ms
        return any(came_ms is None or ticket.came_ms < came_ms for ticket in others)

    def wait(self, writer: Writer, error: WriterAtWorkError) -> None:
        """Wait in line until no other writer lives; ``leave`` gives the place up.

        Raises:
            WriterAtWorkError: this one, or that it took too long.
        """
        if not self._bound_s:
            raise error
        self._is_due = False
        own = self._join(writer)
        with self._timed():
            others, before, clock = _Others(writer, own), self._waited_s, writer.clock
            began = clock.monotonic_ms() / 1000
            while not self._is_due:
                if not self.may_wait:
                    raise self._too_long(others)
                clock.sleep(min(self._pause_s(others.ahead), self._bound_s - self._waited_s))
                now = clock.monotonic_ms() / 1000
                self._waited_s = before + now - began
                self._is_due = others.look(now)
                if not self._is_due and others.is_news(now):
                    self._tell(others)

    def leave(self) -> None:
        """Give the place in line up; one who waits again has it again."""
        ticket, self._ticket, self._is_due = self._ticket, None, False
        if ticket is None or self._storage is None:
            return
        try:
            self._storage.delete(ticket.path)
        except StorageError as failure:
            _log.warning("the ticket stays behind until it is void: %s", failure)

    def _join(self, writer: Writer) -> Ticket:
        if self._ticket is not None:
            return self._ticket
        now_ms = writer.clock.now_ms()
        self._came_ms = now_ms if self._came_ms is None else self._came_ms
        left_s = self._bound_s - self._waited_s + _GRACE_S
        self._storage = writer.storage
        self._ticket = take_ticket(
            writer.storage, came_ms=self._came_ms, until_ms=now_ms + int(left_s * 1000)
        )
        return self._ticket

    def _pause_s(self, ahead: int) -> float:
        longest = _LONGEST_PAUSE_S if ahead else _LONGEST_PAUSE_OF_NEXT_S
        return about(min(max(self._waited_s * _PAUSE_SHARE, _SHORTEST_PAUSE_S), longest))

    def _tell(self, others: _Others) -> None:
        _log.info(
            "%s: waiting for %s (%.0f s so far, at most %.0f s)",
            others.table,
            others.described(),
            self._waited_s,
            self._bound_s,
        )

    def _too_long(self, others: _Others) -> WriterAtWorkError:
        return WriterAtWorkError(
            f"waited {self._waited_s:.0f} s for {others.described()}, which is as long as "
            f"{WAIT_SECONDS.key} allows; retry when other writers have ended",
            where=others.where,
        )


class _Others:
    """What one who waits sees of the others, look by look.

    Units: moments in seconds on a clock of its own.
    """

    def __init__(self, writer: Writer, own: Ticket) -> None:
        self._writer, self._own = writer, own
        self._queue = Queue(writer.storage)
        self._at_work: list[str] = []
        self._free_since: float | None = None
        self._told: float | None = None
        self.ahead = 0
        self.table, self.where = writer.table.config.name, writer.storage.uri

    def look(self, now: float) -> bool:
        """Look; whether the table is free, and those who go before have had their time."""
        self._at_work = live_writers(self._writer)
        self.ahead = self._queue.ahead_of(self._own, self._writer.clock.now_ms())
        if self._at_work:
            self._free_since = None
            return False
        self._free_since = now if self._free_since is None else self._free_since
        return now - self._free_since >= self.ahead * _PATIENCE_S

    def is_news(self, now: float) -> bool:
        """Whether it is time to say again for whom one waits."""
        is_due = self._told is None or now - self._told >= _LOG_EVERY_S
        self._told = now if is_due else self._told
        return is_due

    def described(self) -> str:
        """Whom one waits for."""
        found = []
        for instant in self._at_work[:1]:
            owner = owner_of(self._writer.storage, instant)
            where = "" if owner is None else f" of process {owner.pid} on {owner.host}"
            found.append(f"the write at {instant}{where}")
        if self.ahead:
            found.append(f"{self.ahead} that came before")
        return " and ".join(found) or "other writers"
