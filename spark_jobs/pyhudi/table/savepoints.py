"""What savepoints keep from services, and how readers see a table that goes back to one."""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.errors import MissingFileError
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def saved_instants(active: ActiveTimeline, timeline: Timeline) -> frozenset[str]:
    """The times of the writes that have a savepoint, which has the time of its write."""
    return frozenset(time for time, _ in savepoints(active, timeline))


def saved_files(active: ActiveTimeline, timeline: Timeline) -> frozenset[str]:
    """The paths, relative to the table, of all files that some savepoint names."""
    return frozenset(path for _, kept in savepoints(active, timeline) for path in kept.paths)


def savepoints(
    active: ActiveTimeline, timeline: Timeline
) -> Iterator[tuple[str, SavepointMetadata]]:
    """The completed savepoints with their instants, the oldest first.

    One that was deleted since the timeline was read is left out.
    """
    for instant in timeline.completed():
        if instant.action is not Action.SAVEPOINT:
            continue
        try:
            yield instant.time, active.read_savepoint(instant)
        except MissingFileError:
            continue


def pending_restores(timeline: Timeline) -> tuple[Instant, ...]:
    """The restores that were begun and have not ended."""
    return tuple(found for found in timeline.pending() if found.action is Action.RESTORE)


def as_restored(active: ActiveTimeline, timeline: Timeline) -> Timeline:
    """The timeline without what a pending restore is undoing.

    The restore takes one instant after another away, and with each its files. Readers go to the
    savepoint at once: what was completed after it counts as pending.
    """
    seen = timeline
    for restore in pending_restores(timeline):
        try:
            savepoint = active.read_restore_plan(restore).savepoint
        except MissingFileError:
            continue
        if savepoint is not None:
            seen = without_later(seen, savepoint)
    return seen


def without_later(timeline: Timeline, savepoint: str) -> Timeline:
    """The timeline on which the writes count as pending that a restore to a savepoint undoes."""
    later = timeline.after(savepoint)
    return Timeline(tuple(_as_pending(each) if each in later else each for each in timeline))


def _as_pending(instant: Instant) -> Instant:
    is_write = instant.is_completed and instant.action.writes_rows
    return instant.in_state(State.INFLIGHT) if is_write else instant
