"""What the index of a bootstrap says: which file of the source each skeleton file stands for.

Source: HoodieBootstrapPartitionMetadata, HoodieBootstrapFilePartitionInfo, HoodieBootstrapIndexInfo
and FileStatusUtils, Hudi 0.15 and 1.1. Each is an Avro object container in every table version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyhudi.actions.container import only_record, record_schema
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import write_container

_BLOCK_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of the source as it was when the table was bootstrapped.

    ``path`` is the whole URI as Hadoop writes it, nothing escaped: ``file:/data/p=1/a.parquet``.
    ``permissions`` are what owner, group and others may do, in Hadoop's words. A storage that has
    no owners leaves all three None, as Hudi 1.1 always does.

    Units: milliseconds since 1970 in UTC.
    """

    path: str
    size_bytes: int
    modified_ms: int
    accessed_ms: int
    block_bytes: int = _BLOCK_BYTES
    replication: int = 1
    owner: str | None = None
    group: str | None = None
    permissions: tuple[str, str, str] | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrappedPartition:
    """The file groups of one partition that have a source file.

    ``partition_path`` is the partition in the table, ``source_partition`` its folder relative to
    the base path of the source, and ``files`` has the source file of each file id.
    """

    partition_path: str
    source_partition: str
    files: Mapping[str, SourceFile]

    @classmethod
    def from_bytes(cls, data: bytes) -> BootstrappedPartition:
        """The partition in a value of the index by partition.

        Raises:
            CorruptTableError: the bytes are no such value.
        """
        with only_record(data, "a partition of the bootstrap index") as found:
            return cls(
                partition_path=_text(found, "partitionPath"),
                source_partition=_text(found, "bootstrapPartitionPath"),
                files={
                    file_id: _source_file(status)
                    for file_id, status in found["fileIdToBootstrapFile"].items()
                },
            )

    def to_bytes(self) -> bytes:
        """The value of the index by partition."""
        record = {
            "version": None,
            "bootstrapPartitionPath": self.source_partition,
            "partitionPath": self.partition_path,
            "fileIdToBootstrapFile": {
                file_id: _file_status(file) for file_id, file in self.files.items()
            },
        }
        return write_container(record_schema("HoodieBootstrapPartitionMetadata"), record)

    def file_values(self) -> Iterator[tuple[str, bytes]]:
        """The file ids, each with its value of the index by file id."""
        schema = record_schema("HoodieBootstrapFilePartitionInfo")
        for file_id, file in self.files.items():
            record = {
                "version": None,
                "bootstrapPartitionPath": self.source_partition,
                "bootstrapFileStatus": _file_status(file),
                "partitionPath": self.partition_path,
            }
            yield file_id, write_container(schema, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapIndex:
    """The source of a table and the partitions that still point there, by partition path.

    ``source_base_path`` is a URI as ``SourceFile.path`` is one.

    Units: milliseconds since 1970 in UTC.
    """

    source_base_path: str
    created_ms: int
    partitions: Mapping[str, BootstrappedPartition] = field(default_factory=dict)

    def source_of(self, partition_path: str, file_id: str) -> SourceFile | None:
        """The source file of a file group; None for one that was never without rows."""
        partition = self.partitions.get(partition_path)
        return None if partition is None else partition.files.get(file_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """What one of the index's two files says of itself.

    Units: milliseconds since 1970 in UTC.
    """

    source_base_path: str
    created_ms: int
    key_count: int

    @classmethod
    def from_bytes(cls, data: bytes) -> IndexInfo:
        """The info in a file of the index.

        Raises:
            CorruptTableError: the bytes are no such info.
        """
        with only_record(data, "the info of a bootstrap index") as found:
            return cls(
                source_base_path=_text(found, "bootstrapBasePath"),
                created_ms=_number(found, "createdTimestamp"),
                key_count=_number(found, "numKeys"),
            )

    def to_bytes(self) -> bytes:
        """The info as it lies in a file of the index."""
        record = {
            "version": 1,
            "bootstrapBasePath": self.source_base_path,
            "createdTimestamp": self.created_ms,
            "numKeys": self.key_count,
        }
        return write_container(record_schema("HoodieBootstrapIndexInfo"), record)


def _file_status(file: SourceFile) -> dict[str, Any]:
    return {
        "version": None,
        "path": {"version": 1, "uri": file.path},
        "length": file.size_bytes,
        "isDir": False,
        "blockReplication": file.replication,
        "blockSize": file.block_bytes,
        "modificationTime": file.modified_ms,
        "accessTime": file.accessed_ms,
        "permission": None if file.permissions is None else _permission(file.permissions),
        "owner": file.owner,
        "group": file.group,
        "symlink": None,
    }


def _permission(actions: tuple[str, str, str]) -> dict[str, Any]:
    user, group, other = actions
    return {
        "version": 1,
        "userAction": user,
        "groupAction": group,
        "otherAction": other,
        "stickyBit": False,
    }


def _source_file(status: Mapping[str, Any]) -> SourceFile:
    found = status["permission"]
    return SourceFile(
        path=_text(status["path"], "uri"),
        size_bytes=_number(status, "length"),
        modified_ms=_number(status, "modificationTime"),
        accessed_ms=_number(status, "accessTime"),
        block_bytes=_number(status, "blockSize"),
        replication=_number(status, "blockReplication"),
        owner=status["owner"],
        group=status["group"],
        permissions=found and (found["userAction"], found["groupAction"], found["otherAction"]),
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    found = record[name]
    if not isinstance(found, str):
        raise CorruptTableError(f"{name} should be a text and is {found!r}")
    return found


def _number(record: Mapping[str, Any], name: str) -> int:
    found = record[name]
    if not isinstance(found, int):
        raise CorruptTableError(f"{name} should be a number and is {found!r}")
    return found
