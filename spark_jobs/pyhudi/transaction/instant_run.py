"""One instant from requested to completed, whatever its action.

::

    begin ── requested ── inflight ── data files ──▶ complete (the commit point) ── markers gone
      │          └───────────┴────────────┴── any failure: undo, the table is as it was
      └─ another writer in the way: ConflictError

Before the commit point anything may be abandoned; after it nothing is undone, but for an instant
that another writer takes for dead and has begun to undo.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyhudi.config.table import TableType
from pyhudi.errors import (
    AlreadyExistsError,
    ConflictError,
    CorruptTableError,
    HudiError,
    MissingFileError,
    StorageError,
)
from pyhudi.timeline.active import ActiveTimeline, Metadata
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Alone, Exclusion, Writer, undone_by_another
from pyhudi.transaction.heartbeat import (
    Heartbeat,
    delete_heartbeat,
    give_heartbeat_up,
    start_heartbeat,
)
from pyhudi.transaction.markers import delete_markers, delete_strays, delete_written, read_markers

_DRAWS = 100
_log = logging.getLogger(__name__)


class InstantRun:
    """One run of an instant as a context: entering begins it, ``complete`` commits it.

    Without ``planned`` a new instant is requested with ``plan``, which is None where the action has
    none; ``planned`` is the time of one that is on the timeline. ``instant`` is that of either.

    Leaving without ``complete`` undoes what was begun; when even that fails the instant stays
    pending, without a heartbeat, and is undone by whoever finds it.

    Guarantees: who comes in whom ``exclusion`` keeps out gets ConflictError and leaves nothing
        behind. Instant times rise across writers.
    """

    def __init__(
        self,
        writer: Writer,
        action: Action,
        plan: Metadata | None = None,
        *,
        planned: str | None = None,
        exclusion: Exclusion | None = None,
    ) -> None:
        self._writer, self._action, self._plan = writer, action, plan
        self._is_new = planned is None
        self._exclusion = exclusion or Alone()
        self._is_begun = self._is_complete = False
        self.is_started = False
        self.instant = planned or ""

    def __enter__(self) -> InstantRun:
        writer = self._writer
        with ExitStack() as held:
            if self._is_new:
                self.instant = draw_instant(writer.active, writer.clock, self._request)
                self._keep_heartbeat(held)
                held.callback(self._step_back_unless_begun)
            self._exclusion.begin(writer, self._pending)
            if self._is_new:
                self._is_begun = True
            else:
                self._keep_heartbeat(held)
            self._held = held.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._held:
            # A planned instant is as it was until it starts.
            if self._is_begun and not self._is_complete:
                self._undo()

    def start(self, plan: Metadata | None) -> None:
        """Make the instant inflight, with what it is about to do if that is known."""
        self.is_started = True
        self._writer.active.start(self._pending, plan)
        # Only now: where another run has started the plan, what could be undone is that one's.
        self._is_begun = True

    def complete(self, metadata: Metadata | None, files: frozenset[str]) -> Instant:
        """Commit: the files at these paths become the table's, all others of the run go.

        Gives the completed instant.

        Raises:
            ConflictError: the instant was rolled back by another writer meanwhile.
        """
        writer, instant = self._writer, self._pending
        marked = read_markers(writer.storage, self.instant)
        self._exclusion.check_marked(writer, instant, marked)
        delete_strays(writer.storage, self.instant, marked, files)
        self._exclusion.check_held(writer, instant, files)
        completed = complete_instant(writer.active, instant, metadata, writer.clock)
        _check_kept(writer, completed, instant, files)
        self._is_complete = True
        try:
            delete_markers(writer.storage, self.instant)
        except HudiError as failure:
            _log.warning("the markers of %s stay behind: %s", self.instant, failure)
        return completed

    def withdraw(self) -> None:
        """End the instant without a trace: nothing was written, and nothing is to be."""
        for state in (State.INFLIGHT, State.REQUESTED):
            self._writer.active.remove(self._pending.in_state(state))
        delete_markers(self._writer.storage, self.instant)
        self._is_complete = True

    @property
    def _pending(self) -> Instant:
        return Instant(time=self.instant, action=self._action, state=State.REQUESTED)

    def _keep_heartbeat(self, held: ExitStack) -> None:
        self._heartbeat = Heartbeat(self._writer.storage, self.instant, self._writer.heartbeat)
        held.enter_context(self._heartbeat)

    def _request(self, time: str) -> bool:
        """Request the instant at a time; False when another writer has it."""
        storage, self.instant = self._writer.storage, time
        # The heartbeat comes first: an instant without one counts as dead.
        if not start_heartbeat(storage, time):
            return False
        try:
            self._writer.active.request(self._pending, self._plan)
        except AlreadyExistsError:
            give_heartbeat_up(storage, time)
            return False
        except StorageError:
            self._step_back_unless_begun()
            give_heartbeat_up(storage, time)
            raise
        return True

    def _step_back_unless_begun(self) -> None:
        if self._is_begun:
            return
        try:
            self._writer.active.remove(self._pending)
        except StorageError as failure:
            _log.warning("instant %s is left for the next writer: %s", self.instant, failure)

    def _undo(self) -> None:
        writer, instant = self._writer, self._pending
        try:
            self._exclusion.check_marked(writer, instant, ())
            writer.undo(instant)
        except HudiError as failure:
            what = f"{self._action.value} {self.instant}"
            _log.warning("%s is left to be rolled back later: %s", what, failure)


def complete_instant(
    active: ActiveTimeline, instant: Instant, metadata: Metadata | None, clock: Clock
) -> Instant:
    """Complete an instant whose files are final: it appears, and with it what was done.

    Raises:
        StorageError: it did not appear.
    """
    # Whatever must know of the files before readers see them, as a metadata table must, is written
    # here: they are reconciled, and nobody else has begun.
    return active.complete(instant, metadata, clock)  # the commit point


def _check_kept(
    writer: Writer, completed: Instant, requested: Instant, files: frozenset[str]
) -> None:
    """Take an instant back at once that was taken for dead since the last look.

    Whoever undoes it has planned that before it deletes a file, and takes the request away last.
    """
    try:
        if not _is_undone(writer.active, requested):
            return
    except StorageError as failure:
        _log.warning("nobody knows whether %s was taken for dead: %s", completed.time, failure)
        return
    writer.active.remove(completed)
    delete_written(writer.storage, completed.time, files)
    raise undone_by_another(writer, completed.time)


def _is_undone(active: ActiveTimeline, requested: Instant) -> bool:
    """Whether another writer has undone an instant, or is about to."""
    states = [file.instant for file in active.state_files()]
    pending = Timeline.of(states).pending()
    for rollback in (found for found in pending if found.action is Action.ROLLBACK):
        try:
            target = active.read_rollback_plan(rollback).instant
        except MissingFileError:  # it has ended since
            return not active.is_requested(requested)
        except CorruptTableError:  # it died before it had deleted anything, and is planned anew
            continue
        if target.time == requested.time:
            return True
    return requested not in states


def draw_instant(active: ActiveTimeline, clock: Clock, take: Callable[[str], bool]) -> str:
    """A new instant time; ``take`` requests it, and says False when another writer has it.

    Raises:
        ConflictError: others are always first.
    Guarantees: later than every time on the timeline.
    """
    drawn = ""
    for _ in range(_DRAWS):
        latest = active.load().latest_time or ""
        drawn = active.next_time(clock, max(latest, drawn) or None)
        if take(drawn):
            return drawn
    raise ConflictError(
        f"no free instant time after {_DRAWS} tries; other writers are very busy, retry",
        where=active.storage.uri,
    )


@contextmanager
def nobody_writing(writer: Writer) -> Iterator[str]:
    """A span in which no other writer can begin: an instant, given here, is withdrawn at its end.

    Raises:
        ConflictError: another writer is at work.
    """
    is_delta = writer.table.config.table_type is TableType.MERGE_ON_READ
    # Hudi undoes a dead one by the action that writes of the table have, and sees no other.
    action = Action.DELTA_COMMIT if is_delta else Action.COMMIT
    with InstantRun(writer, action) as lock:
        try:
            yield lock.instant
        finally:
            lock.withdraw()


def take_heartbeat(writer: Writer, instant: Instant) -> None:
    """Start the heartbeat of a planned instant, or take it from a run that died.

    Raises:
        ConflictError: another job runs it.
    """
    storage = writer.storage
    busy = ConflictError(
        f"another job runs {instant.action.value} {instant.time}; retry when it has ended",
        where=storage.uri,
    )
    if start_heartbeat(storage, instant.time):
        return
    if writer.is_alive(instant.time):
        raise busy
    # Of several that find it dead only one may take it, so nobody else may be here.
    with nobody_writing(writer):
        if writer.is_alive(instant.time):
            raise busy
        delete_heartbeat(storage, instant.time)
        if not start_heartbeat(storage, instant.time):
            raise busy
