"""A Storage that lets someone in before each call."""

from collections.abc import Callable
from typing import TypeVar

from tests.support.faulty import Faults, FaultyStorage
from tests.support.memory import MemoryStorage

T = TypeVar("T")


class Visited(FaultyStorage):
    """Another Storage; ``visit`` is called with the number of the call to come, which is 1 first.

    What the visitor does itself is not counted.
    """

    def __init__(self, inner: MemoryStorage, visit: Callable[[int], None]) -> None:
        super().__init__(inner, Faults())
        self.calls, self._visit, self._is_visited = 0, visit, False

    def _enter(self) -> None:
        if not self._is_visited:
            self._is_visited = True
            self.calls += 1
            self._visit(self.calls)
            self._is_visited = False

    def _read(self, call: Callable[[], T]) -> T:
        self._enter()
        return call()

    def _write(self, call: Callable[[], T]) -> T:
        self._enter()
        return call()
