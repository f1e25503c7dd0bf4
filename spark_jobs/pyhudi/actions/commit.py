"""What a commit wrote: statistics of each file, and the commit's metadata around them.

Text and field order are those of table version 6; later versions have the same entries in Avro,
see ``commit_avro``.

Source: HoodieCommitMetadata, HoodieReplaceCommitMetadata and HoodieWriteStat, Hudi 0.15.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyhudi.actions.commit_avro import MAGIC, decode_commit, encode_commit
from pyhudi.actions.json_text import pretty
from pyhudi.errors import CorruptTableError

NO_PREVIOUS_COMMIT = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """What one write did to one file group.

    ``prev_commit`` is the instant of the file that was rewritten, or the text ``null`` for a new
    file group. In a write that has only begun, ``file_id`` is empty and ``path`` None for the
    inserts of a partition, and the times are None.

    ``log_files`` are the names of the slice's log files, the one at ``path`` among them, and None
    for a base file; ``log_offset`` is where in that one the write begins, and ``base_file`` the
    name of the slice's base file, empty when it has none. ``num_ignored`` counts rows that were
    left out because the stored ones are newer; None where nobody compared them. It reaches the
    driver and no instant's file, as Hudi has no such entry.

    Units: bytes and milliseconds.
    """

    file_id: str | None
    path: str | None = None
    cdc_stats: Mapping[str, int] | None = None
    prev_commit: str | None = NO_PREVIOUS_COMMIT
    num_writes: int = 0
    num_deletes: int = 0
    num_update_writes: int = 0
    num_inserts: int = 0
    total_write_bytes: int = 0
    total_write_errors: int = 0
    partition_path: str | None = None
    total_log_records: int = 0
    total_log_files_compacted: int = 0
    total_log_size_compacted: int = 0
    total_updated_records_compacted: int = 0
    total_log_blocks: int = 0
    total_corrupt_log_blocks: int = 0
    total_rollback_blocks: int = 0
    file_size_bytes: int = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    total_scan_time: int | None = 0
    total_upsert_time: int | None = 0
    total_create_time: int | None = 0
    log_version: int = 0
    log_offset: int = 0
    base_file: str | None = ""
    log_files: tuple[str, ...] | None = None
    num_ignored: int | None = None

    @classmethod
    def from_json(cls, stat: Mapping[str, Any]) -> WriteStat:
        """The statistics in a JSON object; entries that are missing have their defaults.

        So has a number that is null, as in Hudi: records of an archive have nulls for entries of
        log files where the write was to base files.

        Raises:
            CorruptTableError: an entry is of another kind than its name says.
        """
        times = stat.get("runtimeStats") or {}
        known = _entries(stat, _STAT_FIELDS)
        timed = {name: times.get(key) for key, name in _TIME_FIELDS.items()}
        logs = _entries(stat, _LOG_FIELDS)
        for name, value in {**known, **timed, **logs}.items():
            if not isinstance(value, _KINDS.get(name, int)):
                raise CorruptTableError(f"write statistics have {str(value)[:60]!r} as {name}")
        if logs.get("log_files") is not None:
            logs["log_files"] = tuple(map(str, logs["log_files"]))
        return cls(**{"file_id": None, **known, **timed, **logs})

    def to_json(self) -> dict[str, Any]:
        """The statistics as a JSON object, its entries in Hudi's order."""
        found = {
            key: getattr(self, _STAT_FIELDS[key]) if key in _STAT_FIELDS else _UNUSED[key]
            for key in _STAT_ORDER
        }
        times = {key: getattr(self, name) for key, name in _TIME_FIELDS.items()}
        is_timed = any(value is not None for value in times.values())
        found["runtimeStats"] = times if is_timed else None
        if self.log_files is not None:
            found.update({key: getattr(self, name) for key, name in _LOG_FIELDS.items()})
            found["logFiles"] = list(self.log_files)
        return found


_STAT_FIELDS = {
    "fileId": "file_id",
    "path": "path",
    "cdcStats": "cdc_stats",
    "prevCommit": "prev_commit",
    "numWrites": "num_writes",
    "numDeletes": "num_deletes",
    "numUpdateWrites": "num_update_writes",
    "numInserts": "num_inserts",
    "totalWriteBytes": "total_write_bytes",
    "totalWriteErrors": "total_write_errors",
    "partitionPath": "partition_path",
    "totalLogRecords": "total_log_records",
    "totalLogFilesCompacted": "total_log_files_compacted",
    "totalLogSizeCompacted": "total_log_size_compacted",
    "totalUpdatedRecordsCompacted": "total_updated_records_compacted",
    "totalLogBlocks": "total_log_blocks",
    "totalCorruptLogBlock": "total_corrupt_log_blocks",
    "totalRollbackBlocks": "total_rollback_blocks",
    "fileSizeInBytes": "file_size_bytes",
    "minEventTime": "min_event_time",
    "maxEventTime": "max_event_time",
}
_TIME_FIELDS = {
    "totalScanTime": "total_scan_time",
    "totalUpsertTime": "total_upsert_time",
    "totalCreateTime": "total_create_time",
}
# Entries of writes to log files alone.
# Source: HoodieDeltaWriteStat, Hudi 0.15.
_LOG_FIELDS = {
    "logVersion": "log_version",
    "logOffset": "log_offset",
    "baseFile": "base_file",
    "logFiles": "log_files",
}
_TEXTS = ("file_id", "path", "prev_commit", "partition_path", "base_file")
_KINDS = {
    **dict.fromkeys(_TEXTS, str | None),
    **dict.fromkeys(("min_event_time", "max_event_time", *_TIME_FIELDS.values()), int | None),
    "cdc_stats": dict | None,
    "log_files": list | None,
}
"""What entries are that need not be whole numbers."""
_UNUSED = {"tempPath": None}
_STAT_ORDER = (
    *("fileId", "path", "cdcStats", "prevCommit", "numWrites", "numDeletes", "numUpdateWrites"),
    *("numInserts", "totalWriteBytes", "totalWriteErrors", "tempPath", "partitionPath"),
    *("totalLogRecords", "totalLogFilesCompacted", "totalLogSizeCompacted"),
    *("totalUpdatedRecordsCompacted", "totalLogBlocks", "totalCorruptLogBlock"),
    *("totalRollbackBlocks", "fileSizeInBytes", "minEventTime", "maxEventTime"),
)


def _entries(stat: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: stat[key]
        for key, name in fields.items()
        if key in stat and (stat[key] is not None or name in _KINDS)
    }


def count_records(stats: Iterable[WriteStat]) -> dict[str, int]:
    """What became of the records of a write: inserted, updated, deleted, ignored and failed ones.

    Without ``ignored`` where some files do not know it.
    """
    found = list(stats)
    ignored = count_ignored(found)
    return {
        "inserted": sum(stat.num_inserts for stat in found),
        "updated": sum(stat.num_update_writes for stat in found),
        "deleted": sum(stat.num_deletes for stat in found),
        **({} if ignored is None else {"ignored": ignored}),
        "failed": sum(stat.total_write_errors for stat in found),
    }


def count_ignored(stats: Iterable[WriteStat]) -> int | None:
    """Rows that were left out because the stored ones are newer; None when it is not known."""
    total = 0
    for stat in stats:
        if stat.num_ignored is None:
            return None
        total += stat.num_ignored
    return total


def stats_by_partition(stats: Iterable[WriteStat]) -> dict[str, tuple[WriteStat, ...]]:
    """Statistics by partition path, ordered by the paths of their files."""
    found: dict[str, list[WriteStat]] = defaultdict(list)
    for stat in sorted(stats, key=lambda stat: stat.path or ""):
        found[stat.partition_path or ""].append(stat)
    return {partition: tuple(group) for partition, group in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """What an instant that writes rows says of itself, when inflight and when completed.

    ``operation_type`` is the operation as Hudi names it, such as ``UPSERT``; ``extra_metadata`` has
    the Avro schema under ``schema`` and whatever the writer adds.
    """

    partition_to_write_stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict)
    compacted: bool = False
    extra_metadata: Mapping[str, str | None] = field(default_factory=dict)
    operation_type: str = "UNKNOWN"

    @classmethod
    def from_bytes(cls, data: bytes) -> CommitMetadata:
        """The metadata in an instant's file; an empty file says nothing and is no error.

        Raises:
            CorruptTableError: the bytes are no commit metadata.
        """
        with _kinds_expected():
            return cls._from_json(_parse(data))

    def to_bytes(self) -> bytes:
        """The text of an instant's file."""
        return pretty(self._to_json()).encode()

    def to_avro(self) -> bytes:
        """The bytes of an instant's file in layout 2 of the timeline."""
        return encode_commit(self._to_json())

    @property
    def schema_text(self) -> str | None:
        """The Avro schema the rows were written with, without meta columns; None if unsaid."""
        return self.extra_metadata.get("schema") or None

    @property
    def write_stats(self) -> Iterator[WriteStat]:
        """The statistics of all files."""
        for stats in self.partition_to_write_stats.values():
            yield from stats

    @classmethod
    def _from_json(
        cls, found: Mapping[str, Any], is_kept: Callable[[str], bool] | None = None
    ) -> CommitMetadata:
        by_partition = found.get("partitionToWriteStats") or {}
        extra = found.get("extraMetadata") or {}
        return cls(
            partition_to_write_stats={
                partition: tuple(WriteStat.from_json(stat) for stat in stats)
                for partition, stats in by_partition.items()
                if is_kept is None or is_kept(partition)
            },
            compacted=bool(found.get("compacted")),
            extra_metadata={k: v if v is None else str(v) for k, v in extra.items()},
            operation_type=str(found.get("operationType") or "UNKNOWN"),
        )

    def _to_json(self) -> dict[str, Any]:
        return {
            "partitionToWriteStats": {
                partition: [stat.to_json() for stat in stats]
                for partition, stats in self.partition_to_write_stats.items()
            },
            "compacted": self.compacted,
            "extraMetadata": dict(self.extra_metadata),
            "operationType": self.operation_type,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceCommitMetadata:
    """A commit that hides file groups: what it wrote, and the file ids it replaced by partition."""

    commit: CommitMetadata
    partition_to_replaced_file_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_bytes(
        cls, data: bytes, is_kept: Callable[[str], bool] | None = None
    ) -> ReplaceCommitMetadata:
        """The metadata in an instant's file; an empty file says nothing and is no error.

        Statistics are those of the partitions that ``is_kept`` keeps.

        Raises:
            CorruptTableError: the bytes are no commit metadata.
        """
        return cls.from_json(_parse(data), is_kept)

    @classmethod
    def from_json(
        cls, found: Mapping[str, Any], is_kept: Callable[[str], bool] | None = None
    ) -> ReplaceCommitMetadata:
        """The metadata in a JSON object; entries that are missing or null have their defaults."""
        with _kinds_expected():
            replaced = found.get("partitionToReplaceFileIds") or {}
            return cls(
                commit=CommitMetadata._from_json(found, is_kept),
                partition_to_replaced_file_ids={
                    partition: tuple(map(str, file_ids)) for partition, file_ids in replaced.items()
                },
            )

    def to_bytes(self) -> bytes:
        """The text of an instant's file."""
        return pretty(self._to_json()).encode()

    def to_avro(self) -> bytes:
        """The bytes of an instant's file in layout 2 of the timeline."""
        return encode_commit(self._to_json())

    def _to_json(self) -> dict[str, Any]:
        replaced = {key: list(ids) for key, ids in self.partition_to_replaced_file_ids.items()}
        return {**self.commit._to_json(), "partitionToReplaceFileIds": replaced}


@contextmanager
def _kinds_expected() -> Iterator[None]:
    """Say of an entry that is no object, list or text where one is expected that it is none.

    Raises:
        CorruptTableError: there is one.
    """
    try:
        yield
    except (TypeError, AttributeError) as error:
        raise CorruptTableError(f"commit metadata cannot be read: {error}") from error


def _parse(data: bytes) -> Mapping[str, Any]:
    if not data:
        return {}
    if data.startswith(MAGIC):
        return decode_commit(data)
    problem = "it is no JSON object"
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        problem = str(error)
    else:
        if isinstance(found, dict):
            return found
    raise CorruptTableError(
        f"commit metadata cannot be read: {problem}. Restore the file from a backup: without it "
        "nobody knows what was written"
    )
