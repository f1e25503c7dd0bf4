"""What a completed instant says of itself, as far as anybody waits for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi.actions.commit import ReplaceCommitMetadata

_REARRANGED = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX"})
"""Operations that put rows elsewhere and change none (WriteOperationType, Hudi 0.15)."""

_STAMP = "airflow."


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """One completed write: what it touched, who made it and how much it was.

    ``partitions`` are sorted, those among them whose files it replaced too. ``stamp`` has the
    entries of the task that made it, under their names in the commit. ``completed`` is when it
    ended, where the timeline tells that: in table versions 8 and 9.
    """

    instant: str
    action: str
    operation: str
    partitions: tuple[str, ...]
    stamp: Mapping[str, str]
    records: Mapping[str, int]
    bytes_written: int
    completed: str | None = None

    @property
    def ended(self) -> str:
        """When it was completed; when it was requested where that is all that is told."""
        return self.completed or self.instant

    @property
    def changes_rows(self) -> bool:
        """Whether readers may see other rows after it than before."""
        return self.operation not in _REARRANGED


def facts_of(
    instant: str, action: str, metadata: ReplaceCommitMetadata, completed: str | None = None
) -> CommitFacts:
    """The facts in what a completed instant's file says."""
    # A DAG that is parsed needs none of it.
    from pyhudi.actions.commit import count_records

    commit = metadata.commit
    stats = tuple(commit.write_stats)
    touched = {*commit.partition_to_write_stats, *metadata.partition_to_replaced_file_ids}
    counted = count_records(stats)
    return CommitFacts(
        instant=instant,
        action=action,
        operation=commit.operation_type.upper(),
        partitions=tuple(sorted(touched)),
        stamp={
            name: value
            for name, value in commit.extra_metadata.items()
            if value is not None and name.startswith(_STAMP)
        },
        records={name: counted[name] for name in ("inserted", "updated", "deleted")},
        bytes_written=sum(stat.total_write_bytes for stat in stats),
        completed=completed,
    )
