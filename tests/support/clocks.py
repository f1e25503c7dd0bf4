"""A clock that tests set."""

from __future__ import annotations

import threading


class FakeClock:
    """A clock that stands still, or goes on by ``step_ms`` each time it is asked."""

    def __init__(self, now_ms: int, *, step_ms: int = 0) -> None:
        self._now_ms, self._step_ms = now_ms, step_ms
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        with self._lock:
            self._now_ms += self._step_ms
            return self._now_ms

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        with self._lock:
            self._now_ms += milliseconds
