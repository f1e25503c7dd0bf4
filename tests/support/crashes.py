"""A world of storages, and what is done in it stopped at each of its storage calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyhudi.storage.storage import Storage
from tests.support.faulty import Fault, Faults, FaultyStorage
from tests.support.in_process import NOW_MS
from tests.support.memory import MemoryStorage


def _empty() -> MemoryStorage:
    return MemoryStorage(now_ms=NOW_MS)


@dataclass
class World:
    """The storage of a table, and that of the failed records of its writes."""

    table: MemoryStorage = field(default_factory=_empty)
    failed: MemoryStorage = field(default_factory=_empty)

    def copy(self) -> World:
        return World(self.table.copy(), self.failed.copy())

    def files(self) -> tuple[dict[str, bytes], dict[str, bytes]]:
        return self.table.files, self.failed.files

    def stop(self, act: Callable[[Storage, Storage], object], faults: Faults) -> None:
        """Do something here, with these faults."""
        act(FaultyStorage(self.table, faults), FaultyStorage(self.failed, faults))


@dataclass(frozen=True)
class State:
    """What a process leaves that dies before one of its calls; the first is number 1."""

    at: int
    world: World


@dataclass(frozen=True)
class Course:
    """What was done, call by call.

    ``takes_space`` has a flag for each call; ``states`` are the distinct ones between them, the
    last of them that at the end.
    """

    takes_space: tuple[bool, ...]
    states: tuple[State, ...]

    @property
    def calls(self) -> int:
        """How many storage calls there were."""
        return len(self.takes_space)

    def faults(self) -> list[tuple[Fault, int]]:
        """The errors that differ: kind and number of the call.

        A call that changes nothing fails late as it fails at once, and a full disk is met by the
        calls that take space.
        """
        changing = [state.at - 1 for state in self.states[1:]]
        full = [at for at, is_taking in enumerate(self.takes_space, 1) if is_taking]
        return [
            *((Fault.ERROR, at) for at in range(1, self.calls + 1)),
            *((Fault.LATE_ERROR, at) for at in changing),
            *((Fault.FULL_DISK, at) for at in full),
        ]


def course_of(world: World, act: Callable[[Storage, Storage], object]) -> Course:
    """Do something once, and look at the world before each call."""
    takes_space: list[bool] = []
    states: list[State] = []

    def look(at: int) -> None:
        if not states or states[-1].world.files() != world.files():
            states.append(State(at, world.copy()))

    def before(is_taking: bool) -> None:
        takes_space.append(is_taking)
        look(len(takes_space))

    world.stop(act, Faults(before=before))
    look(len(takes_space) + 1)
    return Course(tuple(takes_space), tuple(states))
