"""What a write keeps of its files when others have changed some of the table meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import GroupId
from pyhudi.write.plan.buckets import BucketPlan, WriteBucket


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesWritten:
    """The files that a write has written so far.

    ``updated`` are the file groups to which it gave nothing but rows whose keys were in them:
    whoever looks these keys up again, in the same file group, finds the same rows. ``buckets``
    counts those of all plans, by which rows and files are numbered.
    """

    stats: tuple[WriteStat, ...] = ()
    updated: frozenset[GroupId] = frozenset()
    buckets: int = 0

    def beside(self, groups: Collection[GroupId], partitions: Collection[str]) -> FilesWritten:
        """Those that are as they would be if they were written now, as far as can be told.

        Others have changed these file groups, in these partitions. In a partition that they have
        left alone every key is where it was; in others a row that was new may not be so any more.
        """
        return FilesWritten(
            stats=tuple(
                stat
                for stat in self.stats
                if (stat.partition_path or "") not in partitions
                or (group_of(stat) in self.updated and group_of(stat) not in groups)
            ),
            updated=self.updated,
            buckets=self.buckets,
        )

    def fits(self, plan: BucketPlan, partitions: Collection[str]) -> FilesWritten:
        """Those that a plan would write again: it gives their file groups the same rows.

        ``partitions`` are those that others have changed.
        """
        updated = {_group(bucket) for bucket in plan.buckets if not bucket.inserts}
        return FilesWritten(
            stats=tuple(
                stat
                for stat in self.stats
                if (stat.partition_path or "") not in partitions or group_of(stat) in updated
            ),
            updated=self.updated,
            buckets=self.buckets,
        )

    def not_to_write(self, plan: BucketPlan, partitions: Collection[str]) -> frozenset[int]:
        """The numbers of the buckets of a plan whose files are these."""
        kept = {group_of(stat) for stat in self.stats}
        return frozenset(
            bucket.number
            for bucket in plan.buckets
            if bucket.partition not in partitions or _group(bucket) in kept
        )

    def and_then(self, stats: tuple[WriteStat, ...], plan: BucketPlan) -> FilesWritten:
        """Those with what a plan has made of the rest."""
        updated = {_group(bucket) for bucket in plan.buckets if not bucket.inserts}
        return FilesWritten(
            stats=(*self.stats, *stats),
            updated=self.updated | updated,
            buckets=self.buckets + len(plan.buckets),
        )


def group_of(stat: WriteStat) -> GroupId:
    """The file group of a file that was written."""
    return stat.partition_path or "", stat.file_id or ""


def _group(bucket: WriteBucket) -> GroupId:
    return bucket.partition, bucket.file_id
