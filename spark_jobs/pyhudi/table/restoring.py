"""A table that is being taken back to a savepoint, as readers are to see it."""

from __future__ import annotations

from pyhudi.errors import MissingFileError
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


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
            seen = Timeline(tuple(_as_pending(each, savepoint) for each in seen))
    return seen


def _as_pending(instant: Instant, savepoint: str) -> Instant:
    if instant.is_completed and instant.action.writes_rows and instant.time > savepoint:
        return instant.in_state(State.INFLIGHT)
    return instant
