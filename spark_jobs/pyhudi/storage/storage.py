"""What the engine needs of a place where a table lies."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pyhudi.config.access.secret import redacted
from pyhudi.errors import StorageError, located

if TYPE_CHECKING:
    import pyarrow as pa

_ADVICE: Final = {
    errno.ENOSPC: "the disk is full; free space and retry",
    errno.EDQUOT: "the quota is used up; free space and retry",
    errno.EFBIG: "no file may grow that large here; see ulimit -f",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """One entry of a folder: path relative to the storage's root, size in bytes, times in ms.

    ``tag`` tells the version of a file from all others, where a store lists such.
    """

    path: str
    size_bytes: int
    modified_ms: int
    is_dir: bool
    tag: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


class Storage(Protocol):
    """A table's folder; paths are relative to it, separated by ``/``, and ``""`` is the root.

    Names come from a table's metadata, which anyone may have written: a path that leads out of the
    folder, by its text or by a symbolic link, is a ``CorruptTableError``.

    Guarantees, on which the commit protocol rests:

    * ``create`` makes a file appear whole or not at all, and of several callers that create one
      path exactly one succeeds; the others get ``AlreadyExistsError``.
    * ``put`` replaces a file whole: a reader sees the old bytes or the new ones.
    * what ``create``, ``put`` or a closed ``open_output`` stream wrote is seen by every later
      ``list``, ``walk`` and ``read``.

    Instances are picklable: Spark tasks open their own. What tasks call is anything but ``create``,
    for which they may lack what the driver has.
    """

    @property
    def uri(self) -> str:
        """The root as the user gave it, scheme included where there was one."""
        ...

    def absolute(self, path: str) -> str:
        """The path as the file system knows it, without a scheme."""
        ...

    def list(self, path: str) -> list[FileStatus]:
        """Entries of a folder sorted by path; empty when the folder is absent."""
        ...

    def list_folders(self, paths: Iterable[str]) -> Mapping[str, Sequence[FileStatus]]:
        """Entries of several folders, in as few calls as the store has for it.

        Folders within these may be missing among the entries.
        """
        ...

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        """The files below a folder, sorted by path; one call where the store has such a one.

        The folder at ``without`` is left out. Folders behind symbolic links are not looked into,
        and are among what is found.
        """
        ...

    def status(self, path: str) -> FileStatus | None:
        """The entry at the path, or None."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or folder lies at the path."""
        ...

    def read(self, path: str) -> bytes:
        """The whole file.

        Raises:
            MissingFileError: no file at the path.
        """
        ...

    def read_settled(self, path: str) -> bytes:
        """The whole file, where a name never gets other bytes.

        It may have been read before, and be gone since.

        Raises: as ``read``.
        """
        ...

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A seekable input file, to be used in a ``with``, whose errors name the file."""
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that makes or replaces a file; missing folders are made."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Make a file with these bytes unless one is there.

        Raises:
            AlreadyExistsError: a file is there already.
        """
        ...

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file with these bytes."""
        ...

    def delete(self, path: str) -> bool:
        """Delete a file; False when it was absent, True where the store does not tell."""
        ...

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete files in as few requests as the store has for it; absent ones are fine."""
        ...

    def delete_dir(self, path: str) -> None:
        """Delete a folder with all it holds; absent is fine."""
        ...

    def make_dir(self, path: str) -> None:
        """Make a folder and those above it; present is fine."""
        ...


@contextmanager
def located_input(source: pa.NativeFile, where: str) -> Iterator[pa.NativeFile]:
    """An input file that is closed in the end; errors that what it holds gives rise to name it."""
    with located(where), source:
        yield source


@contextmanager
def located_output(where: str) -> Iterator[None]:
    """What is done to a file that ``open_output`` gave, whose errors do not name it.

    Raises:
        StorageError: it could not be written.
    """
    try:
        yield
    except OSError as error:
        raise failed_call("write", where, error) from error


def failed_call(verb: str, where: str, error: OSError) -> StorageError:
    """A call that failed: what it was to do with which file, why it did not, and what helps."""
    advice = _ADVICE.get(error.errno or 0)
    # What a store answers may quote the URI that it was asked for.
    said = f"cannot {verb} {where}: {redacted(str(error))}"
    return StorageError(f"{said}; {advice}" if advice else said)
