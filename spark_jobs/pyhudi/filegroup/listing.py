"""The partitions and files of a table, found by listing its folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pyhudi.filegroup.names import METADATA_FOLDER, PARTITION_METADATA_PREFIX
from pyhudi.filegroup.slices import BaseFile, LogFile
from pyhudi.storage.storage import FileStatus, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFiles:
    """The data files that a listing found; ``cdc_files`` hold change data and no rows."""

    base_files: tuple[BaseFile, ...]
    log_files: tuple[LogFile, ...]
    cdc_files: tuple[LogFile, ...]


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

    def files(
        self,
        partitions: Iterable[str] | None = None,
        *,
        is_kept: Callable[[str], bool] | None = None,
    ) -> ListedFiles:
        """The data files of all partitions or some; each folder is listed once.

        Partitions are named, or those that ``is_kept`` keeps.
        """
        if partitions is None:
            kept = is_kept or (lambda _: True)
            folders = [(path, entries) for path, entries in self._walk("") if kept(path)]
        else:
            folders = [(path, self.storage.list(path)) for path in sorted(partitions)]
        found = [(path, each) for path, entries in folders for each in entries if not each.is_dir]
        bases = (BaseFile.of(path, each.name, each.size_bytes) for path, each in found)
        logs = [LogFile.of(path, each.name, each.size_bytes) for path, each in found]
        return ListedFiles(
            base_files=tuple(file for file in bases if file is not None),
            log_files=tuple(file for file in logs if file is not None and not file.name.is_cdc),
            cdc_files=tuple(file for file in logs if file is not None and file.name.is_cdc),
        )

    def _walk(self, folder: str) -> Iterator[tuple[str, list[FileStatus]]]:
        entries = self.storage.list(folder)
        if any(entry.name.startswith(PARTITION_METADATA_PREFIX) for entry in entries):
            yield folder, entries
            return
        for entry in entries:
            if entry.is_dir and entry.path != METADATA_FOLDER:
                yield from self._walk(entry.path)
