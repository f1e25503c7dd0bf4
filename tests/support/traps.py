"""Traps at storage calls: whoever comes to one kills a process, or uses up the last of a disk.

The environment names the folder of a trap to a driver, and to Spark's workers with it. A worker
has its traps from ``python -m tests.support.traps``, which Spark starts for its own daemon.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext

from pyhudi.pipeline.batch import source
from pyhudi.storage.arrowfs import ArrowStorage

FOLDER = "PYHUDI_TRAPS"
DRIVER, JVM, WORKER = "driver", "JVM", "Python worker"
DISK, NOBODY = "disk", "nobody"
BALLOON = "balloon"
"""The file that takes all that was left of a disk."""
CALLS = ("read", "open_input", "open_output", "create", "put", "delete", "delete_dir")
_MINUTES = 300
_POLL_S = 0.05
_TRAP, _DRIVER_PID, _CALLED, _RELEASED = "trap.json", "driver.pid", "called", "released"
_JVM_OF_DAEMON: list[int] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """What is waited for, and who is killed before it is done.

    Instead, a ``disk`` may be filled, or nobody is killed, and whoever came does not go on until
    ``release``, or for minutes. Of a cluster, a worker's JVM is that of its executor.

    ``call`` is a method of a storage; or ``fill``, the middle of a file that is written; or
    ``source``, where a worker reads rows to write. ``path`` is searched in the path within the
    table. The first so many such calls spring the trap.
    """

    victim: str
    call: str
    path: str
    times: int = 1
    disk: str = ""

    def lay(self, folder: Path) -> None:
        """Lay the trap in a folder; how often it was sprung is told there."""
        (folder / _TRAP).write_text(json.dumps(asdict(self)))


def times_sprung(folder: Path) -> int:
    """How often the trap of a folder was sprung."""
    return len(list(folder.glob("sprung-*")))


def release(folder: Path) -> None:
    """Let whoever waits in the trap of a folder go on."""
    (folder / _RELEASED).touch()


def install() -> None:
    """Let every storage call of this process look for a trap."""
    for name in CALLS:
        setattr(ArrowStorage, name, _trapped(name, getattr(ArrowStorage, name)))


def install_in_worker() -> None:
    """Let this process and those it forks look for traps as workers do."""
    # A driver would send what is set here to its workers.
    _JVM_OF_DAEMON.append(os.getppid())
    install()
    read = source._read

    def trapped(split: source.Split, encoded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        _come_to("source", split.path)
        yield from read(split, encoded)

    source._read = trapped


def is_driver(folder: Path) -> None:
    """Say that this process is the driver."""
    (folder / _DRIVER_PID).write_text(str(os.getpid()))


def _trapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def trapped(storage: ArrowStorage, path: str, *more: Any) -> Any:
        _come_to(name, path)
        found = call(storage, path, *more)
        if name == "open_output" and _is_laid("fill", path):
            return pa.PythonFile(_Half(found, path), mode="w")
        return found

    return trapped


class _Half:
    """A file whose writer comes to the trap when it has written half of some bytes."""

    closed = False

    def __init__(self, out: pa.NativeFile, path: str) -> None:
        self._out, self._path = out, path

    def write(self, data: bytes) -> int:
        middle = len(data) // 2
        self._out.write(data[:middle])
        self._out.flush()
        if middle:
            _come_to("fill", self._path)
        self._out.write(data[middle:])
        return len(data)

    def flush(self) -> None:
        self._out.flush()

    def tell(self) -> int:
        return int(self._out.tell())

    def close(self) -> None:
        self.closed = True
        self._out.close()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _come_to(call: str, path: str) -> None:
    folder = Path(os.environ[FOLDER])
    if "PYHUDI_TRACE" in os.environ:
        with (folder / _CALLED).open("a") as out:
            out.write(f"{'worker' if _JVM_OF_DAEMON else 'driver'} {call} {path}\n")
    trap = _laid(folder)
    if trap is None or not _is_at(trap, call, path):
        return
    for number in range(trap.times):
        try:
            (folder / f"sprung-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        _spring(trap, folder)
        return


def _is_laid(call: str, path: str) -> bool:
    trap = _laid(Path(os.environ[FOLDER]))
    return trap is not None and _is_at(trap, call, path)


def _laid(folder: Path) -> Trap | None:
    try:
        return Trap(**json.loads((folder / _TRAP).read_text()))
    except FileNotFoundError:
        return None


def _is_at(trap: Trap, call: str, path: str) -> bool:
    return trap.call == call and re.search(trap.path, path) is not None


def _spring(trap: Trap, folder: Path) -> None:
    if trap.victim == DISK:
        _fill_up(Path(trap.disk) / BALLOON)
    elif trap.victim == NOBODY:
        end = time.monotonic() + _MINUTES
        while not (folder / _RELEASED).exists() and time.monotonic() < end:
            time.sleep(_POLL_S)
    elif trap.victim == DRIVER:
        os.kill(int((folder / _DRIVER_PID).read_text()), signal.SIGKILL)
    elif trap.victim == JVM:
        os.kill(_jvm(), signal.SIGKILL)
        if _JVM_OF_DAEMON:
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def _fill_up(path: Path) -> None:
    size = 1 << 20
    with path.open("wb", buffering=0) as out:
        while size:
            with suppress(OSError):
                while True:
                    out.write(bytes(size))
            size //= 2


def _jvm() -> int:
    if _JVM_OF_DAEMON:
        return _JVM_OF_DAEMON[0]
    assert SparkContext._gateway is not None
    return int(SparkContext._gateway.proc.pid)


if __name__ == "__main__":
    # Spark's own module, as which this one was started, is imported twice otherwise.
    from pyspark import daemon

    from tests.support import traps

    traps.install_in_worker()
    sys.argv[0] = daemon.__file__
    daemon.manager()
