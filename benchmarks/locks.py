"""The lock of a table, with how long it was waited for and held."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyhudi.config.options.locks import LockConfig
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from pyhudi.transaction.lock.lock import HeldLock, TableLock
from pyhudi.transaction.lock.opening import open_lock


@dataclass
class LockTimes:
    """How often locks were taken, and for how long.

    ``wait_seconds`` are from asking for a lock to having it, with what taking it costs; those of
    ``held_seconds`` go on until it is asked back, ``release_seconds`` are what giving it back took.
    """

    locks: int = 0
    wait_seconds: float = 0.0
    held_seconds: float = 0.0
    release_seconds: float = 0.0

    def since(self, before: LockTimes) -> dict[str, float]:
        """What came since an earlier state, as numbers for a line."""
        return {
            "locks": self.locks - before.locks,
            "lock_wait_seconds": round(self.wait_seconds - before.wait_seconds, 4),
            "lock_held_seconds": round(self.held_seconds - before.held_seconds, 4),
            "lock_release_seconds": round(self.release_seconds - before.release_seconds, 4),
        }


@dataclass(frozen=True)
class TimedLocks:
    """Opens the locks that options name, and times them."""

    times: LockTimes = field(default_factory=LockTimes)

    def open(self, storage: Storage, config: LockConfig, clock: Clock) -> TableLock:
        """The lock of the table in a storage."""
        return _TimedLock(open_lock(storage, config, clock), self.times)


class _TimedLock:
    def __init__(self, lock: TableLock, times: LockTimes) -> None:
        self._lock, self._times = lock, times

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Have the lock."""
        asked = time.perf_counter()
        got = given = asked
        with self._lock.hold() as held:
            got = time.perf_counter()
            try:
                yield held
            finally:
                given = time.perf_counter()
        self._times.locks += 1
        self._times.wait_seconds += got - asked
        self._times.held_seconds += given - got
        self._times.release_seconds += time.perf_counter() - given
