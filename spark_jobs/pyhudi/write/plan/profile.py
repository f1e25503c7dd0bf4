"""How many rows of a batch go where, before any file is chosen for an insert."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProfile:
    """Row counts of one batch.

    ``inserts`` counts per partition path the rows whose key lives nowhere; ``updates`` counts per
    (partition path, file id) the rows whose key lives in that file group. To the partitions in
    ``possible`` more rows of new keys may come than were counted.
    """

    inserts: Mapping[str, int]
    updates: Mapping[GroupId, int]
    possible: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        return not self.has_inserts and not self.updates

    @property
    def has_inserts(self) -> bool:
        """Whether rows of new keys come, or may."""
        return any(self.inserts.values()) or bool(self.possible)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Every partition path touched, sorted."""
        return tuple(sorted({*self.inserts, *(partition for partition, _ in self.updates)}))


def planned_stats(
    profile: WorkloadProfile, previous: Mapping[GroupId, str]
) -> Iterator[tuple[str, WriteStat]]:
    """What the inflight file says: per partition its inserts, and its updates by file group.

    ``previous`` has the instant of the base file of each file group with updates.

    Source: BaseCommitActionExecutor.saveWorkloadProfileMetadataToInflight, Hudi 0.15.
    """
    for partition in profile.partitions:
        inserts = profile.inserts.get(partition, 0)
        yield partition, _untimed(WriteStat(file_id="", num_inserts=inserts))
        for (where, file_id), updates in sorted(profile.updates.items()):
            if where == partition:
                stat = WriteStat(
                    file_id=file_id,
                    prev_commit=previous[partition, file_id],
                    num_update_writes=updates,
                )
                yield partition, _untimed(stat)


def _untimed(stat: WriteStat) -> WriteStat:
    return replace(stat, total_scan_time=None, total_upsert_time=None, total_create_time=None)
