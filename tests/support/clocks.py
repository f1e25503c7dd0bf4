"""A clock that tests set."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pyhudi.timeline.clock import SystemClock


class FakeClock:
    """A clock that stands still, or goes on by ``step_ms`` each time it is asked.

    Whoever sleeps is back at once, that much later.
    """

    def __init__(self, now_ms: int, *, step_ms: int = 0) -> None:
        self._now_ms, self._step_ms, self._began_ms = now_ms, step_ms, now_ms
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        with self._lock:
            self._now_ms += self._step_ms
            return self._now_ms

    def monotonic_ms(self) -> int:
        """Milliseconds that have passed, whatever the clock was set to."""
        with self._lock:
            return self._now_ms - self._began_ms

    def sleep(self, seconds: float) -> None:
        """Let this time pass."""
        self.advance(round(seconds * 1000))

    def repeating(
        self, act: Callable[[], None], every_s: float, name: str
    ) -> AbstractContextManager[None]:
        """A span with a thread beside it, whose time is the machine's."""
        return SystemClock().repeating(act, every_s, name)

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        with self._lock:
            self._now_ms += milliseconds

    def set_back(self, milliseconds: int) -> None:
        """Set the clock back; no time passes."""
        with self._lock:
            self._now_ms -= milliseconds
            self._began_ms -= milliseconds


class SilentClock(FakeClock):
    """A clock by which nothing is repeated: heartbeats stay as they were started."""

    def repeating(
        self, act: Callable[[], None], every_s: float, name: str
    ) -> AbstractContextManager[None]:
        """A span in which nothing is done."""
        return nullcontext()


class SharedClock(FakeClock):
    """A clock of threads that take turns: who sleeps takes no time of the others."""

    def monotonic_ms(self) -> int:
        """The machine's."""
        return SystemClock().monotonic_ms()

    def sleep(self, seconds: float) -> None:
        """As the machine does, or a test that lets nobody sleep."""
        SystemClock().sleep(seconds)
