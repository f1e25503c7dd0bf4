"""The files of a source and their folders, by names alone."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import MissingSourceError, SourceError
from pyhudi.keys.partition_path import DEFAULT_PARTITION
from pyhudi.storage.storage import FileStatus, Storage

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file of the source: its path relative to the source, its size and its time.

    Units: bytes, and milliseconds since 1970 in UTC.
    """

    path: str
    size_bytes: int
    modified_ms: int

    @property
    def folder(self) -> str:
        """The folder that it lies in, relative to the source; ``""`` is the source itself."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files to take over, and those in shallower folders, which are not; both by path."""

    files: tuple[FoundFile, ...]
    skipped: tuple[FoundFile, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of the files to take over."""
        return sum(file.size_bytes for file in self.files)


def list_source(storage: Storage, kind: BaseFileFormat) -> Listing:
    """Find the files of a format below the folder of a source.

    Only the deepest folders with files are taken over, as Hudi does; what lies above them is
    named in a warning. Hidden files and folders, as Spark has them, are passed over.

    Raises:
        MissingSourceError: no folder there, or no file of the format in it.
        SourceError: files of another format, or a table of Hudi.
        StorageError: it cannot be listed.
    """
    if storage.exists(".hoodie"):
        raise SourceError(
            f"the source {storage.uri} is a Hudi table itself; read its rows and write them with "
            "upsert.py"
        )
    found = _deepest(_of_format(storage, storage.walk(""), kind))
    if not found.files and not storage.exists(""):
        raise MissingSourceError(f"the source {storage.uri} does not exist; check --source")
    if not found.files:
        raise MissingSourceError(
            f"the source {storage.uri} has no {kind.title} files, whose names end with "
            f"{kind.extension}; check --source and --source-format"
        )
    if found.skipped:
        _log.warning(
            "%s: %d files (%d bytes) are not taken over, as others lie in deeper folders; the "
            "first is %s",
            storage.uri,
            len(found.skipped),
            sum(file.size_bytes for file in found.skipped),
            found.skipped[0].path,
        )
    return found


def _of_format(
    storage: Storage, entries: Iterable[FileStatus], kind: BaseFileFormat
) -> list[FoundFile]:
    found: list[FoundFile] = []
    for entry in entries:
        if any(_is_hidden(part) for part in entry.path.split("/")):
            continue
        if entry.is_dir:
            raise SourceError(
                f"{storage.absolute(entry.path)} is a symbolic link to a folder, which is not "
                "looked into; name the folder itself as the source, or take the link away"
            )
        if not entry.name.endswith(kind.extension):
            other = BaseFileFormat.of_file(entry.name)
            what = "no data file by its name" if other is None else f"an {other.title} file"
            raise SourceError(
                f"the source {storage.uri} is to be {kind.title}, and {entry.path} is {what}; "
                "a bootstrap takes files of one format, take the others away or choose their "
                "format with --source-format"
            )
        found.append(
            FoundFile(path=entry.path, size_bytes=entry.size_bytes, modified_ms=entry.modified_ms)
        )
    return found


def _deepest(files: Sequence[FoundFile]) -> Listing:
    """The files of the deepest folders; the source itself counts as deep as a folder in it.

    Source: BootstrapUtils.getAllLeafFoldersWithFiles, Hudi 0.15 and 1.1, which counts slashes.
    """
    by_depth: dict[int, list[FoundFile]] = defaultdict(list)
    for file in files:
        by_depth[file.folder.count("/")].append(file)
    deepest = max(by_depth, default=0)
    kept = by_depth.pop(deepest, [])
    skipped = sorted((file for each in by_depth.values() for file in each), key=lambda f: f.path)
    return Listing(files=tuple(sorted(kept, key=lambda f: f.path)), skipped=tuple(skipped))


def _is_hidden(name: str) -> bool:
    """The folder of rows without a partition value is none, whose name may be the value alone.

    Source: HadoopFSUtils.shouldFilterOutPathName, Spark 3.5.
    """
    if name == DEFAULT_PARTITION:
        return False
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
