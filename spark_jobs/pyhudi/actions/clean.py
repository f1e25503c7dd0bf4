"""Cleans: the plan of which files to delete, and what became of it.

Source: HoodieCleanerPlan, HoodieCleanMetadata and CleanerUtils.convertCleanMetadata, Hudi 0.15 and
1.1. Both are Avro object containers in every table version. Plans name files by their whole paths,
metadata by their names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyhudi.actions.container import only_record, record_schema
from pyhudi.schema.codec import write_container

_VERSION = 2
SAVEPOINTS = "savepointed_timestamps"
"""The extra metadata in which a clean names the savepoints there were, with commas between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedInstant:
    """The earliest instant whose files all stay: its time, and the words for action and state."""

    time: str
    action: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """What a clean is going to delete: the body of its requested file.

    ``earliest`` is None for a policy that counts versions of files. ``last_completed`` is the
    latest completed commit when the plan was made, empty without one. ``emptied`` are partitions
    whose folders go too.

    Shapes: ``paths`` has the whole paths of files by partition path, as the plan names them, and
        ``sources`` those of files outside the table, which it was bootstrapped from.
    """

    earliest: RetainedInstant | None
    last_completed: str
    policy: str
    paths: Mapping[str, tuple[str, ...]]
    emptied: tuple[str, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra_metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, data: bytes) -> CleanPlan:
        """The plan in a requested or inflight file.

        Plans of version 1 have names in place of paths.

        Raises:
            CorruptTableError: the bytes are no plan.
        """
        with only_record(data, "a clean plan") as found:
            earliest = found["earliestInstantToRetain"]
            return cls(
                earliest=None if earliest is None else _retained(earliest),
                last_completed=found["lastCompletedCommitTimestamp"],
                policy=found["policy"],
                paths=_paths(found),
                sources=_sources(found),
                emptied=tuple(found.get("partitionsToBeDeleted") or ()),
                extra_metadata=dict(found.get("extraMetadata") or {}),
            )

    def to_bytes(self) -> bytes:
        """The body of the requested file, and of the inflight one."""
        earliest = self.earliest
        record = {
            "earliestInstantToRetain": None if earliest is None else _retained_record(earliest),
            "lastCompletedCommitTimestamp": self.last_completed,
            "policy": self.policy,
            "filesToBeDeletedPerPartition": {},
            "version": _VERSION,
            "filePathsToBeDeletedPerPartition": {
                partition: [
                    *({"filePath": path, "isBootstrapBaseFile": False} for path in paths),
                    *(
                        {"filePath": uri, "isBootstrapBaseFile": True}
                        for uri in self.sources.get(partition, ())
                    ),
                ]
                for partition, paths in self.paths.items()
            },
            "partitionsToBeDeleted": list(self.emptied),
            "extraMetadata": dict(self.extra_metadata),
        }
        return write_container(record_schema("HoodieCleanerPlan"), record)

    @property
    def savepoints(self) -> frozenset[str]:
        """The savepoints there were when it was made."""
        return _savepoints(self.extra_metadata)

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of the files by partition path, wherever the table lay when it was made."""
        return {
            partition: tuple(posixpath.basename(path) for path in paths)
            for partition, paths in self.paths.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedPartition:
    """What a clean did in one partition: the names of the files that are gone.

    Of ``sources``, which the table was bootstrapped from, it is their URIs.
    """

    deleted: tuple[str, ...] = ()
    is_partition_deleted: bool = False
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanMetadata:
    """What a clean did: the body of its completed file.

    ``start_time`` is the clean's own instant time. ``earliest`` is empty for a policy that counts
    versions of files; ``last_completed`` is as in the plan.

    Units: milliseconds.
    """

    start_time: str = ""
    time_taken_ms: int = 0
    earliest: str
    last_completed: str = ""
    policy: str = ""
    partitions: Mapping[str, CleanedPartition] = field(default_factory=dict)
    extra_metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, data: bytes) -> CleanMetadata:
        """The metadata in a completed file; an empty file, which Hudi may leave, says nothing.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        if not data:
            return cls(earliest="")
        with only_record(data, "clean metadata") as found:
            by_partition = found.get("partitionMetadata") or {}
            policies = [each["policy"] for each in by_partition.values()]
            return cls(
                start_time=found["startCleanTime"],
                time_taken_ms=found["timeTakenInMillis"],
                earliest=found["earliestCommitToRetain"] or "",
                last_completed=found.get("lastCompletedCommitTimestamp") or "",
                policy=policies[0] if policies else "",
                partitions={
                    partition: CleanedPartition(
                        deleted=tuple(each["successDeleteFiles"]),
                        is_partition_deleted=bool(each.get("isPartitionDeleted")),
                        sources=_deleted_sources(found, partition),
                    )
                    for partition, each in by_partition.items()
                },
                extra_metadata=dict(found.get("extraMetadata") or {}),
            )

    def to_bytes(self) -> bytes:
        """The body of the completed file."""
        record = {
            "startCleanTime": self.start_time,
            "timeTakenInMillis": self.time_taken_ms,
            "totalFilesDeleted": self.files_deleted,
            "earliestCommitToRetain": self.earliest,
            "lastCompletedCommitTimestamp": self.last_completed,
            "partitionMetadata": {
                partition: self._record(partition, each, each.deleted)
                for partition, each in self.partitions.items()
            },
            "version": _VERSION,
            "bootstrapPartitionMetadata": {
                partition: self._record(partition, each, each.sources)
                for partition, each in self.partitions.items()
                if each.sources
            },
            "extraMetadata": dict(self.extra_metadata),
        }
        return write_container(record_schema("HoodieCleanMetadata"), record)

    def _record(
        self, partition: str, found: CleanedPartition, gone: tuple[str, ...]
    ) -> dict[str, Any]:
        return {
            "partitionPath": partition,
            "policy": self.policy,
            "deletePathPatterns": list(gone),
            "successDeleteFiles": list(gone),
            "failedDeleteFiles": [],
            "isPartitionDeleted": found.is_partition_deleted,
        }

    @property
    def files_deleted(self) -> int:
        """How many files are gone, over all partitions."""
        return sum(len(each.deleted) for each in self.partitions.values())

    @property
    def earliest_retained(self) -> str | None:
        """Since when the files of the table are all there; None when that is not known.

        A clean by file versions keeps files of different ages and names no commit to retain, but
        the latest one then, whose files are sure to be there.
        """
        return self.earliest or self.last_completed or None

    @property
    def savepoints(self) -> frozenset[str]:
        """The savepoints there were when the clean was planned."""
        return _savepoints(self.extra_metadata)


def _savepoints(extra: Mapping[str, str]) -> frozenset[str]:
    return frozenset(filter(None, extra.get(SAVEPOINTS, "").split(",")))


def _retained(record: Mapping[str, str]) -> RetainedInstant:
    return RetainedInstant(time=record["timestamp"], action=record["action"], state=record["state"])


def _retained_record(earliest: RetainedInstant) -> dict[str, str]:
    return {"timestamp": earliest.time, "action": earliest.action, "state": earliest.state}


def _paths(found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    by_partition = found.get("filePathsToBeDeletedPerPartition")
    if not by_partition:
        old = found.get("filesToBeDeletedPerPartition") or {}
        return {partition: tuple(names) for partition, names in old.items()}
    return {
        partition: tuple(each["filePath"] for each in files if not each["isBootstrapBaseFile"])
        for partition, files in by_partition.items()
    }


def _sources(found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    by_partition = found.get("filePathsToBeDeletedPerPartition") or {}
    sources = {
        partition: tuple(each["filePath"] for each in files if each["isBootstrapBaseFile"])
        for partition, files in by_partition.items()
    }
    return {partition: uris for partition, uris in sources.items() if uris}


def _deleted_sources(found: Mapping[str, Any], partition: str) -> tuple[str, ...]:
    by_partition = found.get("bootstrapPartitionMetadata") or {}
    cleaned = by_partition.get(partition)
    return () if cleaned is None else tuple(cleaned["successDeleteFiles"])
