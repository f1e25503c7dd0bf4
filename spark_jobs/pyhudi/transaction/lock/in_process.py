"""A lock that means something to the writers of one process."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi.config.options.locks import LockConfig
from pyhudi.timeline.clock import Clock
from pyhudi.transaction.lock.lock import HeldLock
from pyhudi.transaction.lock.waiting import wait_for

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_holders: dict[str, str] = {}


class InProcessLock:
    """A lock of one table among the threads of this process.

    It keeps out nobody else: not another Airflow task, nor Spark driver, nor Hudi. It is for tests,
    and for one process that alone writes a table in several threads.

    Source: InProcessLockProvider, Hudi 0.15 to 1.2: a lock for each base path.
    """

    def __init__(self, table: str, config: LockConfig, clock: Clock) -> None:
        self._table, self._config, self._clock = table, config, clock

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Wait for the lock, have it, and give it back at the end."""
        lock = _locks[self._table]
        wait_for(
            lambda: lock.acquire(blocking=False) or None,
            lambda: f"thread {_holders.get(self._table, 'of this process')} holds it",
            config=self._config,
            clock=self._clock,
            where=self._table,
        )
        _holders[self._table] = threading.current_thread().name
        try:
            yield _Held()
        finally:
            _holders.pop(self._table, None)
            lock.release()


class _Held:
    """A lock that nobody can take from its holder."""

    def confirm(self) -> None:
        """It is this writer's until it gives it back."""
