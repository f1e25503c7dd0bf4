"""File groups that a pending clustering has claimed."""

from __future__ import annotations

from pyhudi.actions.clustering import planned_file_groups
from pyhudi.config.versions import TableVersion
from pyhudi.errors import MissingFileError
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def clustered_by(
    storage: Storage, version: TableVersion, instant: Instant
) -> frozenset[tuple[str, str]] | None:
    """(partition path, file id) a pending instant is about to cluster; None for any other write."""
    if instant.action not in (Action.REPLACE_COMMIT, Action.CLUSTERING):
        return None
    requested = Instant(time=instant.time, action=instant.action, state=State.REQUESTED)
    try:
        return planned_file_groups(active.read_state(storage, version, requested))
    except MissingFileError:
        return None


def pending_clustering_groups(
    storage: Storage, version: TableVersion, timeline: Timeline
) -> frozenset[tuple[str, str]]:
    """Every file group under a pending clustering: to be left as it is until that has ended.

    Source: SparkRejectUpdateStrategy and UpsertPartitioner.filterSmallFilesInClustering, Hudi 0.15.
    """
    found: set[tuple[str, str]] = set()
    for instant in timeline.pending():
        found |= clustered_by(storage, version, instant) or set()
    return frozenset(found)
