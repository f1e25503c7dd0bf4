"""Whose changes have to be looked at before a write commits."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The timeline that a write started from, taken after it was requested; ``own`` is its time."""

    own: str
    timeline: Timeline

    @property
    def completed(self) -> frozenset[tuple[str, str]]:
        """The writes that were completed, whose files the write has seen."""
        writes = self.timeline.write_instants().completed()
        return frozenset(found.identity for found in writes)

    @property
    def planned(self) -> frozenset[str]:
        """The compactions that were planned, on top of whose slices log files are written."""
        pending = self.timeline.pending()
        return frozenset(found.time for found in pending if found.action is Action.COMPACTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Those whose changes are to be compared with one's own.

    ``completed`` have been completed since the snapshot. ``planned`` are compactions and
    clusterings that are not done, ``overwriting`` are overwrites that are at work. ``gone`` were
    completed in the snapshot, and somebody has taken them back; ``restores`` do so with all there
    is. ``unplanned`` are the times of compactions whose plans were taken back.
    """

    completed: tuple[Instant, ...] = ()
    planned: tuple[Instant, ...] = ()
    overwriting: tuple[Instant, ...] = ()
    gone: tuple[Instant, ...] = ()
    restores: tuple[Instant, ...] = ()
    unplanned: frozenset[str] = frozenset()


def candidates(snapshot: Snapshot, now: Timeline) -> Candidates:
    """Whose changes matter to a write that began at a snapshot and commits by this timeline.

    Every write that was completed since the snapshot is among them whatever its time, which takes
    in all that Hudi looks at: those later than the last completed one, and those that were pending.
    A compaction whose plan was in the snapshot is not: log files were written on top of it. One
    that was planned since is, whatever its time. A plan of a log compaction binds nobody.

    Source: TransactionUtils.resolveWriteConflictIfAny, SimpleConcurrentFileWritesConflict
        ResolutionStrategy.getCandidateInstants, Hudi 0.15 to 1.2, of which the pending part is that
        of 1.1: clusterings of any time and others that are later; hole 4 is theirs.
    """
    before, own = snapshot.completed, snapshot.own
    others = tuple(found for found in now if found.time != own)
    completed = tuple(
        found
        for found in others
        if found.is_completed
        and found.action.writes_rows
        and found.identity not in before
        and not (found.action is Action.COMMIT and found.time in snapshot.planned)
    )
    pending = tuple(found for found in others if not found.is_completed)
    planned = tuple(
        found
        for found in pending
        if (found.action is Action.COMPACTION and found.time not in snapshot.planned)
        or found.action in (Action.CLUSTERING, Action.REPLACE_COMMIT)
    )
    return Candidates(
        completed=completed,
        planned=planned,
        overwriting=tuple(
            found for found in pending if found.action is Action.REPLACE_COMMIT and found.time > own
        ),
        gone=_gone(snapshot, now),
        restores=_restores(snapshot, now),
        unplanned=frozenset(
            time for time in snapshot.planned if not now.contains(time) and time >= now.start
        ),
    )


def _gone(snapshot: Snapshot, now: Timeline) -> tuple[Instant, ...]:
    """The writes that the snapshot counts on and that count no more; archived ones do still."""
    left = frozenset(found.identity for found in now.write_instants() if found.is_completed)
    return tuple(
        found
        for found in snapshot.timeline.write_instants().completed()
        if found.identity not in left and found.time >= now.start
    )


def _restores(snapshot: Snapshot, now: Timeline) -> tuple[Instant, ...]:
    before = frozenset(found.identity for found in snapshot.timeline)
    return tuple(
        found
        for found in now
        if found.action is Action.RESTORE
        and (found.identity not in before or not found.is_completed)
    )
