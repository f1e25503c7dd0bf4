"""What a clean says when it is completed.

Source: HoodieCleanMetadata, Hudi 0.15. It is an Avro object container in every table version.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.actions.container import only_record


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanMetadata:
    """Since when the files of a table are all there.

    A clean by file versions keeps files of different ages and names no commit to retain, but the
    latest one then, whose files are sure to be there; ``earliest_retained`` may be None all the
    same.
    """

    earliest_retained: str | None

    @classmethod
    def from_bytes(cls, data: bytes) -> CleanMetadata:
        """The metadata in a completed file.

        Raises:
            CorruptTableError: the bytes are no such metadata.
        """
        with only_record(data, "clean metadata") as found:
            kept = found.get("earliestCommitToRetain") or found.get("lastCompletedCommitTimestamp")
            return cls(earliest_retained=kept or None)
