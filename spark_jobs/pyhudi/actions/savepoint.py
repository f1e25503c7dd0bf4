"""What a savepoint says: who made it, and which files it keeps.

Source: HoodieSavepointMetadata, Hudi 0.15 and 1.1. It is an Avro object container in every table
version; files are named without their folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyhudi.actions.container import only_record, record_schema
from pyhudi.schema.codec import write_container


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointMetadata:
    """The body of a completed savepoint.

    ``files`` are the names of base and log files by partition path; a partition without any is
    there too.

    Units: milliseconds since 1970 in UTC.
    """

    user: str
    created_ms: int
    comment: str
    files: Mapping[str, tuple[str, ...]]

    @property
    def paths(self) -> Iterator[str]:
        """The files by their paths relative to the table."""
        for partition, names in self.files.items():
            yield from (f"{partition}/{name}" if partition else name for name in names)

    @classmethod
    def from_bytes(cls, data: bytes) -> SavepointMetadata:
        """The metadata in a completed file.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        with only_record(data, "a savepoint") as found:
            return cls(
                user=found["savepointedBy"],
                created_ms=found["savepointedAt"],
                comment=found["comments"],
                files={
                    partition: tuple(saved["savepointDataFile"])
                    for partition, saved in found["partitionMetadata"].items()
                },
            )

    def to_bytes(self) -> bytes:
        """The body of the completed file."""
        record = {
            "savepointedBy": self.user,
            "savepointedAt": self.created_ms,
            "comments": self.comment,
            "partitionMetadata": {
                partition: {"partitionPath": partition, "savepointDataFile": list(names)}
                for partition, names in self.files.items()
            },
            "version": 1,
        }
        return write_container(record_schema("HoodieSavepointMetadata"), record)
