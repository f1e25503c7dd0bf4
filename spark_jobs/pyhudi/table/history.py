"""The files of the archived timeline of layout 2: an LSM tree of Parquet files and a manifest.

::

    <instant>_<instant>_<level>.parquet    archived instants, a row each
    manifest_<number>                      JSON, which of these files there are
    _version_                              the number of the manifest that counts

Without ``_version_`` the manifest of the highest number counts. The instants in a file's name are
those of its first and last row, which an upgrade leaves in any order.

Source: LSMTimeline, LSMTimelineWriter and ArchivedTimelineLoaderV2, Hudi 1.0 and 1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.storage.storage import FileStatus, Storage

TIME: Final = "instantTime"
COMPLETION_TIME: Final = "completionTime"
ACTION: Final = "action"
METADATA: Final = "metadata"
PLAN: Final = "plan"

VERSION: Final = "_version_"
_MANIFEST: Final = re.compile(r"manifest_(\d+)")
_FILE: Final = re.compile(r"(\d+)_(\d+)_(\d+)\.parquet")
_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFile:
    """A file of archived instants by its name; ``first`` and ``last`` as its writer named them."""

    name: str
    size_bytes: int

    @property
    def first(self) -> str:
        """The first instant, as the name says."""
        return self.name.split("_")[0]

    @property
    def last(self) -> str:
        """The last instant, as the name says."""
        return self.name.split("_")[1]

    @property
    def level(self) -> int:
        """How often what it holds was merged."""
        return int(self.name.split("_")[2].partition(".")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The files that there are; number 0 names none, and is there before all others."""

    number: int = 0
    files: tuple[HistoryFile, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the files."""
        return frozenset(each.name for each in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What lies in the folder of an archive; ``noted`` is the number that ``_version_`` says."""

    entries: Mapping[str, FileStatus] = field(repr=False)
    noted: int | None = None

    @property
    def manifests(self) -> tuple[int, ...]:
        """The numbers of the manifests, the highest first."""
        found = (_MANIFEST.fullmatch(name) for name in self.entries)
        return tuple(sorted((int(each.group(1)) for each in found if each), reverse=True))

    @property
    def files(self) -> frozenset[str]:
        """The names of the files of instants, whether they count or not."""
        return frozenset(name for name in self.entries if _FILE.fullmatch(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The archive in a folder, as its manifest has it that counts."""

    storage: Storage
    folder: str

    def files(self) -> tuple[FileStatus, ...]:
        """The files that count, those last that were made last; none without a manifest.

        Raises:
            CorruptTableError: the manifest cannot be read, or names a file that is not there.
        """
        problem = ""
        for _ in range(_TRIES):
            listing = self.look()
            number = next(iter(listing.manifests), 0) if listing.noted is None else listing.noted
            if number == 0:
                return ()
            where = self.storage.absolute(self.path(f"manifest_{number}"))
            problem = f"{where}, which counts, is not there: archived instants are lost. Restore it"
            # The archive may have gone on since it was listed.
            with suppress(MissingFileError):
                names = self.manifest(number).names
                missing = names - listing.entries.keys()
                if not missing:
                    found = (listing.entries[name] for name in names)
                    return tuple(sorted(found, key=lambda file: (file.modified_ms, file.name)))
                problem = (
                    f"{where} names {min(missing)}, which is not there: archived instants are "
                    "lost. Restore the file"
                )
        raise CorruptTableError(problem)

    def look(self) -> Listing:
        """What lies in the folder now.

        Guarantees: where ``_version_`` is noted it was there when the folder had been listed.
        """
        entries: dict[str, FileStatus] = {}
        for _ in range(_TRIES):
            entries = {each.name: each for each in self.storage.list(self.folder)}
            if VERSION not in entries:
                break
            with suppress(MissingFileError):
                text = self.storage.read(self.path(VERSION)).strip()
                return Listing(entries=entries, noted=int(text) if text.isdigit() else None)
        return Listing(entries=entries)

    def manifest(self, number: int) -> Manifest:
        """The manifest of a number.

        Raises:
            CorruptTableError: it cannot be read.
            MissingFileError: there is none.
        """
        path = self.path(f"manifest_{number}")
        files = _files(self.storage.read(path), self.storage.absolute(path))
        return Manifest(number=number, files=files)

    def path(self, name: str) -> str:
        """Where a file of the archive lies."""
        return f"{self.folder}/{name}"

    def rows(self, file: FileStatus, columns: Sequence[str], since: str = "") -> pa.Table:
        """Some columns of the instants in a file that were requested at a time or later.

        Raises:
            CorruptTableError: it is no file of archived instants.
            MissingFileError: it is gone since it was listed.
        """
        where = self.storage.absolute(file.path)
        is_asked = pc.field(TIME) >= since if since else None
        try:
            with self.storage.open_input(file.path) as source:
                return pq.read_table(
                    source, columns=list(columns), filters=is_asked, use_threads=False
                )
        except MissingFileError as error:
            raise MissingFileError(
                f"{where} is gone: instants were archived meanwhile. Retry to read the archive as "
                "it is now"
            ) from error
        except (pa.ArrowInvalid, pa.ArrowKeyError, ValueError, OSError) as error:
            raise CorruptTableError(f"{where} holds no archived instants: {error}") from error


def _files(data: bytes, where: str) -> tuple[HistoryFile, ...]:
    """The files that a manifest names, in its order."""
    try:
        found: Any = json.loads(data)
        files = tuple(
            HistoryFile(name=str(each["fileName"]), size_bytes=int(each.get("fileLen", 0)))
            for each in found["files"]
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptTableError(f"{where} is no manifest of archived instants: {error}") from error
    for file in files:
        if _FILE.fullmatch(file.name) is None:
            name = file.name[:60]
            raise CorruptTableError(f"{where} names {name!r}, which is no file of instants")
    return files
