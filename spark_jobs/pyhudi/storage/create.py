"""How each kind of store makes a file appear at once, and only if it is absent."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, Final, NoReturn

from pyarrow import fs

from pyhudi.errors import UnsupportedError

_DESCRIPTORS: Final = "/proc/self/fd"
_HAS_NAMELESS: Final = hasattr(os, "O_TMPFILE") and os.path.isdir(_DESCRIPTORS)
# What file systems and kernels say that know no files without a name: open(2), Linux.
_NO_NAMELESS: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS)


def create_local(_filesystem: fs.FileSystem, path: str, data: bytes) -> None:
    """Write the bytes beside it, then link them to the name: whole at once, never over another.

    A hard link fails when the name exists, which a rename on POSIX does not.
    Guarantees: a process that is killed leaves nothing but the file, where the file system has
        files without a name.
    """
    nameless = _nameless(os.path.dirname(path))
    if nameless is None:
        with _sibling(path, data) as temporary:
            os.link(temporary, path)
        return
    with nameless:
        _fill(nameless, data)
        _give_name(nameless, path)


def replace_local(filesystem: fs.FileSystem, path: str, data: bytes) -> None:
    """Make the file where there is none; else write a hidden sibling, and rename it over the name.

    A checksum sidecar goes first: Hadoop's local file system checks ``.<name>.crc`` beside a file,
    and one of the old bytes would make the new ones unreadable for it (ChecksumFileSystem,
    Hadoop 3).
    """
    folder, name = os.path.split(path)
    sidecar = os.path.join(folder, f".{name}.crc")
    if not os.path.lexists(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(sidecar)
        with contextlib.suppress(FileExistsError):
            create_local(filesystem, path, data)
            return
    with _sibling(path, data) as temporary:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(sidecar)
        os.replace(temporary, path)


def _nameless(folder: str) -> BinaryIO | None:
    """A new file in a folder that is gone when it is closed; None where there are no such files."""
    if not _HAS_NAMELESS:
        return None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in _NO_NAMELESS:
            return None
        raise
    return os.fdopen(descriptor, "wb")


def _give_name(nameless: BinaryIO, path: str) -> None:
    """Source: open(2), Linux, of O_TMPFILE; with a folder Python calls linkat, which follows."""
    descriptor = nameless.fileno()
    where = f"{_DESCRIPTORS}/{descriptor}"
    os.link(where, path, src_dir_fd=descriptor, follow_symlinks=True)


def _fill(out: BinaryIO, data: bytes) -> None:
    out.write(data)
    out.flush()
    os.fsync(out.fileno())


@contextlib.contextmanager
def _sibling(path: str, data: bytes) -> Iterator[str]:
    """A hidden file beside a name, with the bytes; gone in the end, unless it was renamed."""
    folder, name = os.path.split(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as out:
            _fill(out, data)
        os.chmod(temporary, 0o666 & ~_umask())
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


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
