"""The files of the archived timeline of layout 2: an LSM tree of Parquet files and a manifest.

::

    <instant>_<instant>_<level>.parquet    archived instants, a row each
    manifest_<number>                      JSON, which of these files there are
    _version_                              the number of the manifest that counts

The instants in a file's name are those of its first and last row, which an upgrade leaves in any
order, so that nothing is told by them.

Source: LSMTimeline, LSMTimelineWriter and ArchivedTimelineLoaderV2, Hudi 1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

_VERSION: Final = "_version_"
_MANIFEST: Final = re.compile(r"manifest_(\d+)")
_FILE: Final = re.compile(r"(\d+)_(\d+)_(\d+)\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The archive in a folder, as its latest manifest has it."""

    storage: Storage
    folder: str

    def files(self) -> tuple[FileStatus, ...]:
        """The files that count, those last that were made last; none without a manifest.

        Raises:
            CorruptTableError: the manifest cannot be read, or names a file that is not there.
        """
        found = {each.name: each for each in self.storage.list(self.folder) if not each.is_dir}
        number = self._number(found)
        if number is None:
            return ()
        path = f"{self.folder}/manifest_{number}"
        names = _names(self.storage.read(path), self.storage.absolute(path))
        missing = sorted(name for name in names if name not in found)
        if missing:
            raise CorruptTableError(
                f"{self.storage.absolute(path)} names {missing[0]}, which is not there: archived "
                "instants are lost. Restore the file"
            )
        files = (found[name] for name in names)
        return tuple(sorted(files, key=lambda file: (file.modified_ms, file.name)))

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

    def _number(self, names: Iterable[str]) -> int | None:
        """The number of the manifest that counts: the one noted, or the highest."""
        if _VERSION in names:
            text = self.storage.read(f"{self.folder}/{_VERSION}").strip()
            if text.isdigit():
                return int(text)
        numbers = [int(each.group(1)) for name in names if (each := _MANIFEST.fullmatch(name))]
        return max(numbers, default=None)


def _names(data: bytes, where: str) -> list[str]:
    """The files that a manifest names."""
    try:
        found: Any = json.loads(data)
        names = [str(each["fileName"]) for each in found["files"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptTableError(f"{where} is no manifest of archived instants: {error}") from error
    for name in names:
        if _FILE.fullmatch(name) is None:
            raise CorruptTableError(f"{where} names {name[:60]!r}, which is no file of instants")
    return names
