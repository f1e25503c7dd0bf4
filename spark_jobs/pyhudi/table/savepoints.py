"""What savepoints keep: instants and files that no service may take away."""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.errors import MissingFileError
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action
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
