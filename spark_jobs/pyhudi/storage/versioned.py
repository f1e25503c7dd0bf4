"""Files that are replaced only as long as nobody else has replaced them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """A whole file, and what tells this version of it from all others.

    Units: ``modified_ms`` in milliseconds since 1970 in UTC, by the storage's clock.
    """

    data: bytes
    version: str
    modified_ms: int


class VersionedStorage(Protocol):
    """A storage that compares and swaps: an object store does, by entity tag or generation."""

    def read_versioned(self, path: str) -> Versioned:
        """The whole file.

        Raises:
            MissingFileError: no file at the path.
        """
        ...

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        """Replace this version of a file; None makes one where there is none. The next version.

        It is tried once: whoever gets no clear answer has to look what became of it.

        Raises:
            PreconditionError: the file has another version, or is there, or is not. It may be this
                very call's, where the store or somebody on the way sent it twice.
            UnclearAnswerError: nobody knows whether it was done.
        """
        ...


class ListedStorage(Protocol):
    """A storage whose listings tell versions of files, and that has no folders but by its files."""

    @property
    def is_flat(self) -> bool:
        """That a folder is gone with the last file in it."""
        ...

    def read_known(self, path: str, tag: str) -> bytes:
        """The whole file; from memory where this process has read the version of this tag."""
        ...


def read_known(storage: Storage, path: str, tag: str = "") -> bytes:
    """The whole file; from memory where a listing has just shown the version that is known."""
    listed = _as_listed(storage)
    return storage.read(path) if listed is None else listed.read_known(path, tag)


def is_flat(storage: Storage) -> bool:
    """Whether the storage has no folders that would stay behind when they are empty."""
    listed = _as_listed(storage)
    return listed is not None and listed.is_flat


def _as_listed(storage: Storage) -> ListedStorage | None:
    is_one = callable(getattr(storage, "read_known", None))
    return cast(ListedStorage, storage) if is_one else None


def as_versioned(storage: Storage) -> VersionedStorage | None:
    """The storage as one that compares and swaps; None when it does not."""
    # Storages are wrapped, and a wrapper has what is below it.
    return cast(VersionedStorage, storage) if callable(getattr(storage, "put_if", None)) else None
