"""Which file group every row goes to in a table whose keys are hashed to file groups. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyhudi.config.options.index import INDEX_TYPE, NUM_BUCKETS
from pyhudi.errors import TableMismatchError
from pyhudi.filegroup.names import hash_bucket_of
from pyhudi.filegroup.slices import AppendTarget, FileSlice, GroupId
from pyhudi.write.plan.buckets import NO_LOGS, BucketPlan, InsertShares, WriteBucket
from pyhudi.write.plan.profile import WorkloadProfile

NOWHERE = -1
"""Where rows go whose hash bucket has no file group and opens none."""

HashCounts: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
"""Rows by partition path and hash bucket."""

HashGroups: TypeAlias = Mapping[str, Mapping[int, FileSlice]]
"""The newest slice of the file group of each hash bucket that has one, by partition path."""


def hash_groups(slices: Iterable[FileSlice], num_buckets: int) -> HashGroups:
    """The file groups of a table with the BUCKET index, by partition path and hash bucket.

    Raises:
        TableMismatchError: file groups that no such index made, or one of more buckets.
    Source: HoodieBucketIndex and HoodieSimpleBucketIndex.loadBucketIdToFileIdMapping, Hudi 0.15 and
        1.1.
    """
    found: dict[str, dict[int, FileSlice]] = {}
    for file in slices:
        bucket = hash_bucket_of(file.file_id)
        if bucket is None or bucket >= num_buckets:
            raise TableMismatchError(
                f"the file group {file.file_id} in {file.partition!r} is none of {num_buckets} "
                "buckets; write with the index and the number of buckets that the table was begun "
                f"with ({INDEX_TYPE.key}, {NUM_BUCKETS.key})"
            )
        other = found.setdefault(file.partition, {}).setdefault(bucket, file)
        if other is not file:
            raise TableMismatchError(
                f"the file groups {other.file_id} and {file.file_id} in {file.partition!r} are the "
                "same bucket, so that a key may live in either; cluster the table or overwrite the "
                "partition"
            )
    return found


def hash_profile(counts: HashCounts, groups: HashGroups, *, opens: bool) -> WorkloadProfile:
    """How many rows go to new file groups and to those there are.

    ``opens`` says whether rows may open file groups.
    """
    inserts: dict[str, int] = {}
    updates: dict[GroupId, int] = {}
    for partition, by_bucket in counts.items():
        existing = groups.get(partition, {})
        for bucket in np.flatnonzero(by_bucket).tolist():
            rows = int(by_bucket[bucket])
            if bucket in existing:
                updates[partition, existing[bucket].file_id] = rows
            elif opens:
                inserts[partition] = inserts.get(partition, 0) + rows
    return WorkloadProfile(inserts=inserts, updates=updates)


def assign_hash_buckets(
    counts: HashCounts,
    groups: HashGroups,
    *,
    opens: bool,
    new_file_id: Callable[[int], str],
    logs: Mapping[GroupId, AppendTarget] = NO_LOGS,
) -> BucketPlan:
    """A bucket of the write for each hash bucket that gets rows.

    Rows of a file group that is in ``logs`` are appended there.

    Guarantees: a hash bucket has one file group in a partition, however many rows it gets.
    Source: SparkBucketIndexPartitioner, Hudi 0.15 and 1.1.
    """
    buckets: list[WriteBucket] = []
    by_file: dict[GroupId, int] = {}
    shares: dict[str, InsertShares] = {}
    for partition, by_bucket in sorted(counts.items()):
        chosen = np.full(len(by_bucket), NOWHERE, dtype=np.int64)
        for hashed in np.flatnonzero(by_bucket).tolist():
            group = groups.get(partition, {}).get(hashed)
            if group is None and not opens:
                continue
            number, rows = len(buckets), int(by_bucket[hashed])
            file_id = new_file_id(hashed) if group is None else group.file_id
            log = logs.get((partition, file_id))
            buckets.append(
                WriteBucket(
                    number=number,
                    partition=partition,
                    file_id=file_id,
                    base=None if group is None or log else group.base_file,
                    updates=rows if group else 0,
                    inserts=0 if group else rows,
                    log=log,
                )
            )
            chosen[hashed] = by_file[partition, file_id] = number
        shares[partition] = InsertShares(
            buckets=chosen, upper=np.arange(len(chosen), dtype=np.uint64)
        )
    return BucketPlan(buckets=tuple(buckets), by_file=by_file, shares=shares)
