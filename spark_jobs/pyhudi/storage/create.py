"""How each kind of store makes a file appear at once, and only if it is absent."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import NoReturn

from pyarrow import fs

from pyhudi.errors import UnsupportedError


def create_local(_filesystem: fs.FileSystem, path: str, data: bytes) -> None:
    """Write a hidden sibling, then link it to its name: whole at once, and never over another.

    A hard link fails when the name exists, which a rename on POSIX does not.
    """
    with _sibling(path, data) as temporary:
        os.link(temporary, path)


def replace_local(_filesystem: fs.FileSystem, path: str, data: bytes) -> None:
    """Write a hidden sibling, then rename it over the name; a checksum sidecar goes first.

    Hadoop's local file system checks ``.<name>.crc`` beside a file, and a sidecar of the old bytes
    would make the new ones unreadable for it (ChecksumFileSystem, Hadoop 3).
    """
    folder, name = os.path.split(path)
    with _sibling(path, data) as temporary:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, f".{name}.crc"))
        os.replace(temporary, path)


class _Sibling(contextlib.AbstractContextManager[str]):
    def __init__(self, path: str, data: bytes) -> None:
        self._path, self._data, self._temporary = path, data, ""

    def __enter__(self) -> str:
        folder, name = os.path.split(self._path)
        descriptor, self._temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(self._data)
                out.flush()
                os.fsync(out.fileno())
            os.chmod(self._temporary, 0o666 & ~_umask())
        except BaseException:
            self._remove()
            raise
        return self._temporary

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)


def _sibling(path: str, data: bytes) -> _Sibling:
    return _Sibling(path, data)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def refuse(_filesystem: fs.FileSystem, path: str, _data: bytes) -> NoReturn:
    """Refuse to write where no create-if-absent is known.

    Raises:
        UnsupportedError: always.
    """
    raise UnsupportedError(
        f"cannot write {path}: on this kind of storage there is no way yet to create a file only "
        "if it is absent, and without one two writers could commit the same instant. Reading works "
        "here; write to a local or mounted file system."
    )
