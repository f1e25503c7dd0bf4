"""Whether two changes can both be made, and what to say of those that cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pyhudi.actions.file_group import GroupId
from pyhudi.config.options.concurrency import ConcurrencyConfig, ConflictStrategy, ConflictUnit
from pyhudi.filegroup.names import hash_bucket_of
from pyhudi.timeline.instant import Instant
from pyhudi.transaction.conflicts.change import Change

_SHOWN = 5
_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another instant that what a write did cannot stand beside.

    ``what`` is what the other did, as the end of a sentence. ``groups`` and ``partitions`` are
    those that both touch; both are empty where it is the table as a whole.
    """

    other: Instant
    what: str
    operation: str = "UNKNOWN"
    run: str | None = None
    groups: tuple[GroupId, ...] = ()
    partitions: tuple[str, ...] = ()

    @classmethod
    def with_change(
        cls,
        other: Change,
        what: str,
        groups: Collection[GroupId] = (),
        partitions: Collection[str] = (),
    ) -> Conflict:
        """The conflict with a change of which it is known who made it."""
        return cls(
            other=other.instant,
            what=what,
            operation=other.operation,
            run=other.run,
            groups=tuple(sorted(groups)),
            partitions=tuple(sorted(partitions or {partition for partition, _ in groups})),
        )

    def __str__(self) -> str:
        who = f"{self.other.action.value} {self.other.time}"
        if self.operation != "UNKNOWN":
            who = f"{who} ({self.operation}{f' by {self.run}' if self.run else ''})"
        elif self.run:
            who = f"{who} (by {self.run})"
        return f"{who} {self.what}{self._places()}"

    def _places(self) -> str:
        names = [f"{partition}/{file_id}".lstrip("/") for partition, file_id in self.groups]
        kind = "file group"
        if not names:
            names, kind = [repr(partition) for partition in self.partitions], "partition"
        if not names:
            return ""
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        plural = "s" if len(names) > 1 else ""
        return f": {kind}{plural} {', '.join(names[:_SHOWN])}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRules:
    """What counts as the same place: file groups, buckets of their hash, or whole partitions."""

    by_bucket: bool = False
    by_partition: bool = False

    @classmethod
    def of(cls, config: ConcurrencyConfig) -> ConflictRules:
        """The rules that options ask for.

        A writer that is to be preferred to services follows those of any other: a compaction here
        keeps out of its way, and cannot be told to give way once it is planned.
        """
        return cls(
            by_bucket=config.strategy is ConflictStrategy.BUCKET,
            by_partition=config.unit is ConflictUnit.PARTITION,
        )

    def between(self, own: Change, other: Change) -> Conflict | None:
        """The conflict of one's own change with one that is completed, or None.

        Overwrites and whatever else changes their partitions are in each other's way, also where
        the file groups are new. A compaction that was completed is in the way of log files that
        were written below it, and of nothing that hides its file groups.

        Source: SimpleConcurrentFileWritesConflictResolutionStrategy and BucketIndexConcurrentFile
            WritesConflictResolutionStrategy, Hudi 0.15 to 1.2, which look at file groups alone and
            let a log compaction pass beside writes of its slices.
        """
        if own.request and own.request == other.request:
            return Conflict.with_change(other, "is another try of this write")
        if own.moves_no_row or other.moves_no_row:
            shared = self._shared(own.written, other.written)
            return _of(other, "rewrote what this write changes", groups=shared)
        if own.empties_all or other.empties_all:
            touched = other.partitions if own.empties_all else own.partitions
            if touched:
                return _of(other, "changed what one of the two replaces", partitions=touched)
        shared = self._shared(own.groups, other.groups)
        if shared:
            return _of(other, "changed what this write changes", groups=shared)
        emptied = (own.emptied & other.partitions) | (other.emptied & own.partitions)
        if emptied:
            return _of(other, "changed what one of the two replaces", partitions=emptied)
        same = own.partitions & other.partitions if self.by_partition else frozenset[str]()
        return _of(other, "changed a partition that this write changes", partitions=same)

    def with_plan(self, own: Change, plan: Change) -> Conflict | None:
        """The conflict with a service that is about to rewrite the file groups of its plan."""
        mine = own.written if plan.moves_no_row else own.groups
        what = "was planned meanwhile, and rewrites what this write changes"
        return _of(plan, what, groups=self._shared(mine, plan.written))

    def _shared(self, own: Collection[GroupId], others: Collection[GroupId]) -> frozenset[GroupId]:
        if not self.by_bucket:
            return frozenset(own) & frozenset(others)
        buckets = {(path, _bucket(file_id)) for path, file_id in others}
        return frozenset(each for each in own if (each[0], _bucket(each[1])) in buckets)


def _bucket(file_id: str) -> str:
    """The first eight characters: two new file groups of one bucket are one place."""
    bucket = hash_bucket_of(file_id)
    return file_id if bucket is None else file_id[:8]


def _of(
    other: Change,
    what: str,
    *,
    groups: Collection[GroupId] = (),
    partitions: Collection[str] = (),
) -> Conflict | None:
    return Conflict.with_change(other, what, groups, partitions) if groups or partitions else None


def told(found: Iterable[Conflict]) -> str:
    """What is in the way, each instant once, by the first that was found of it."""
    by_instant = dict[tuple[str, str], Conflict]()
    for each in found:
        by_instant.setdefault(each.other.identity, each)
    names = [str(each) for each in by_instant.values()]
    more = [f"{len(names) - _TOLD} other instants too"] if len(names) > _TOLD else []
    return "; ".join((*names[:_TOLD], *more))
