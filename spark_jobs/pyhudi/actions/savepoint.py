"""Savepoints: the files that must stay, whatever is cleaned.

Source: HoodieSavepointMetadata, Hudi 0.15 and 1.1. It is an Avro object container in every table
version; files are named without their folders, base files and log files alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.actions.container import only_record


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointMetadata:
    """What a savepoint keeps: the names of files by partition path."""

    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, data: bytes) -> SavepointMetadata:
        """The metadata in a completed file.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        with only_record(data, "a savepoint") as found:
            return cls(
                files={
                    partition: tuple(each["savepointDataFile"])
                    for partition, each in found["partitionMetadata"].items()
                }
            )
