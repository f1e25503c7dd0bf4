"""Restores: the plan of which instants to undo, and what became of them.

Source: HoodieRestorePlan and HoodieRestoreMetadata, Hudi 0.15 and 1.1. Both are Avro object
containers in every table version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.actions.container import only_record, record_schema
from pyhudi.actions.rollback import InstantInfo, RollbackMetadata
from pyhudi.schema.codec import write_container


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """What a restore will undo, in this order: the body of its requested file.

    ``savepoint`` is the time of the savepoint that the table goes back to; None in plans of
    releases that did not say.
    """

    savepoint: str | None
    instants: tuple[InstantInfo, ...]

    @classmethod
    def from_bytes(cls, data: bytes) -> RestorePlan:
        """The plan in a requested file.

        Raises:
            CorruptTableError: the bytes are no plan.
        """
        with only_record(data, "a restore plan") as found:
            return cls(
                savepoint=found.get("savepointToRestoreTimestamp"),
                instants=tuple(map(InstantInfo.from_record, found["instantsToRollback"])),
            )

    def to_bytes(self) -> bytes:
        """The body of the requested file."""
        record = {
            "instantsToRollback": [instant.to_record() for instant in self.instants],
            "version": 2,
            "savepointToRestoreTimestamp": self.savepoint,
        }
        return write_container(record_schema("HoodieRestorePlan"), record)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMetadata:
    """What a restore did: the body of its completed file.

    ``start_time`` is the restore's own instant time; ``rollbacks`` say by the time of each instant
    what undoing it deleted.

    Units: milliseconds.
    """

    start_time: str
    time_taken_ms: int
    instants: tuple[InstantInfo, ...]
    rollbacks: Mapping[str, RollbackMetadata]

    @classmethod
    def from_bytes(cls, data: bytes) -> RestoreMetadata:
        """The metadata in a completed file.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        with only_record(data, "restore metadata") as found:
            return cls(
                start_time=found["startRestoreTime"],
                time_taken_ms=found["timeTakenInMillis"],
                instants=tuple(map(InstantInfo.from_record, found.get("restoreInstantInfo") or ())),
                rollbacks={
                    time: RollbackMetadata.from_record(done[0])
                    for time, done in found["hoodieRestoreMetadata"].items()
                    if done and done[0]
                },
            )

    def to_bytes(self) -> bytes:
        """The body of the completed file."""
        record = {
            "startRestoreTime": self.start_time,
            "timeTakenInMillis": self.time_taken_ms,
            "instantsToRollback": [instant.time for instant in self.instants],
            "hoodieRestoreMetadata": {
                time: [rollback.to_record()] for time, rollback in self.rollbacks.items()
            },
            "version": 1,
            "restoreInstantInfo": [instant.to_record() for instant in self.instants],
        }
        return write_container(record_schema("HoodieRestoreMetadata"), record)
