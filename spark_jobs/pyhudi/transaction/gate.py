"""The lock of a table, as one job takes it for the moments in which it begins, plans or commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi.transaction.lock.lock import HeldLock, TableLock


class Gate:
    """Lets one job at a time through; whoever is within already goes on.

    Without a lock it is open: of several jobs on one table their exclusions keep one out. It is
    for one job, and is not shared by threads.
    """

    def __init__(self, lock: TableLock | None = None) -> None:
        self._lock = lock
        self._held: HeldLock | None = None

    @property
    def is_shared(self) -> bool:
        """Whether writers go on beside each other, and look for conflicts when they commit."""
        return self._lock is not None

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Have the lock until the end.

        Raises:
            LockError: others held it for longer than it is waited for.
        """
        if self._lock is None:
            yield _OPEN
        elif self._held is not None:
            yield self._held
        else:
            with self._lock.hold() as held:
                self._held = held
                try:
                    yield held
                finally:
                    self._held = None


class _Open:
    """What is held of a gate that is open."""

    def confirm(self) -> None:
        """Nobody takes it away."""


_OPEN = _Open()
OPEN_GATE = Gate()
"""That of a table which one job at a time writes."""
