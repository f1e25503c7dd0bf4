"""Threads that take turns at their storage calls, in an order that a test decides."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from tests.support.faulty import Faults, FaultyStorage
from tests.support.in_process import outcome
from tests.support.memory import MemoryStorage
from tests.support.points import STEP

T = TypeVar("T")


def random_orders(count: int, calls: int, bodies: int = 2) -> Iterator[list[int]]:
    """Orders of the calls of some, by turns of one call up to ten."""
    chooser = random.Random(11)
    for number in range(0, count, STEP):
        burst = 1 + number % 10
        yield [who for _ in range(calls // burst) for who in [chooser.randrange(bodies)] * burst]


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


class TurnStorage(FaultyStorage):
    """A Storage shared by threads that take turns; of a stream only its opening is a call."""

    def __init__(self, inner: MemoryStorage, turns: Turns, who: int) -> None:
        super().__init__(inner, Faults())
        self._turns, self._who = turns, who

    def delete_dir(self, path: str) -> None:
        self._call(lambda: self.inner.delete_dir(path))

    def _call(self, call: Callable[[], T], *, takes_space: bool = False) -> T:
        del takes_space  # the disk has room
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
        raised[who] = outcome(partial(bodies[who], TurnStorage(storage, turns, who)))
        turns.end(who)

    threads = [threading.Thread(target=run, args=(who,)) for who in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads), "the threads wait for each other"
    return raised
