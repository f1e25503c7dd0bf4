"""The partitions and files of a table, found by listing its folders."""

from __future__ import annotations

from collections import defaultdict
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

    A folder is a partition when it holds a ``.hoodie_partition_metadata`` file; what lies below
    one is none.

    Source: FileSystemBackedTableMetadata, Hudi 0.15.
    """

    storage: Storage

    def partitions(self) -> tuple[str, ...]:
        """The partition paths, sorted; ``""`` alone for a table without partitions."""
        return tuple(sorted(path for path, _ in self._folders()))

    def files(
        self,
        partitions: Iterable[str] | None = None,
        *,
        is_kept: Callable[[str], bool] | None = None,
    ) -> ListedFiles:
        """The data files of all partitions, by one walk, or of some, whose folders are listed.

        Partitions are named, or those that ``is_kept`` keeps.
        """
        if partitions is None:
            kept = is_kept or (lambda _: True)
            folders = [(path, entries) for path, entries in self._folders() if kept(path)]
        else:
            listed = self.storage.list_folders(partitions)
            folders = [(path, list(listed[path])) for path in sorted(listed)]
        found = [(path, each) for path, entries in folders for each in entries if not each.is_dir]
        bases = (BaseFile.of(path, each.name, each.size_bytes) for path, each in found)
        logs = [LogFile.of(path, each.name, each.size_bytes) for path, each in found]
        return ListedFiles(
            base_files=tuple(file for file in bases if file is not None),
            log_files=tuple(file for file in logs if file is not None and not file.name.is_cdc),
            cdc_files=tuple(file for file in logs if file is not None and file.name.is_cdc),
        )

    def _folders(self) -> Iterator[tuple[str, list[FileStatus]]]:
        """Each partition with what lies in it."""
        entries: dict[str, list[FileStatus]] = defaultdict(list)
        partitions = set[str]()
        for entry in self.storage.walk("", without=METADATA_FOLDER):
            folder, _, name = entry.path.rpartition("/")
            entries[folder].append(entry)
            if name.startswith(PARTITION_METADATA_PREFIX):
                partitions.add(folder)
        for folder, found in entries.items():
            if any(above in partitions for above in _folders_above(folder)):
                continue
            if folder in partitions:
                yield folder, found
                continue
            for entry in found:
                if entry.is_dir:  # a link, which says so when it is listed
                    self.storage.list(entry.path)


def _folders_above(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder
