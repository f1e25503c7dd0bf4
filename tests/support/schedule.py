"""Threads that take turns at their storage calls, in an order that a test decides."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import pyarrow as pa

from pyhudi.storage.storage import FileStatus
from tests.support.memory import MemoryStorage

T = TypeVar("T")


class Turns:
    """Lets one of several threads make one storage call at a time.

    ``order`` says whose turn it is, call by call; after its end, and where the one whose turn it
    would be has ended, the others go on in rotation.
    """

    def __init__(self, order: Sequence[int], count: int) -> None:
        self._order, self._step = order, 0
        self._alive = set(range(count))
        self._waiting: set[int] = set()
        self._lock = threading.Lock()
        self._gates = [threading.Semaphore(0) for _ in range(count)]

    def take(self, who: int, call: Callable[[], T]) -> T:
        """Make a call when it is this thread's turn."""
        with self._lock:
            self._waiting.add(who)
            self._open_next()
        self._gates[who].acquire()
        return call()

    def end(self, who: int) -> None:
        """This thread makes no more calls."""
        with self._lock:
            self._alive.discard(who)
            self._open_next()

    def _open_next(self) -> None:
        """Let the next one go, once nobody is between two calls."""
        if self._alive and self._waiting == self._alive:
            chosen = self._next()
            self._step += 1
            self._waiting.discard(chosen)
            self._gates[chosen].release()

    def _next(self) -> int:
        alive = sorted(self._alive)
        if self._step < len(self._order) and self._order[self._step] in self._alive:
            return self._order[self._step]
        return alive[self._step % len(alive)]


class TurnStorage:
    """A Storage shared by threads that take turns."""

    def __init__(self, inner: MemoryStorage, turns: Turns, who: int) -> None:
        self._inner, self._turns, self._who = inner, turns, who

    @property
    def uri(self) -> str:
        return self._inner.uri

    def absolute(self, path: str) -> str:
        return self._inner.absolute(path)

    def list(self, path: str) -> list[FileStatus]:
        return self._take(lambda: self._inner.list(path))

    def status(self, path: str) -> FileStatus | None:
        return self._take(lambda: self._inner.status(path))

    def exists(self, path: str) -> bool:
        return self._take(lambda: self._inner.exists(path))

    def read(self, path: str) -> bytes:
        return self._take(lambda: self._inner.read(path))

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return self._take(lambda: self._inner.open_input(path))

    def open_output(self, path: str) -> pa.NativeFile:
        return self._take(lambda: self._inner.open_output(path))

    def create(self, path: str, data: bytes) -> None:
        self._take(lambda: self._inner.create(path, data))

    def put(self, path: str, data: bytes) -> None:
        self._take(lambda: self._inner.put(path, data))

    def make_dir(self, path: str) -> None:
        self._take(lambda: self._inner.make_dir(path))

    def delete(self, path: str) -> bool:
        return self._take(lambda: self._inner.delete(path))

    def delete_dir(self, path: str) -> None:
        self._take(lambda: self._inner.delete_dir(path))

    def _take(self, call: Callable[[], T]) -> T:
        return self._turns.take(self._who, call)


def run_in_turns(
    storage: MemoryStorage,
    order: Sequence[int],
    *bodies: Callable[[TurnStorage], object],
) -> list[BaseException | None]:
    """Run each body in a thread of its own on one storage; answers what each raised."""
    turns = Turns(order, len(bodies))
    raised: list[BaseException | None] = [None] * len(bodies)

    def run(who: int) -> None:
        try:
            bodies[who](TurnStorage(storage, turns, who))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            raised[who] = error
        finally:
            turns.end(who)

    threads = [threading.Thread(target=run, args=(who,)) for who in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "the threads wait for each other"
    return raised
