"""A Storage whose n-th call fails, or is the last thing its process ever does."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TypeVar

import pyarrow as pa

from pyhudi.errors import StorageError
from pyhudi.storage.storage import FileStatus
from pyhudi.storage.versioned import Versioned
from pyhudi.transaction.process import ProcessMark
from tests.support.memory import MemoryStorage, Sink

T = TypeVar("T")
_DEAD: list[int] = []


class Fault(Enum):
    """What happens at the call."""

    NONE = "none"
    ERROR = "the call fails and does nothing"
    LATE_ERROR = "the call does its work and fails all the same"
    FULL_DISK = "this and all later calls that need space fail"
    TIMEOUT = "the call and all later ones get no answer in time"
    DEATH = "the process ends before the call"


class Killed(BaseException):
    """The process is gone; nothing it would still do reaches the storage."""


@dataclass
class Faults:
    """Counts storage calls, and lets the one numbered ``at`` fail; the first is number 1."""

    kind: Fault = Fault.NONE
    at: int = 0
    calls: int = 0
    before: Callable[[bool], None] | None = None
    """Called before each call with whether it takes space."""

    def run(self, call: Callable[[], T], *, takes_space: bool, error: type[OSError] | None) -> T:
        self.calls += 1
        if self.before is not None:
            self.before(takes_space)
        is_it, is_past = self.calls == self.at, self.calls >= self.at
        if self.kind is Fault.DEATH and is_past:
            raise Killed
        if self.kind is Fault.FULL_DISK and is_past and takes_space:
            raise self._failure(error)
        if self.kind is Fault.TIMEOUT and is_past:
            raise self._no_answer(error)
        if self.kind is Fault.ERROR and is_it:
            raise self._failure(error)
        result = call()
        if self.kind is Fault.LATE_ERROR and is_it:
            raise self._failure(error)
        return result

    def _no_answer(self, error: type[OSError] | None) -> Exception:
        if error is not None:
            return TimeoutError(errno.ETIMEDOUT, "Connection timed out")
        return StorageError(f"call {self.calls} failed: Connection timed out")

    def _failure(self, error: type[OSError] | None) -> Exception:
        if error is not None:
            return error(errno.ENOSPC, "No space left on device")
        return StorageError(f"call {self.calls} failed: No space left on device")


class FaultyStorage:
    """Another Storage, with faults; calls on its output streams count too."""

    def __init__(self, inner: MemoryStorage, faults: Faults) -> None:
        self.inner, self.faults = inner, faults

    @property
    def uri(self) -> str:
        return self.inner.uri

    def absolute(self, path: str) -> str:
        return self.inner.absolute(path)

    def list(self, path: str) -> list[FileStatus]:
        return self._call(lambda: self.inner.list(path))

    def list_folders(self, paths: Iterable[str]) -> dict[str, Sequence[FileStatus]]:
        """One call for each folder, as on a file system."""
        return {path: self.list(path) for path in paths}

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        return self._call(lambda: self.inner.walk(path, without))

    def status(self, path: str) -> FileStatus | None:
        return self._call(lambda: self.inner.status(path))

    def exists(self, path: str) -> bool:
        return self._call(lambda: self.inner.exists(path))

    def read(self, path: str) -> bytes:
        return self._call(lambda: self.inner.read(path))

    def read_settled(self, path: str) -> bytes:
        return self.read(path)

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return self._call(lambda: self.inner.open_input(path))

    def open_output(self, path: str) -> pa.NativeFile:
        self._call(lambda: self.inner.put(path, b""), takes_space=True)
        return pa.PythonFile(_FaultySink(self.inner, path, self.faults), mode="w")

    def create(self, path: str, data: bytes) -> None:
        self._call(lambda: self.inner.create(path, data), takes_space=True)

    def put(self, path: str, data: bytes) -> None:
        self._call(lambda: self.inner.put(path, data), takes_space=True)

    def read_versioned(self, path: str) -> Versioned:
        return self._call(lambda: self.inner.read_versioned(path))

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        return self._call(lambda: self.inner.put_if(path, data, version), takes_space=True)

    def make_dir(self, path: str) -> None:
        self._call(lambda: self.inner.make_dir(path), takes_space=True)

    def delete(self, path: str) -> bool:
        return self._call(lambda: self.inner.delete(path))

    def delete_all(self, paths: Iterable[str]) -> None:
        """One call for each file, as on a file system."""
        for path in paths:
            self.delete(path)

    def delete_dir(self, path: str) -> None:
        """One call for each file, since no file system deletes a folder at once."""
        for found in self.inner.below(path):
            self.delete(found)

    def _call(self, call: Callable[[], T], *, takes_space: bool = False) -> T:
        return self.faults.run(call, takes_space=takes_space, error=None)


class _FaultySink(Sink):
    def __init__(self, storage: MemoryStorage, path: str, faults: Faults) -> None:
        super().__init__(storage, path)
        self._faults = faults

    def write(self, data: bytes) -> int:
        append = partial(super().write, data)
        return self._faults.run(append, takes_space=True, error=OSError)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._faults.run(lambda: None, takes_space=True, error=OSError)


class Visited(FaultyStorage):
    """Another Storage; ``visit`` is called with the number of the call to come, which is 1 first.

    It sees and changes what is below, where calls are not counted.
    """

    def __init__(self, inner: MemoryStorage, visit: Callable[[int], None]) -> None:
        super().__init__(inner, Faults())
        self.calls, self._visit = 0, visit

    def _call(self, call: Callable[[], T], *, takes_space: bool = False) -> T:
        self.calls += 1
        self._visit(self.calls)
        return super()._call(call, takes_space=takes_space)


def bury(storage: MemoryStorage) -> None:
    """Let every heartbeat be that of a process of this machine that is gone."""
    for path in storage.below(".hoodie/.heartbeat"):
        if "/.ending-" not in path:  # which names no process
            storage.put(path, heartbeat_of(dead_pid()))


def heartbeat_of(pid: int) -> bytes:
    """The text of a heartbeat."""
    return ProcessMark.of(pid).to_bytes()


def dead_pid() -> int:
    """The id of a process that has ended, the same one until somebody else has that id."""
    if not _DEAD or _is_used(_DEAD[-1]):
        process = subprocess.Popen(["true"])
        process.wait()
        assert process.pid != os.getpid()
        _DEAD.append(process.pid)
    return _DEAD[-1]


def _is_used(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
