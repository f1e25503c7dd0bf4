"""One instant of a write, from requested to completed.

::

    begin ── requested ── inflight ── data files ──▶ complete (the commit point) ── markers gone
      │          └───────────┴────────────┴── any failure: undo, the table is as it was
      └─ another live writer: ConflictError

Before the commit point anything may be abandoned; after it nothing is undone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from pyhudi.config.table import TableConfig
from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import AlreadyExistsError, ConflictError, HudiError, StorageError
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active, layout
from pyhudi.timeline.clock import Clock, next_instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.completion import delete_markers_after_commit, land
from pyhudi.transaction.heartbeat import Heartbeat, is_alive, sign, unsign
from pyhudi.transaction.markers import delete_markers, delete_strays

_DRAWS = 100
_RIVAL_WAITS_S = (0.05, 0.1, 0.2, 0.4)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """What a transaction needs of its surroundings.

    ``undo`` rolls back an instant of this writer that failed.
    """

    storage: Storage
    config: TableConfig
    clock: Clock
    heartbeat: HeartbeatConfig
    undo: Callable[[str], None]


class Transaction:
    """One write instant as a context: entering requests it, ``complete`` commits it.

    ``requested`` is what the requested file says, which is nothing for a commit.

    Leaving without ``complete`` undoes the instant; when even that fails the instant stays
    pending, without a heartbeat, and the next writer rolls it back.

    Guarantees: of writers that begin at once at most one goes on, the others get ConflictError
        and leave nothing behind. Instant times rise across writers.
    """

    def __init__(self, writer: Writer, action: Action, requested: bytes = b"") -> None:
        self._writer, self._action, self._requested = writer, action, requested
        self._is_complete = False
        self.is_started = False
        self.instant = ""

    def __enter__(self) -> Transaction:
        writer = self._writer
        self._request()
        self._heartbeat = Heartbeat(writer.storage, self.instant, writer.heartbeat)
        self._heartbeat.__enter__()
        try:
            self._yield_to_rivals()
        except BaseException:
            try:
                self._step_back()
            finally:
                self._heartbeat.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if not self._is_complete:
                self._undo()
        finally:
            self._heartbeat.__exit__(None, None, None)

    def start(self, plan: bytes) -> None:
        """Make the instant inflight, with what the write is about to do."""
        writer = self._writer
        self.is_started = True
        active.write_state(
            writer.storage, writer.config.version, self._pending(State.INFLIGHT), plan
        )

    def complete(self, metadata: bytes, committed: frozenset[str]) -> None:
        """Commit: the files in ``committed`` become the table's, all others of the write go.

        Raises:
            ConflictError: the instant was rolled back by another writer meanwhile.
        """
        writer = self._writer
        delete_strays(writer.storage, self.instant, committed)
        self._check_still_ours()
        done = self._pending(State.COMPLETED)
        land(writer.storage, writer.config.version, done, metadata)  # the commit point
        self._is_complete = True
        delete_markers_after_commit(writer.storage, self.instant)

    def withdraw(self) -> None:
        """End the instant without a trace: nothing was written, and nothing is to be."""
        writer = self._writer
        for state in (State.INFLIGHT, State.REQUESTED):
            active.remove(writer.storage, writer.config.version, self._pending(state))
        delete_markers(writer.storage, self.instant)
        self._is_complete = True

    def _pending(self, state: State) -> Instant:
        return Instant(time=self.instant, action=self._action, state=state)

    def _request(self) -> None:
        writer = self._writer
        for _ in range(_DRAWS):
            latest = active.load(writer.storage, writer.config.version).latest_time or ""
            after = max(latest, self.instant) or None
            self.instant = next_instant_time(writer.clock, writer.config.timezone, after)
            if self._claim():
                return
        raise ConflictError(
            f"no free instant time after {_DRAWS} tries; other writers are very busy, retry",
            where=writer.storage.uri,
        )

    def _claim(self) -> bool:
        """Request the instant; False when another writer has it."""
        writer = self._writer
        # Signed before it is requested: an instant without a heartbeat counts as dead.
        if not sign(writer.storage, self.instant):
            return False
        requested = self._pending(State.REQUESTED)
        try:
            active.write_state(writer.storage, writer.config.version, requested, self._requested)
        except AlreadyExistsError:
            unsign(writer.storage, self.instant)
            return False
        except StorageError:
            self._step_back()
            unsign(writer.storage, self.instant)
            raise
        return True

    def _step_back(self) -> None:
        writer = self._writer
        try:
            active.remove(writer.storage, writer.config.version, self._pending(State.REQUESTED))
        except StorageError as failure:
            _log.warning("instant %s is left for the next writer: %s", self.instant, failure)

    def _yield_to_rivals(self) -> None:
        """Step back when another live writer is pending.

        Two writers that begin at once see each other, since each looks after it has signed. The
        later instant steps back at once, the earlier one only when the later does not.
        """
        for wait_s in (*_RIVAL_WAITS_S, 0.0):
            rivals = self._live_rivals()
            if not rivals:
                return
            if min(rivals) < self.instant or wait_s == 0.0:
                raise ConflictError(
                    f"another writer is at work (instant {min(rivals)}); retry when it has ended",
                    where=self._writer.storage.uri,
                )
            time.sleep(wait_s)

    def _live_rivals(self) -> list[str]:
        return [time for time in live_writers(self._writer) if time != self.instant]

    def _check_still_ours(self) -> None:
        writer = self._writer
        name = layout.path(self._pending(State.REQUESTED), writer.config.version)
        if not writer.storage.exists(name):
            raise ConflictError(
                f"instant {self.instant} was rolled back by another writer; retry",
                where=writer.storage.uri,
            )

    def _undo(self) -> None:
        try:
            self._writer.undo(self.instant)
        except HudiError as failure:
            _log.warning(
                "instant %s is left for the next writer to roll back: %s", self.instant, failure
            )


def live_writers(writer: Writer) -> list[str]:
    """The instants of pending writes whose heartbeat is fresh."""
    timeline = active.load(writer.storage, writer.config.version)
    now_ms = writer.clock.now_ms()
    return [
        instant.time
        for instant in timeline.pending_writes()
        if is_alive(writer.storage, instant.time, now_ms=now_ms, config=writer.heartbeat)
    ]
