"""A Storage in memory that processes share, made for speed, and one process's view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import pyarrow as pa

from pyhudi.errors import (
    AlreadyExistsError,
    MissingFileError,
    PreconditionError,
    StorageError,
    UnclearAnswerError,
)
from pyhudi.storage.storage import FileStatus, located_input
from pyhudi.storage.versioned import Versioned
from tests.simulator.world import Kind, Process, World

T = TypeVar("T")
_URI = "/memory/table"


class Files:
    """Files by path, with what a listing says of them; folders are there when files are in them.

    ``now_ms`` tells the time of the storage, by which files are dated. ``told`` is called with
    each file that comes to be or goes.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.now_ms: Callable[[], float] = lambda: 0.0
        self.told: Callable[[str, bool], None] | None = None
        self._statuses: dict[str, FileStatus] = {}
        self._versions: dict[str, int] = {}
        self._inside: dict[str, dict[str, None]] = {"": {}}

    def copy(self) -> Files:
        """The same files."""
        copied = Files()
        copied.files, copied._statuses = dict(self.files), dict(self._statuses)
        copied._inside = {path: dict(names) for path, names in self._inside.items()}
        copied.now_ms = self.now_ms
        return copied

    @property
    def uri(self) -> str:
        return _URI

    def absolute(self, path: str) -> str:
        return f"{_URI}/{path}" if path else _URI

    def below(self, folder: str) -> list[str]:
        """The files below a folder, sorted."""
        prefix = f"{folder}/"
        return sorted(path for path in self.files if path.startswith(prefix))

    def list(self, path: str) -> list[FileStatus]:
        prefix = f"{path}/" if path else ""
        return [self._status(prefix + name) for name in sorted(self._inside.get(path, ()))]

    def list_folders(self, paths: Iterable[str]) -> dict[str, Sequence[FileStatus]]:
        return {path: self.list(path) for path in paths}

    def read_settled(self, path: str) -> bytes:
        return self.read(path)

    def delete_all(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.delete(path)

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        found: list[FileStatus] = []
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            prefix = f"{folder}/" if folder else ""
            for name in self._inside.get(folder, ()):
                each = prefix + name
                if each in self._inside:
                    if each != without:
                        waiting.append(each)
                else:
                    found.append(self._statuses[each])
        return tuple(sorted(found, key=_path_of))

    def status(self, path: str) -> FileStatus | None:
        return self._status(path) if path in self.files or path in self._inside else None

    def exists(self, path: str) -> bool:
        return path in self.files or path in self._inside

    def read(self, path: str) -> bytes:
        try:
            return self.files[path]
        except KeyError:
            raise MissingFileError(f"{path} is not there") from None

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return located_input(pa.BufferReader(self.read(path)), self.absolute(path))

    def open_output(self, path: str) -> pa.NativeFile:
        self.put(path, b"")
        return pa.PythonFile(_Sink(self, path), mode="w")

    def create(self, path: str, data: bytes) -> None:
        if path in self.files:
            raise AlreadyExistsError(f"{path} is already there")
        self.put(path, data)

    def put(self, path: str, data: bytes) -> None:
        is_new = path not in self.files
        if is_new:
            self._enter(path)
        self.files[path] = data
        self._versions[path] = self._versions.get(path, 0) + 1
        self._statuses[path] = FileStatus(
            path=path, size_bytes=len(data), modified_ms=int(self.now_ms()), is_dir=False
        )
        if is_new and self.told is not None:
            self.told(path, True)

    def read_versioned(self, path: str) -> Versioned:
        data, status = self.read(path), self._statuses[path]
        return Versioned(
            data=data, version=str(self._versions.get(path, 0)), modified_ms=status.modified_ms
        )

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        found = str(self._versions.get(path, 0)) if path in self.files else None
        if found != version:
            raise PreconditionError(f"{path} has the version {found} and not {version}")
        self.put(path, data)
        return str(self._versions[path])

    def touch(self, path: str) -> None:
        if path in self.files:
            self.put(path, self.files[path])

    def delete(self, path: str) -> bool:
        if self.files.pop(path, None) is None:
            return False
        del self._statuses[path]
        self._leave(path)
        if self.told is not None:
            self.told(path, False)
        return True

    def delete_dir(self, path: str) -> None:
        for each in self.below(path):
            self.delete(each)

    def make_dir(self, path: str) -> None:
        """Folders come with their files."""

    def _status(self, path: str) -> FileStatus:
        found = self._statuses.get(path)
        if found is None:
            found = FileStatus(path=path, size_bytes=0, modified_ms=0, is_dir=True)
        return found

    def _enter(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        is_known = folder in self._inside
        self._inside.setdefault(folder, {})[name] = None
        if not is_known and folder:
            self._enter(folder)

    def _leave(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        inside = self._inside[folder]
        del inside[name]
        if not inside and folder:
            del self._inside[folder]
            self._leave(folder)


def _path_of(status: FileStatus) -> str:
    return status.path


class _Sink:
    """The Python side of an output stream."""

    def __init__(self, files: Files, path: str) -> None:
        self._files, self._path, self._parts = files, path, list[bytes]()
        self.closed = False

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._files.put(self._path, b"".join(self._parts))


def _no_answer(what: str, path: str) -> StorageError:
    kind = UnclearAnswerError if what == "swap" else StorageError
    return kind(f"{what} {path}: no answer in time")


class ProcessFiles:
    """The files as one process reaches them: each call is a turn, and something may befall it.

    Of an output stream its opening is a call; its bytes are there when it is closed.
    """

    def __init__(self, files: Files, world: World, process: Process) -> None:
        self.files, self.world, self.process = files, world, process

    @property
    def uri(self) -> str:
        return _URI

    def absolute(self, path: str) -> str:
        return f"{_URI}/{path}" if path else _URI

    def list(self, path: str) -> list[FileStatus]:
        def listed() -> list[FileStatus]:
            if path in (".hoodie", ".hoodie/timeline"):
                self.process.saw = self.world.completed
            return self.files.list(path)

        return self._call("list", path, listed)

    def list_folders(self, paths: Iterable[str]) -> dict[str, Sequence[FileStatus]]:
        return {path: self.list(path) for path in paths}

    def read_settled(self, path: str) -> bytes:
        return self.read(path)

    def delete_all(self, paths: Iterable[str]) -> None:
        """A call for each file, some of which may be made where others are not."""
        for path in paths:
            self.delete(path)

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        return self._call("walk", path, lambda: self.files.walk(path, without))

    def status(self, path: str) -> FileStatus | None:
        return self._call("status", path, lambda: self.files.status(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self.files.exists(path))

    def read(self, path: str) -> bytes:
        return self._call("read", path, lambda: self.files.read(path))

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return self._call("open", path, lambda: self.files.open_input(path))

    def open_output(self, path: str) -> pa.NativeFile:
        return self._call("write", path, lambda: self.files.open_output(path))

    def create(self, path: str, data: bytes) -> None:
        self._call("create", path, lambda: self.files.create(path, data))

    def put(self, path: str, data: bytes) -> None:
        self._call("put", path, lambda: self.files.put(path, data))

    def read_versioned(self, path: str) -> Versioned:
        return self._call("read", path, lambda: self.files.read_versioned(path))

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        return self._call("swap", path, lambda: self.files.put_if(path, data, version))

    def touch(self, path: str) -> None:
        self._call("touch", path, lambda: self.files.touch(path))

    def delete(self, path: str) -> bool:
        return self._call("delete", path, lambda: self.files.delete(path))

    def delete_dir(self, path: str) -> None:
        """A call for each file, as no file system deletes a folder at once."""
        for each in self.files.below(path):
            self.delete(each)

    def make_dir(self, path: str) -> None:
        self._call("make_dir", path, lambda: None)

    def _call(self, what: str, path: str, call: Callable[[], T]) -> T:
        world = self.world
        incident = world.step(what, path)
        if path.startswith((".hoodie/lock", ".hoodie/.locks/")):
            self.process.asked_lock = self.process.calls
        if incident is None:
            return call()
        if incident.kind is Kind.CALL_LOST:
            raise _no_answer(what, path)
        result = call()
        if incident.kind is Kind.ANSWER_LOST:
            raise _no_answer(what, path)
        world.after(incident)
        is_behind = incident.kind is Kind.STALE and what in ("walk", "list")
        return self._without_newest(result) if is_behind else result

    def _without_newest(self, listed: T) -> T:
        """A listing as a store may give it that is behind."""
        found = [each for each in listed if each.path.endswith(".parquet")]  # type: ignore[attr-defined]
        newest = max(found, key=lambda each: (each.modified_ms, each.path), default=None)
        return type(listed)(each for each in listed if each is not newest)  # type: ignore
