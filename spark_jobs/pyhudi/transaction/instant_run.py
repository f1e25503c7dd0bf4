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
from collections.abc import Callable, Collection
from contextlib import ExitStack

from pyhudi.actions.file_group import GroupId
from pyhudi.errors import (
    AlreadyExistsError,
    ConflictError,
    HudiError,
    LostLockError,
    RolledBackError,
    StorageError,
    WriteConflictError,
    WriterAtWorkError,
)
from pyhudi.timeline.active import ActiveTimeline, Metadata
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction import markers
from pyhudi.transaction.exclusion import Alone, Exclusion, Writer, undone_by_another
from pyhudi.transaction.heartbeat import Heartbeat, give_heartbeat_up, start_heartbeat
from pyhudi.transaction.optimistic.exclusion import Shared
from pyhudi.transaction.undone import check_kept, is_undone

_DRAWS = 100
_LOCKS = 5
_log = logging.getLogger(__name__)


class InstantRun:
    """One run of an instant as a context: entering begins it, ``complete`` commits it.

    Without ``planned`` a new instant is requested with ``plan``, which is None where the action has
    none; ``planned`` is the time of one that is on the timeline, and ``at`` one that a new instant
    has to have. ``instant`` is that of either.

    ``completed_at`` is when its completed file was written, where that was seen.

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
        at: str | None = None,
        exclusion: Exclusion | None = None,
    ) -> None:
        self._writer, self._action, self._plan, self._at = writer, action, plan, at
        self._is_new = planned is None
        self._exclusion = exclusion or Alone()
        self._is_begun = self._is_complete = False
        self._started_ms = 0
        self.is_started = False
        self.instant = planned or ""
        self.anomaly: str | None = None
        self.completed_at: str | None = None
        self._beside: WriteConflictError | None = None
        self._known = frozenset[Instant]()
        self._undone_before: Collection[Instant] | None = None

    def __enter__(self) -> InstantRun:
        writer = self._writer
        with ExitStack() as held:
            with writer.gate.hold():
                if self._is_new:
                    self.instant = self._drawn()
                    self._keep_heartbeat(held)
                    held.callback(self._step_back_unless_begun)
                self._started_ms = self._started_ms or writer.clock.monotonic_ms()
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

    def _drawn(self) -> str:
        if self._at is None:
            writer = self._writer
            return draw_instant(writer.active, writer.clock, self._request, writer.latest)
        if not self._request(self._at):
            raise WriterAtWorkError(
                f"another writer has requested the instant {self._at}; retry when it has ended",
                where=self._writer.storage.uri,
            )
        return self._at

    def start(
        self, plan: Metadata | None, undone_before: Collection[Instant] | None = None
    ) -> None:
        """Make the instant inflight, with what it is about to do if that is known.

        ``undone_before`` are the rollbacks of earlier runs, where a plan stays when it is undone.

        Raises:
            RolledBackError: another writer took this one for dead, and has undone it.
            ConflictError: another run of the same plan has begun since this one looked.
        """
        self._check_not_undone()
        self.is_started, self._undone_before = True, undone_before
        try:
            self._writer.active.start(self._pending, plan)
        except AlreadyExistsError as error:
            raise ConflictError(
                f"another run of {self._action.value} {self.instant} has just begun; retry when it "
                "has ended",
                where=self._writer.storage.uri,
            ) from error
        # Only now: where another run has started the plan, what could be undone is that one's.
        self._is_begun = True

    def complete(self, metadata: Metadata | None, files: frozenset[str]) -> Instant:
        """Commit: the files at these paths become the table's, all others of the run go.

        Gives the completed instant. ``anomaly`` says from then on what of others was committed
        beside it and should not have been, if anything that could not be helped any more.

        Raises:
            RolledBackError: the instant was rolled back by another writer meanwhile.
            WriteConflictError: others have committed what it cannot stand beside. It is pending
                still, and may be completed with other files.
        """
        writer, instant = self._writer, self._pending
        marked = markers.read_markers(writer.storage, self.instant)
        if not {each.path for each in marked}.issuperset(files):
            # Part of the listing is missing, and with it may be what would count beside these.
            marked = markers.read_markers_twice(writer.storage, self.instant)
        try:
            self._exclusion.check_marked(writer, instant, marked)
        except ConflictError:  # who took it over may have looked before these files came
            markers.delete_written(writer.storage, self.instant, files)
            raise
        markers.delete_strays(writer.storage, self.instant, marked, files)
        if writer.gate.is_shared:
            # Most conflicts are found here, while nobody has to wait for it.
            self._exclusion.agree(writer, instant, metadata)
        completed = self._commit(metadata, files)
        try:
            markers.delete_markers(writer.storage, self.instant, marked)
        except HudiError as failure:
            _log.warning("the markers of %s stay behind: %s", self.instant, failure)
        return completed

    def _commit(self, metadata: Metadata | None, files: frozenset[str]) -> Instant:
        """The last look and the commit point, with the lock held where there is one.

        Whoever loses the lock in between takes it again and looks again, some times.
        """
        for _ in range(_LOCKS - 1):
            try:
                return self._commit_apart(metadata, files)
            except LostLockError as error:  # noqa: PERF203 - it waits for the lock in between
                _log.warning("%s: %s; taking the lock again", self.instant, error)
        return self._commit_apart(metadata, files)

    def _commit_apart(self, metadata: Metadata | None, files: frozenset[str]) -> Instant:
        """The commit, taken back where another slipped in between the last look and it.

        That is how a writer that is suspended at the commit point itself comes back: nothing on a
        store can refuse its last request.
        """
        completed = self._commit_under_lock(metadata, files)
        if self._beside is None:
            return completed
        if self._take_back(completed):
            raise self._beside
        self.anomaly = f"{self._beside}: rows of one of them may be lost"
        _log.error("%s: %s", self._writer.storage.uri, self.anomaly)
        return completed

    def _take_back(self, completed: Instant) -> bool:
        """Make a completed instant pending, under the lock; not if others have gone on from it."""
        writer = self._writer
        try:
            with writer.gate.hold() as lock:
                lock.confirm()
                if _completed(writer.active) != self._known:
                    return False
                writer.active.revert(completed)
        except HudiError as failure:
            if completed in writer.active.load().instants:
                _log.warning("%s stays committed: %s", completed.time, failure)
                return False
        self._is_complete = False
        return True

    def _commit_under_lock(self, metadata: Metadata | None, files: frozenset[str]) -> Instant:
        writer, instant = self._writer, self._pending
        completed = instant
        try:
            with writer.gate.hold() as lock:
                # Alone it waits for its time first, and has the last look right before it ends.
                is_alone = not writer.gate.is_shared
                ended = writer.active.ending(instant, writer.clock) if is_alone else instant
                self._exclusion.check_held(writer, instant, files, self._heartbeat)
                agreed = self._exclusion.agree(writer, instant, metadata)
                ended = ended if is_alone else self._rising_ending()
                self._check_heartbeat()
                lock.confirm()
                completed = complete_instant(writer.active, ended, agreed, writer.clock)
                seen = check_kept(writer, completed, instant, self._heartbeat, self._undone_before)
                self.completed_at = None if seen is None else seen.written(completed)
                self._is_complete = True
                # While the lock is held: whoever has it next has seen this commit.
                self._beside = self._exclusion.overlooked(writer, completed, seen)
                if self._beside is not None:
                    self._known = _completed(writer.active)
        except HudiError as failure:
            if not self._is_complete:
                raise
            _log.warning("%s is committed, its lock not given back: %s", self.instant, failure)
        return completed

    def _rising_ending(self) -> Instant:
        """The instant as it is to be completed beside others.

        Its time is drawn under the lock, and again whenever the lock was lost since.
        """
        writer, skew_ms = self._writer, self._writer.concurrency.clock_skew_ms
        return writer.active.ending(self._pending, writer.clock, skew_ms)

    def _check_heartbeat(self) -> None:
        """Refuse to commit where others may have taken this writer for dead, and act on it."""
        writer = self._writer
        if writer.gate.is_shared and not self._heartbeat.is_fresh:
            raise RolledBackError(
                f"instant {self.instant} has not renewed its heartbeat for "
                f"{writer.heartbeat.expires_ms // 1000} s, after which others roll it back; retry",
                where=writer.storage.uri,
            )

    def look_early(self, groups: frozenset[GroupId]) -> None:
        """Look who else is writing file groups, before files are written to them.

        Raises:
            WriteConflictError: somebody is.
        """
        if isinstance(self._exclusion, Shared):
            self._exclusion.look_early(self._writer, self._pending, groups)

    def check_not_overtaken(self, error: BaseException) -> None:
        """Say of a file that is not there any more that others took it away, if they did.

        Raises:
            WriteConflictError: they did.
        """
        if isinstance(self._exclusion, Shared):
            self._exclusion.check_not_overtaken(self._writer, self._pending, error)

    def _check_not_undone(self) -> None:
        """Refuse to come back: what was archived since would seem not to be committed.

        A timeline begins with its first write, pending or not.
        """
        writer = self._writer
        if not (writer.gate.is_shared and self._is_begun and self._heartbeat.has_lapsed):
            return
        if is_undone(writer.active, self._pending):
            raise undone_by_another(writer, self.instant, self._heartbeat)

    def withdraw(self) -> None:
        """End the instant without a trace: nothing was written, and nothing is to be."""
        for state in (State.INFLIGHT, State.REQUESTED):
            self._writer.active.remove(self._pending.in_state(state))
        markers.delete_markers(self._writer.storage, self.instant)
        self._is_complete = True

    @property
    def _pending(self) -> Instant:
        return Instant(time=self.instant, action=self._action, state=State.REQUESTED)

    def _keep_heartbeat(self, held: ExitStack) -> None:
        writer = self._writer
        self._heartbeat = Heartbeat(
            writer.storage,
            self.instant,
            writer.heartbeat,
            writer.clock,
            started_ms=self._started_ms or None,
        )
        held.enter_context(self._heartbeat)

    def _request(self, time: str) -> bool:
        """Request the instant at a time; False when another writer has it."""
        storage, self.instant = self._writer.storage, time
        self._started_ms = self._writer.clock.monotonic_ms()
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
            with writer.gate.hold():
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


def _completed(active: ActiveTimeline) -> frozenset[Instant]:
    return frozenset(found for found in active.load() if found.is_completed)


def draw_instant(
    active: ActiveTimeline,
    clock: Clock,
    take: Callable[[str], bool],
    latest: str | None = None,
) -> str:
    """A new instant time; ``take`` requests it, and says False when another writer has it.

    ``latest`` is the latest time on the timeline, given by one who has just listed it, and looks
    once more when the time is taken.

    Raises:
        ConflictError: others are always first.
    Guarantees: later than every time on the timeline.
    """
    drawn = ""
    for _ in range(_DRAWS):
        latest = latest or active.load().latest_time or ""
        drawn = active.next_time(clock, max(latest, drawn) or None)
        if take(drawn):
            return drawn
        latest = None
    raise ConflictError(
        f"no free instant time after {_DRAWS} tries; other writers are very busy, retry",
        where=active.storage.uri,
    )
