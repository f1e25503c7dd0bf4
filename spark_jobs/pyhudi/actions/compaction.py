"""The plan of a compaction: which log files go into which new base files.

Source: HoodieCompactionPlan, CompactionUtils and CompactionV2MigrationHandler, Hudi 0.15 and 1.1.
The plan is an Avro object container in every table version; plans of version 2 name files without
their folders.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyhudi.actions.container import only_record, record_schema
from pyhudi.actions.file_group import GroupId
from pyhudi.schema.codec import write_container

_NAME: Final = "HoodieCompactionPlan"
_VERSION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOperation:
    """One file slice to compact, which becomes a base file.

    ``base_file`` and ``log_files`` are names without folders, ``base_file`` None where there are
    log files alone; ``base_instant`` is that of the slice. ``bootstrap_file`` is only there in
    bootstrapped tables.

    Shapes: ``log_files`` in the order of their versions.
    """

    partition: str
    file_id: str
    base_instant: str
    base_file: str | None
    log_files: tuple[str, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    bootstrap_file: str | None = None

    @property
    def file_group(self) -> GroupId:
        """The file group of the slice."""
        return self.partition, self.file_id


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction is going to do: the body of its requested file.

    ``compactor_class`` is None for a compaction and names a class for a log compaction.
    """

    operations: tuple[CompactionOperation, ...]
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    compactor_class: str | None = None
    preserves_meta_columns: bool = False

    @classmethod
    def from_bytes(cls, data: bytes) -> CompactionPlan:
        """The plan in a requested file.

        Raises:
            CorruptTableError: the bytes are no plan.
        """
        with only_record(data, "a compaction plan") as found:
            strategy = found.get("strategy") or {}
            return cls(
                operations=tuple(_operation(entry) for entry in found["operations"] or ()),
                extra_metadata=dict(found.get("extraMetadata") or {}),
                compactor_class=strategy.get("compactorClassName"),
                preserves_meta_columns=bool(found.get("preserveHoodieMetadata")),
            )

    def to_bytes(self) -> bytes:
        """The body of the requested file."""
        strategy = None
        if self.compactor_class is not None:
            class_name = self.compactor_class
            strategy = {"compactorClassName": class_name, "strategyParams": {}, "version": 1}
        record = {
            "operations": [_operation_record(operation) for operation in self.operations],
            "extraMetadata": dict(self.extra_metadata),
            "version": _VERSION,
            "strategy": strategy,
            "preserveHoodieMetadata": self.preserves_meta_columns,
        }
        return write_container(record_schema(_NAME), record)


def _operation(record: Mapping[str, Any]) -> CompactionOperation:
    # Plans of version 1 have paths, of which the last part is the name.
    base = record["dataFilePath"]
    return CompactionOperation(
        partition=record["partitionPath"] or "",
        file_id=record["fileId"],
        base_instant=record["baseInstantTime"],
        base_file=posixpath.basename(base) if base else None,
        log_files=tuple(posixpath.basename(path) for path in record["deltaFilePaths"] or ()),
        metrics=dict(record.get("metrics") or {}),
        bootstrap_file=record.get("bootstrapFilePath") or None,
    )


def _operation_record(operation: CompactionOperation) -> dict[str, Any]:
    return {
        "baseInstantTime": operation.base_instant,
        "deltaFilePaths": list(operation.log_files),
        "dataFilePath": operation.base_file,
        "fileId": operation.file_id,
        "partitionPath": operation.partition,
        "metrics": dict(operation.metrics),
        "bootstrapFilePath": operation.bootstrap_file,
    }
