"""Which file group every row of a batch goes to. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyhudi.config.write import FileSizing
from pyhudi.filegroup.slices import AppendTarget, BaseFile, GroupId
from pyhudi.write.plan.profile import WorkloadProfile
from pyhudi.write.plan.sizing import room_rows

_HASH_TOP = 2**64 - 1
NO_LOGS: Mapping[GroupId, AppendTarget] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBucket:
    """The rows that one task writes to one file group.

    ``base`` is the base file that is rewritten, or None for a new file group; with ``log`` rows
    are appended there, and no base file is written.
    """

    number: int
    partition: str
    file_id: str
    base: BaseFile | None
    updates: int = 0
    inserts: int = 0
    log: AppendTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertShares:
    """How the inserts of one partition spread over buckets.

    Shapes: ``buckets`` holds bucket numbers, ``upper`` the upper bound of each bucket's share of
    the key hashes, ascending, the last one at the top of the hash range.
    """

    buckets: np.ndarray
    upper: np.ndarray

    def bucket_of(self, key_hashes: np.ndarray) -> np.ndarray:
        """The bucket number of each key hash: equal keys meet in one bucket."""
        chosen: np.ndarray = self.buckets[np.searchsorted(self.upper, key_hashes, side="left")]
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlan:
    """Every bucket of a write, and how to find a row's.

    ``by_file`` maps (partition path, file id) to the bucket that rewrites it; ``shares`` maps a
    partition path to where its inserts go.
    """

    buckets: tuple[WriteBucket, ...]
    by_file: Mapping[GroupId, int]
    shares: Mapping[str, InsertShares]


def assign_buckets(
    profile: WorkloadProfile,
    base_files: Mapping[str, Sequence[BaseFile]],
    *,
    sizing: FileSizing,
    record_size_bytes: int,
    new_file_id: Callable[[], str],
    logs: Mapping[GroupId, AppendTarget] = NO_LOGS,
) -> BucketPlan:
    """Keep updates where they are, and choose a file group for every insert.

    Inserts fill the small files of their partition first, the smallest first because it is the
    cheapest to rewrite; what is left opens new file groups of at most ``insert_split_size`` rows,
    or of what fits a file of the largest size when splits are automatic. Updates of a file group
    that is in ``logs`` are appended there, unless it is small and its partition gets inserts: then
    it is rewritten with both.

    Shapes: ``base_files`` holds per partition path the latest base file of each file group that
    may take inserts or updates.
    Guarantees: the same input and the same file ids give the same plan.
    Not: does not read storage; a file group under clustering must be out of ``base_files`` already.
    Source: UpsertPartitioner, SparkUpsertDeltaCommitPartitioner and
        BaseSparkDeltaCommitActionExecutor.handleUpdate, Hudi 0.15 and 1.1.
    """
    plan = _Draft()
    small = {
        partition: _small_files(base_files.get(partition, ()), sizing)
        for partition, inserts in profile.inserts.items()
        if inserts
    }
    corrected = {(file.partition, file.file_id) for files in small.values() for file in files}
    for (partition, file_id), updates in sorted(profile.updates.items()):
        group = partition, file_id
        log = None if group in corrected else logs.get(group)
        base = None if log else _of_group(base_files[partition], file_id)
        plan.add(base, partition=partition, file_id=file_id, updates=updates, log=log)
    shares: dict[str, InsertShares] = {}
    for partition in sorted({*profile.inserts, *profile.possible}):
        # Rows that may come get a file group of their own, which is not made if none does.
        fewest = 1 if partition in profile.possible else 0
        inserts = max(fewest, profile.inserts.get(partition, 0))
        taken = [
            plan.add(
                base,
                partition=partition,
                file_id=base.file_id if base else new_file_id(),
                inserts=rows,
            )
            for base, rows in _split_inserts(
                inserts, small.get(partition, ()), sizing, record_size_bytes
            )
        ]
        if taken:
            shares[partition] = _insert_shares([plan.buckets[number] for number in taken])
    return BucketPlan(buckets=tuple(plan.buckets), by_file=plan.by_file, shares=shares)


class _Draft:
    def __init__(self) -> None:
        self.buckets: list[WriteBucket] = []
        self.by_file: dict[GroupId, int] = {}

    def add(
        self,
        base: BaseFile | None,
        *,
        partition: str,
        file_id: str,
        updates: int = 0,
        inserts: int = 0,
        log: AppendTarget | None = None,
    ) -> int:
        number = self.by_file.setdefault((partition, file_id), len(self.buckets))
        if number == len(self.buckets):
            self.buckets.append(
                WriteBucket(number=number, partition=partition, file_id=file_id, base=base, log=log)
            )
        bucket = self.buckets[number]
        self.buckets[number] = replace(
            bucket, updates=bucket.updates + updates, inserts=bucket.inserts + inserts
        )
        return number


def _small_files(files: Sequence[BaseFile], sizing: FileSizing) -> list[BaseFile]:
    # A skeleton takes its source's rows in as it is rewritten; Hudi goes by its own bytes alone.
    small = [file for file in files if file.bytes_to_read < sizing.small_file_limit]
    smallest_first = sorted(small, key=lambda file: (file.bytes_to_read, file.file_id))
    return smallest_first[: sizing.small_file_candidates]


def _of_group(files: Sequence[BaseFile], file_id: str) -> BaseFile:
    return next(file for file in files if file.file_id == file_id)


def _split_inserts(
    inserts: int, small: Sequence[BaseFile], sizing: FileSizing, record_size_bytes: int
) -> Iterator[tuple[BaseFile | None, int]]:
    left = inserts
    for base in small:
        room = room_rows(
            base.bytes_to_read,
            max_file_size_bytes=sizing.max_file_size,
            record_size_bytes=record_size_bytes,
        )
        rows = min(room, left)
        if rows > 0:
            yield base, rows
            left -= rows
    per_bucket = sizing.insert_split_size
    if sizing.insert_auto_split:
        per_bucket = max(1, sizing.max_file_size // record_size_bytes)
    count = math.ceil(left / per_bucket)
    for number in range(count):
        # Equal shares: a last file of a few rows would be a small file at birth.
        yield None, left * (number + 1) // count - left * number // count


def _insert_shares(buckets: Sequence[WriteBucket]) -> InsertShares:
    total = sum(bucket.inserts for bucket in buckets)
    upper, below = [], 0
    for bucket in buckets:
        below += bucket.inserts
        upper.append(_HASH_TOP * below // total)
    return InsertShares(
        buckets=np.array([bucket.number for bucket in buckets], dtype=np.int64),
        upper=np.array(upper, dtype=np.uint64),
    )
