"""The partitions and files of a table, found by listing its folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyhudi.filegroup.names import PARTITION_METADATA_PREFIX
from pyhudi.filegroup.slices import BaseFile, LogFile
from pyhudi.storage.storage import FileStatus, Storage

_META_FOLDER = ".hoodie"


@dataclass(frozen=True, slots=True)
class StorageListing:
    """Finds partitions and files by listing.

    A folder is a partition when it holds a ``.hoodie_partition_metadata`` file; only the folders
    below one that does not are looked into.

    Source: FileSystemBackedTableMetadata, Hudi 0.15.
    """

    storage: Storage

    def partitions(self) -> tuple[str, ...]:
        """The partition paths, sorted; ``""`` alone for a table without partitions."""
        return tuple(sorted(path for path, _ in self._walk("")))

    def all_files(self) -> tuple[BaseFile, ...]:
        """The base files of every partition; each folder is listed once."""
        found = (_base_files(path, entries) for path, entries in self._walk(""))
        return tuple(file for files in found for file in files)

    def base_and_log_files(
        self, partitions: Iterable[str] | None = None
    ) -> tuple[tuple[BaseFile, ...], tuple[LogFile, ...]]:
        """The base files and log files of all partitions or some; each folder is listed once."""
        if partitions is None:
            folders = list(self._walk(""))
        else:
            folders = [(path, self.storage.list(path)) for path in partitions]
        return (
            tuple(file for path, entries in folders for file in _base_files(path, entries)),
            tuple(file for path, entries in folders for file in _log_files(path, entries)),
        )

    def _walk(self, folder: str) -> Iterator[tuple[str, list[FileStatus]]]:
        entries = self.storage.list(folder)
        if any(entry.name.startswith(PARTITION_METADATA_PREFIX) for entry in entries):
            yield folder, entries
            return
        for entry in entries:
            if entry.is_dir and entry.path != _META_FOLDER:
                yield from self._walk(entry.path)


def _base_files(partition: str, entries: list[FileStatus]) -> tuple[BaseFile, ...]:
    found = (
        BaseFile.of(partition, entry.name, entry.size_bytes)
        for entry in entries
        if not entry.is_dir
    )
    return tuple(file for file in found if file is not None)


def _log_files(partition: str, entries: list[FileStatus]) -> tuple[LogFile, ...]:
    found = (
        LogFile.of(partition, entry.name, entry.size_bytes) for entry in entries if not entry.is_dir
    )
    return tuple(file for file in found if file is not None)
