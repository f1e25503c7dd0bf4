"""Two writers that begin at once: one goes on, or none; never both, and nobody loses a row."""

import itertools
import random
from collections.abc import Iterator
from functools import partial

import pytest

from pyhudi.config.table import TableConfig
from pyhudi.errors import ConflictError
from pyhudi.runner.in_process import Batches, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.recovery import recover
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from tests.support.clocks import FakeClock
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    clock_at,
    data_files,
    leftovers,
    new_table,
    read_rows,
    write,
    writer_on,
)
from tests.support.memory import MemoryStorage
from tests.support.points import STEP
from tests.support.schedule import TurnStorage, run_in_turns
from tests.support.timelines import active_of

pytestmark = pytest.mark.usefixtures("no_waiting")

OLD: Rows = {("x", "a"): (1, "old")}
RIVALS: tuple[Rows, Rows] = ({("x", "a"): (2, "first")}, {("x", "a"): (2, "second")})


def every_order(calls: int) -> Iterator[list[int]]:
    """Every interleaving of so many calls of each of the two."""
    for second in itertools.combinations(range(2 * calls), calls):
        yield [int(step in second) for step in range(2 * calls)]


class Beginner:
    """Begins a write and stays in it, until both have begun or given up."""

    def __init__(self, clock: FakeClock, *, recovers: bool) -> None:
        self.clock, self.recovers = clock, recovers
        self.instant: str | None = None

    def __call__(self, storage: TurnStorage) -> None:
        writer = writer_on(storage, self.clock)
        if self.recovers:
            recover(writer)
        entered = InstantRun(writer, Action.COMMIT)
        entered.__enter__()
        entered._heartbeat._ended.set()
        self.instant = entered.instant


@pytest.mark.parametrize(
    ("step_ms", "calls"),
    [pytest.param(0, 5, id="a_clock_that_stands"), pytest.param(1, 6, id="one_that_goes_on")],
)
def test_of_two_that_begin_at_once_at_most_one_goes_on(step_ms: int, calls: int) -> None:
    survivors = []
    for order in itertools.islice(every_order(calls), 0, None, STEP):
        storage, clock = MemoryStorage(now_ms=NOW_MS), FakeClock(NOW_MS, step_ms=step_ms)
        rivals = [Beginner(clock, recovers=False), Beginner(clock, recovers=False)]
        check_beginners(storage, rivals, run_in_turns(storage, order, *rivals), order)
        survivors.append(sum(rival.instant is not None for rival in rivals))
    assert survivors.count(1) > len(survivors) // 2


def test_recovering_first_takes_nothing_from_a_rival_that_lives() -> None:
    chooser = random.Random(7)
    for _ in range(0, 500, STEP):
        order = [chooser.randrange(2) for _ in range(40)]
        storage, clock = MemoryStorage(now_ms=NOW_MS), FakeClock(NOW_MS, step_ms=1)
        rivals = [Beginner(clock, recovers=True), Beginner(clock, recovers=True)]
        check_beginners(storage, rivals, run_in_turns(storage, order, *rivals), order)


def check_beginners(
    storage: MemoryStorage,
    rivals: list[Beginner],
    raised: list[BaseException | None],
    order: object,
) -> None:
    going_on = [rival.instant for rival in rivals if rival.instant is not None]
    assert len(going_on) <= 1, order
    assert all(error is None or isinstance(error, ConflictError) for error in raised), (
        raised,
        order,
    )
    pending = active_of(storage).load().pending_writes()
    assert [instant.time for instant in pending] == going_on, order
    assert storage.below(".hoodie/.heartbeat") == [
        f".hoodie/.heartbeat/{instant}" for instant in going_on
    ], order


OPERATIONS = (
    ("upsert", "upsert"),
    ("upsert", "insert_overwrite"),
    ("delete", "insert_overwrite_table"),
)


@pytest.mark.parametrize("config", [CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
@pytest.mark.parametrize("operations", OPERATIONS, ids=[" and ".join(each) for each in OPERATIONS])
def test_of_two_whole_writes_each_lands_whole_or_is_told_so(
    config: TableConfig, operations: tuple[str, str]
) -> None:
    written = new_table(config)
    write(written, OLD, clock_at())
    one, other = zip(RIVALS, operations, strict=True)
    alone = [effect(written, one), effect(written, other)]
    both = [effect(written, one, other), effect(written, other, one)]
    chooser = random.Random(11)
    landed = []
    for _ in range(0, 20, STEP):
        burst = chooser.choice([1, 4, 15])
        order = [who for _ in range(240 // burst) for who in [chooser.randrange(2)] * burst]
        storage, clock = written.copy(), clock_at(NOW_MS + 10_000)
        storage.now_ms = NOW_MS + 10_000
        bodies = [
            partial(write, rows=rows, clock=clock, operation=operation)
            for rows, operation in zip(RIVALS, operations, strict=True)
        ]
        raised = run_in_turns(storage, order, *bodies)
        assert all(error is None or isinstance(error, ConflictError) for error in raised), raised
        winners = [rows for rows, error in zip(alone, raised, strict=True) if error is None]
        assert read_rows(storage) in (winners or [OLD] if len(winners) < 2 else both), order
        write(storage, {("y", "n"): (3, "next")}, clock)
        assert leftovers(storage) == []
        landed.append(len(winners))
    assert landed.count(1) > 3 // STEP


def effect(written: MemoryStorage, *writes: tuple[Rows, str]) -> Rows:
    """The rows that the writes leave, one after another."""
    storage, clock = written.copy(), clock_at(NOW_MS + 10_000)
    for rows, operation in writes:
        write(storage, rows, clock, operation)
    return read_rows(storage)


def test_a_writer_that_was_taken_for_dead_cannot_commit() -> None:
    """It was suspended for longer than heartbeats may be missed, and woke up."""
    storage, clock = new_table(), clock_at()
    write(storage, OLD, clock)
    asleep = iter([True])

    def suspended(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        """The first task that writes a file sleeps when it has."""
        before = data_files(storage)
        found = run_once(function, task, batches)
        if data_files(storage) - before and next(asleep, False):
            clock.advance(120_001)
            storage.now_ms = clock.now_ms()
            write(storage, RIVALS[1], clock)
        return found

    runner = InProcessRunner(run_task=suspended)
    with pytest.raises(ConflictError, match="was rolled back by another writer"):
        write(storage, RIVALS[0], clock, runner=runner)
    assert read_rows(storage) == RIVALS[1]
    write(storage, {("y", "n"): (3, "next")}, clock)
    assert leftovers(storage) == []
    assert read_rows(storage) == {**RIVALS[1], ("y", "n"): (3, "next")}
