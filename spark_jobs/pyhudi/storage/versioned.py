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


def read_known(storage: Storage, path: str, tag: str = "") -> bytes:
    """The whole file; from memory where a listing has just shown the version that is known."""
    read = getattr(storage, "read_known", None)
    return storage.read(path) if read is None else read(path, tag)


def is_flat(storage: Storage) -> bool:
    """Whether the storage has no folders that would stay behind when they are empty."""
    return getattr(storage, "is_flat", False)


def as_versioned(storage: Storage) -> VersionedStorage | None:
    """The storage as one that compares and swaps; None when it does not."""
    # Storages are wrapped, and a wrapper has what is below it.
    return cast(VersionedStorage, storage) if callable(getattr(storage, "put_if", None)) else None
