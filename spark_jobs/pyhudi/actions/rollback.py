"""Rollbacks: the plan of what to delete for a failed instant, and what became of it.

Source: HoodieRollbackPlan and HoodieRollbackMetadata, Hudi 0.15 and 1.1. Both are Avro object
containers in every table version; files are named by absolute path without a scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyhudi.actions.container import only_record, record_schema
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import write_container


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantInfo:
    """An instant by the time it was requested and the word for its action."""

    time: str
    action: str

    @classmethod
    def from_record(cls, record: Mapping[str, str]) -> InstantInfo:
        """The instant that a record names.

        Raises:
            CorruptTableError: it names none.
        """
        time = record["commitTime"]
        # Names of files and folders are made of it, which are then deleted.
        if not time.isdecimal():
            raise CorruptTableError(f"{time[:60]!r} is no instant")
        return cls(time=time, action=record["action"])

    def to_record(self) -> dict[str, str]:
        """The instant as a record."""
        return {"commitTime": self.time, "action": self.action}


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """What to delete in one partition.

    ``file_id`` and ``latest_base_instant`` are empty unless log blocks are rolled back, which
    ``log_blocks`` then lists with their sizes.
    """

    partition: str
    file_id: str | None = ""
    latest_base_instant: str | None = ""
    files_to_delete: tuple[str, ...] = ()
    log_blocks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """What a rollback will delete: the body of its requested file."""

    instant: InstantInfo
    requests: tuple[RollbackRequest, ...]

    @classmethod
    def from_bytes(cls, data: bytes) -> RollbackPlan:
        """The plan in a requested file.

        Raises:
            CorruptTableError: the bytes are no plan.
        """
        with only_record(data, "a rollback plan") as found:
            return cls(
                instant=InstantInfo.from_record(found["instantToRollback"]),
                requests=tuple(_request(entry) for entry in found["RollbackRequests"] or ()),
            )

    def to_bytes(self) -> bytes:
        """The body of the requested file."""
        record = {
            "instantToRollback": self.instant.to_record(),
            "RollbackRequests": [
                {
                    "partitionPath": request.partition,
                    "fileId": request.file_id,
                    "latestBaseInstant": request.latest_base_instant,
                    "filesToBeDeleted": list(request.files_to_delete),
                    "logBlocksToBeDeleted": dict(request.log_blocks),
                }
                for request in self.requests
            ],
            "version": 1,
        }
        return write_container(record_schema("HoodieRollbackPlan"), record)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPartition:
    """What a rollback did in one partition: files deleted, and files it could not delete.

    ``log_files`` are those that got a block to take others back, with their sizes.
    """

    deleted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    log_files: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackMetadata:
    """What a rollback did: the body of its completed file.

    ``start_time`` is the rollback's own instant time.

    Units: milliseconds.
    """

    start_time: str
    time_taken_ms: int
    instants: tuple[InstantInfo, ...]
    partitions: Mapping[str, RollbackPartition]

    @property
    def files_deleted(self) -> int:
        """How many files were deleted, over all partitions."""
        return sum(len(partition.deleted) for partition in self.partitions.values())

    @classmethod
    def from_bytes(cls, data: bytes) -> RollbackMetadata:
        """The metadata in a completed file.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        with only_record(data, "rollback metadata") as found:
            return cls.from_record(found)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RollbackMetadata:
        """The metadata in a record, as that of a restore has several."""
        return cls(
            start_time=record["startRollbackTime"],
            time_taken_ms=record["timeTakenInMillis"],
            instants=tuple(
                InstantInfo.from_record(each) for each in record.get("instantsRollback") or ()
            ),
            partitions={
                partition: RollbackPartition(
                    deleted=tuple(done["successDeleteFiles"]),
                    failed=tuple(done["failedDeleteFiles"]),
                    log_files=dict(done.get("rollbackLogFiles") or {}),
                )
                for partition, done in record["partitionMetadata"].items()
            },
        )

    def to_bytes(self) -> bytes:
        """The body of the completed file."""
        return write_container(record_schema("HoodieRollbackMetadata"), self.to_record())

    def to_record(self) -> dict[str, Any]:
        """The metadata as a record."""
        return {
            "startRollbackTime": self.start_time,
            "timeTakenInMillis": self.time_taken_ms,
            "totalFilesDeleted": self.files_deleted,
            "commitsRollback": [instant.time for instant in self.instants],
            "partitionMetadata": {
                partition: {
                    "partitionPath": partition,
                    "successDeleteFiles": list(done.deleted),
                    "failedDeleteFiles": list(done.failed),
                    "rollbackLogFiles": dict(done.log_files),
                    "logFilesFromFailedCommit": {},
                }
                for partition, done in self.partitions.items()
            },
            "version": 1,
            "instantsRollback": [instant.to_record() for instant in self.instants],
        }


def _request(record: Mapping[str, Any]) -> RollbackRequest:
    return RollbackRequest(
        partition=record["partitionPath"],
        file_id=record["fileId"],
        latest_base_instant=record["latestBaseInstant"],
        files_to_delete=tuple(record["filesToBeDeleted"]),
        log_blocks=dict(record["logBlocksToBeDeleted"] or {}),
    )
