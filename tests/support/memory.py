"""A Storage in memory: quick, and copied whole to try one state many times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa

from pyhudi.errors import AlreadyExistsError, MissingFileError, PreconditionError
from pyhudi.storage.storage import FileStatus, located_input
from pyhudi.storage.versioned import Versioned


class MemoryStorage:
    """Files as a dict of bytes by path; folders are there when something lies in them.

    A file being written is seen from the moment it is opened, with the bytes it has by then, as on
    a local disk.
    """

    def __init__(self, files: dict[str, bytes] | None = None, now_ms: int = 0) -> None:
        self.files = dict(files or {})
        self.times = dict.fromkeys(self.files, now_ms)
        self.now_ms = now_ms

    @classmethod
    def of(cls, folder: Path, now_ms: int) -> MemoryStorage:
        """The files below a folder."""
        found = (path for path in folder.rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        return cls(files, now_ms)

    @property
    def uri(self) -> str:
        return "/memory/table"

    def copy(self) -> MemoryStorage:
        copied = MemoryStorage(self.files, self.now_ms)
        copied.times = dict(self.times)
        return copied

    def below(self, folder: str) -> list[str]:
        """The files below a folder, sorted."""
        return sorted(path for path in self.files if path.startswith(f"{folder}/"))

    def absolute(self, path: str) -> str:
        return f"{self.uri}/{path}" if path else self.uri

    def list(self, path: str) -> list[FileStatus]:
        prefix = f"{path}/" if path else ""
        names = {
            found[len(prefix) :].split("/")[0] for found in self.files if found.startswith(prefix)
        }
        return [self._status(prefix + name) for name in sorted(names)]

    def list_folders(self, paths: Iterable[str]) -> dict[str, Sequence[FileStatus]]:
        return {path: self.list(path) for path in paths}

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        prefix, left_out = f"{path}/" if path else "", f"{without}/"
        return tuple(
            self._status(found)
            for found in sorted(self.files)
            if found.startswith(prefix) and (without is None or not found.startswith(left_out))
        )

    def status(self, path: str) -> FileStatus | None:
        is_there = path in self.files or any(found.startswith(f"{path}/") for found in self.files)
        return self._status(path) if is_there else None

    def exists(self, path: str) -> bool:
        return self.status(path) is not None

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise MissingFileError(f"{path} is not there")
        return self.files[path]

    def read_settled(self, path: str) -> bytes:
        return self.read(path)

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return located_input(pa.BufferReader(self.read(path)), self.absolute(path))

    def open_output(self, path: str) -> pa.NativeFile:
        self.put(path, b"")
        return pa.PythonFile(Sink(self, path), mode="w")

    def create(self, path: str, data: bytes) -> None:
        if path in self.files:
            raise AlreadyExistsError(f"{path} is already there")
        self.put(path, data)

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = bytes(data)
        self.times[path] = self.now_ms

    def read_versioned(self, path: str) -> Versioned:
        data = self.read(path)
        return Versioned(data=data, version=_version(data), modified_ms=self.times[path])

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        found = _version(self.files[path]) if path in self.files else None
        if found != version:
            raise PreconditionError(f"{path} has the version {found} and not {version}")
        self.put(path, data)
        return _version(data)

    def delete(self, path: str) -> bool:
        self.times.pop(path, None)
        return self.files.pop(path, None) is not None

    def delete_dir(self, path: str) -> None:
        self.delete_all(self.below(path))

    def delete_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.delete(path)

    def make_dir(self, path: str) -> None:
        pass

    def _status(self, path: str) -> FileStatus:
        is_dir = path not in self.files
        return FileStatus(
            path=path,
            size_bytes=0 if is_dir else len(self.files[path]),
            modified_ms=self.times.get(path, self.now_ms),
            is_dir=is_dir,
        )


class Sink:
    """The Python side of an output stream."""

    def __init__(self, storage: MemoryStorage, path: str) -> None:
        self._storage, self._path = storage, path
        self.closed = False

    def write(self, data: bytes) -> int:
        self._storage.files[self._path] += bytes(data)
        return len(data)

    def tell(self) -> int:
        return len(self._storage.files[self._path])

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def _version(data: bytes) -> str:
    """What tells the contents of a file from others, as an entity tag does."""
    return hashlib.sha256(data).hexdigest()
