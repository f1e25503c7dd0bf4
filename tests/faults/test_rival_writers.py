"""Writers that begin at once: one goes on, or none; never two, and nobody loses a row.

Where they wait for each other all go on, one after another.
"""

import itertools
import random
from collections.abc import Iterator
from functools import partial

import pytest

from pyhudi.config.table import TableConfig
from pyhudi.errors import ConflictError, MissingFileError, RolledBackError
from pyhudi.jobs.result import JobResult
from pyhudi.runner.in_process import Batches, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.left_files import plan_rollback
from pyhudi.services.recovery import recover
from pyhudi.services.rollback import request_rollback
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action
from pyhudi.transaction.heartbeat import HEARTBEATS
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.tickets import take_ticket
from tests.support.clocks import FakeClock, SharedClock, SilentClock
from tests.support.faulty import (
    Faults,
    FaultyStorage,
    Visited,
    bury,
    dead_pid,
    heartbeat_of,
)
from tests.support.in_process import (
    CONFIG,
    KINDS,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    data_files,
    dead_write,
    leftovers,
    new_table,
    options_of,
    outcome,
    read_rows,
    write,
    writer_on,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import WAIT
from tests.support.points import STEP
from tests.support.schedule import TurnStorage, run_in_turns
from tests.support.timelines import active_of

pytestmark = pytest.mark.usefixtures("no_waiting")

OLD: Rows = {("x", "a"): (1, "old")}
RIVALS: tuple[Rows, Rows] = ({("x", "a"): (2, "first")}, {("x", "a"): (2, "second")})


def is_pending_and_commit(storage: MemoryStorage) -> tuple[bool, bool]:
    """Whether a write is under way in a table, and whether one is committed beside the first."""
    timeline = active_of(storage).load()
    return bool(len(timeline.pending())), len(timeline.write_instants().completed()) > 1


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_who_sees_that_it_is_being_undone_does_not_commit_for_a_moment(table_type: str) -> None:
    """It could die before it had taken that back, when the other has deleted its files."""
    before = MemoryStorage()
    write(before, OLD, clock_at(), options=options_of(table_type))
    seen: list[tuple[bool, bool]] = []
    course = Visited(before.copy(), lambda _: seen.append(is_pending_and_commit(course.inner)))
    write(course, RIVALS[0], clock_at(NOW_MS + 10_000))
    # The call before makes it be committed, and that before is the last look.
    look = seen.index((False, True)) - 1

    storage = before.copy()
    commits: list[bool] = []

    def visit(call: int) -> None:
        pending, committed = is_pending_and_commit(storage)
        commits.append(committed)
        if call == look:
            assert pending
            active = active_of(storage)
            (found,) = active.load().pending()
            plan = plan_rollback(load_table(storage), found)
            request_rollback(active, clock_at(NOW_MS + 20_000), plan)

    with pytest.raises(RolledBackError):
        write(Visited(storage, visit), RIVALS[0], clock_at(NOW_MS + 10_000))
    assert not any(commits)


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
        self.instant = entered.instant


@pytest.mark.parametrize(
    ("step_ms", "calls"),
    [pytest.param(0, 5, id="a_clock_that_stands"), pytest.param(1, 6, id="one_that_goes_on")],
)
def test_of_two_that_begin_at_once_at_most_one_goes_on(step_ms: int, calls: int) -> None:
    survivors = []
    for order in itertools.islice(every_order(calls), 0, None, STEP):
        storage, clock = MemoryStorage(now_ms=NOW_MS), SilentClock(NOW_MS, step_ms=step_ms)
        rivals = [Beginner(clock, recovers=False), Beginner(clock, recovers=False)]
        check_beginners(storage, rivals, run_in_turns(storage, order, *rivals), order)
        survivors.append(sum(rival.instant is not None for rival in rivals))
    assert survivors.count(1) > len(survivors) // 2


def test_recovering_first_takes_nothing_from_a_rival_that_lives() -> None:
    chooser = random.Random(7)
    for _ in range(0, 500, STEP):
        order = [chooser.randrange(2) for _ in range(40)]
        storage, clock = MemoryStorage(now_ms=NOW_MS), SilentClock(NOW_MS, step_ms=1)
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


@pytest.mark.parametrize("wait_s", [0, 60])
@pytest.mark.parametrize("config", [CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
def test_a_writer_that_was_overtaken_loses_nothing_that_the_faster_one_wrote(
    config: TableConfig, wait_s: int
) -> None:
    """It had drawn its instant, and the other drew a later one and committed meanwhile."""
    storage, clock = new_table(config), clock_at()
    write(storage, OLD, clock)
    faster, slower = rows_of_writer(1), rows_of_writer(2)
    options = {**options_of(config.table_type.value), WAIT: str(wait_s)}
    is_drawn = iter([True])

    class Slow(FaultyStorage):
        def create(self, path: str, data: bytes) -> None:
            if HEARTBEATS in path and next(is_drawn, False):
                write(storage, faster, clock)
            super().create(path, data)

    raised = outcome(lambda: write(Slow(storage, Faults()), slower, clock, options=options))
    assert read_rows(storage) == {**OLD, **faster, **(slower if wait_s else {})}
    assert leftovers(storage) == []
    assert isinstance(raised, ConflictError) is (wait_s == 0), raised


class CountedStorage(MemoryStorage):
    """Counts how often a write was requested."""

    requests = 0

    def create(self, path: str, data: bytes) -> None:
        self.requests += path.endswith("commit.requested")
        super().create(path, data)


def rows_of_writer(number: int) -> Rows:
    """A row that nobody else has, and one that everybody has."""
    return {("x", f"k{number}"): (1, f"w{number}"), ("x", "all"): (number, f"w{number}")}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new table", "table with rows"])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_writers_that_wait_for_each_other_all_land(
    count: int, is_new: bool, table_type: str
) -> None:
    options = options_of(table_type, pyhudi__write__wait__seconds="60")
    made = MemoryStorage(now_ms=NOW_MS)
    if not is_new:
        write(made, OLD, clock_at(), options=options)
    chooser = random.Random(count)
    for _ in range(4):
        burst = chooser.choice([1, 3, 20])
        order = [who for _ in range(240 // burst) for who in [chooser.randrange(count)] * burst]
        storage, clock = (
            CountedStorage(made.files, NOW_MS + 10_000),
            SharedClock(NOW_MS + 10_000, step_ms=1),
        )
        bodies = [
            partial(write, rows=rows_of_writer(number), clock=clock, options=options)
            for number in range(count)
        ]
        assert run_in_turns(storage, order, *bodies) == [None] * count, order
        wanted = {key: row for n in range(count) for key, row in rows_of_writer(n).items()}
        assert read_rows(storage) == {**read_rows(made), **wanted}, order
        assert leftovers(storage) == [], order
        assert storage.requests <= 4 * count, order


def test_a_compactor_among_writers_gets_its_turn() -> None:
    options = options_of("MERGE_ON_READ", pyhudi__write__wait__seconds="60")
    logged, clock = MemoryStorage(now_ms=NOW_MS), clock_at()
    write(logged, OLD, clock, options=options)
    for ts in (2, 3):
        write(logged, {("x", "a"): (ts, "log")}, clock, options=options)
    chooser = random.Random(5)
    for kind in KINDS * 2:
        order = [chooser.randrange(5) for _ in range(200)]
        storage, clock = logged.copy(), SharedClock(NOW_MS + 10_000, step_ms=1)
        storage.now_ms = NOW_MS + 10_000
        found = list[JobResult]()

        def compact(
            own: Storage, clock: FakeClock = clock, kind: str = kind, found: list[JobResult] = found
        ) -> None:
            service = compaction(own, clock, kind, pyhudi__write__wait__seconds="60")
            found.append(service.schedule_and_execute())

        def write_twice(own: Storage, number: int, clock: FakeClock = clock) -> None:
            for ts in (1, 2):
                write(own, {("x", f"k{number}"): (ts, "new")}, clock, options=options)

        writers = [partial(write_twice, number=number) for number in range(4)]
        assert run_in_turns(storage, order, compact, *writers) == [None] * 5
        assert [result.status for result in found] == ["committed"], kind
        written: Rows = {("x", f"k{number}"): (2, "new") for number in range(4)}
        assert read_rows(storage) == {("x", "a"): (3, "log"), **written}
        assert leftovers(storage) == []


def test_a_writer_that_dies_while_others_wait_holds_none_of_them_up() -> None:
    """The one that writes dies, and one of those that wait for it."""
    options = options_of(pyhudi__write__wait__seconds="60")
    storage, clock = new_table(), SharedClock(NOW_MS, step_ms=1)
    write(storage, OLD, clock)
    dead_write(storage, {("x", "a"): (9, "dead")}, clock)
    put_ticket(storage, heartbeat_of(dead_pid()))
    bodies = [
        partial(write, rows=rows_of_writer(number), clock=clock, options=options)
        for number in range(3)
    ]
    assert run_in_turns(storage, [0, 1, 2] * 40, *bodies) == [None] * 3
    assert read_rows(storage)["x", "a"] == (1, "old")
    assert leftovers(storage) == []


def put_ticket(storage: MemoryStorage, owner: bytes) -> None:
    """The ticket of one who came before everybody else."""
    found = take_ticket(storage, came_ms=NOW_MS - 1, until_ms=NOW_MS + 1_000_000)
    storage.put(found.path, owner)


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


@pytest.mark.parametrize("config", [CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
def test_of_a_slow_writer_and_one_that_takes_it_for_dead_nobody_loses_rows(
    config: TableConfig,
) -> None:
    """Whoever is told that it landed has its rows in the table, and nobody else has."""
    written = new_table(config)
    write(written, OLD, clock_at())
    chooser = random.Random(5)
    told = []
    for number in range(0, 90, STEP):
        order = [0] * chooser.randrange(10, 30) + [1] * chooser.randrange(30)
        burst = 1 + number % 3
        order += [who for _ in range(60) for who in [chooser.randrange(2)] * burst]
        storage = written.copy()
        storage.now_ms = NOW_MS + 10_000

        def impatient(own: TurnStorage, below: MemoryStorage = storage) -> None:
            own.exists(".hoodie")
            bury(below)
            write(own, rows_of_writer(2), clock_at(NOW_MS + 20_000))

        slow = partial(write, rows=rows_of_writer(1), clock=clock_at(NOW_MS + 10_000))
        raised = run_in_turns(storage, order, slow, impatient)
        assert raised[0] is None or isinstance(raised[0], ConflictError), raised
        # The other may look for a file of the slow one while that is being taken back.
        assert raised[1] is None or isinstance(raised[1], (ConflictError, MissingFileError)), raised
        wanted = dict(OLD)
        for writer, error in enumerate(raised, 1):
            wanted |= rows_of_writer(writer) if error is None else {}
        assert read_rows(storage) == wanted, (number, raised)
        bury(storage)
        write(storage, {("y", "n"): (3, "next")}, clock_at(NOW_MS + 30_000))
        assert leftovers(storage) == [], (number, raised)
        assert read_rows(storage) == {**wanted, ("y", "n"): (3, "next")}, (number, raised)
        told.append(raised[0] is None)
    assert 0.2 < told.count(True) / len(told) < 0.8
