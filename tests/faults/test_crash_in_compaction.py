"""A compaction that fails, or dies, at any of its calls, and readers and writers between them."""

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.jobs import JobResult
from pyhudi.services import compaction
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.golden import expected_rows
from tests.support.golden_memory import (
    NOW_MS,
    delete_key,
    delta_commit,
    execute,
    golden_in_memory,
    leftovers,
    plan,
    read_texts,
    values,
)
from tests.support.in_process import compaction as service_on
from tests.support.in_process import outcome, run_pending, writer_on
from tests.support.memory import MemoryStorage
from tests.support.schedule import TurnStorage, run_in_turns
from tests.support.visited import Visited

pytestmark = pytest.mark.usefixtures("no_waiting")

TABLE = "v6_mor_pending_compaction"
PLANNED = "20261121104850556"
ROWS = values(expected_rows(TABLE))
KEY = "k0002"
LEFT = [row for row in ROWS if f'"_hoodie_record_key":"{KEY}"' not in row]
"""The rows once a writer has deleted that key."""
STOPPING = [kind for kind in Fault if kind is not Fault.NONE]


def random_orders(count: int, calls: int) -> Iterator[list[int]]:
    """Orders of the calls of two, by turns of one call up to ten."""
    chooser = random.Random(11)
    for number in range(count):
        burst = 1 + number % 10
        yield [who for _ in range(calls // burst) for who in [chooser.randrange(2)] * burst]


def clock_at(now_ms: int = NOW_MS) -> FakeClock:
    return FakeClock(now_ms, step_ms=1)


@pytest.fixture(scope="module")
def planned() -> MemoryStorage:
    """Hudi's plan, with log files on top."""
    return golden_in_memory(TABLE)


@pytest.fixture(scope="module")
def logged(planned: MemoryStorage) -> MemoryStorage:
    """Log files, and no plan."""
    storage = planned.copy()
    execute(storage, clock_at(), PLANNED)
    return storage


def run(storage: Storage) -> JobResult:
    return execute(storage, clock_at(), PLANNED)


def unschedule(storage: Storage, clock: FakeClock, instant: str) -> None:
    service_on(storage, clock).unschedule(instant)


def plan_and_run(storage: Storage) -> None:
    clock = clock_at()
    found = plan(storage, clock)
    assert found
    execute(storage, clock, found)


def calls_of(act: Callable[[Storage], object], storage: MemoryStorage) -> int:
    faults = Faults()
    act(FaultyStorage(storage.copy(), faults))
    return faults.calls


@pytest.mark.slow
@pytest.mark.parametrize("kind", STOPPING)
def test_a_run_that_stops_anywhere_is_done_by_the_next(planned: MemoryStorage, kind: Fault) -> None:
    total = calls_of(run, planned)
    assert total > 30
    for at in steps_of(total, kind):
        check_stopped(planned.copy(), run, kind, at)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STOPPING)
def test_a_plan_that_stops_anywhere_is_there_or_not(logged: MemoryStorage, kind: Fault) -> None:
    total = calls_of(plan_and_run, logged)
    assert total > 50
    for at in steps_of(total, kind):
        check_stopped(logged.copy(), plan_and_run, kind, at)


def steps_of(total: int, kind: Fault) -> range:
    """Some, by an odd step: that every call is one, is tried on smaller tables."""
    return range(1, total + 1, 5 if kind is Fault.DEATH else 11)


def check_stopped(
    storage: MemoryStorage, act: Callable[[Storage], object], kind: Fault, at: int
) -> None:
    raised = outcome(lambda: act(FaultyStorage(storage, Faults(kind, at))))
    what = f"{kind.name} at call {at}: {raised!r}"
    assert raised is None or isinstance(raised, (HudiError, Killed, OSError)), what
    assert values(read_texts(storage)) == ROWS, what
    bury(storage)  # the process ends in any case
    clock = clock_at(NOW_MS + 10_000)
    recover(writer_on(storage, clock))
    assert values(read_texts(storage)) == ROWS, what
    run_pending(storage, clock)
    recover(writer_on(storage, clock))
    assert leftovers(storage) == [], what
    assert values(read_texts(storage)) == ROWS, what
    plan(storage, clock)
    run_pending(storage, clock)
    assert values(read_texts(storage, query_type="read_optimized")) == ROWS, what


@pytest.mark.slow
def test_a_run_that_dies_twice_is_done_by_the_third(planned: MemoryStorage) -> None:
    total = calls_of(run, planned)
    for first in range(total // 3, total, 17):
        once = planned.copy()
        outcome(lambda at=first, storage=once: run(FaultyStorage(storage, Faults(Fault.DEATH, at))))
        bury(once)
        for second in range(1, total + 20, 11):
            storage = once.copy()
            faults = Faults(Fault.DEATH, second)
            outcome(lambda faults=faults, storage=storage: run(FaultyStorage(storage, faults)))
            bury(storage)
            assert values(read_texts(storage)) == ROWS, (first, second)
            run_pending(storage, clock_at(NOW_MS + 10_000))
            recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
            assert leftovers(storage) == [], (first, second)
            assert values(read_texts(storage)) == ROWS, (first, second)


@pytest.mark.parametrize("act", [run, plan_and_run])
def test_a_reader_between_any_two_calls_sees_every_row_once(
    planned: MemoryStorage, logged: MemoryStorage, act: Callable[[Storage], object]
) -> None:
    storage = (planned if act is run else logged).copy()

    def visit(call: int) -> None:
        assert values(read_texts(storage)) == ROWS, call

    visited = Visited(storage, visit)
    act(visited)
    assert visited.calls > 30
    visit(visited.calls + 1)


def test_a_reader_that_began_before_the_commit_reads_on(planned: MemoryStorage) -> None:
    """What it lists may be of any later moment."""
    storage = planned.copy()
    before = load_table(storage)
    execute(storage, clock_at(), PLANNED)
    assert {each.base_instant for each in before.latest_slices() if each.log_files} < {
        each.base_instant for each in load_table(planned).latest_slices()
    }


def test_a_writer_between_any_two_calls_of_a_run_loses_nothing(planned: MemoryStorage) -> None:
    """Its log file lies on top of the compaction, whether that has begun, ended or neither."""
    total = calls_of(run, planned)
    for at in range(1, total + 2, 4):
        storage, clock = planned.copy(), clock_at(NOW_MS + 10_000)

        def visit(call: int, at: int = at, storage: MemoryStorage = storage) -> None:
            if call == at:
                delete_key(storage, KEY, "20270115090000000")
                assert values(read_texts(storage)) == ROWS, at
                delta_commit(storage, "20270115090000000")
                assert values(read_texts(storage)) == LEFT, at

        visited = Visited(storage, visit)
        run(visited)
        if at > visited.calls:
            visit(at)
        assert values(read_texts(storage)) == LEFT, at
        assert plan(storage, clock), at
        run_pending(storage, clock)
        assert values(read_texts(storage, query_type="read_optimized")) == LEFT, at


def test_a_writer_and_a_plan_that_begin_at_once_lose_nothing(logged: MemoryStorage) -> None:
    """Whatever the order of their calls: the plan has the log file, or it lies on the plan."""
    fates = set()
    for number, order in enumerate(random_orders(60, 80)):
        storage = logged.copy()

        def write(own: TurnStorage) -> None:
            writer = writer_on(own, clock_at(NOW_MS + 5))
            with InstantRun(writer, Action.DELTA_COMMIT) as begun:
                delete_key(own, KEY, begun.instant)
                begun.start(None)
                begun.complete(None, frozenset())

        raised = run_in_turns(storage, order, write, lambda own: plan(own, clock_at()))
        assert all(each is None or isinstance(each, ConflictError) for each in raised), raised
        wanted = LEFT if raised[0] is None else ROWS
        fates.add(tuple(each is None for each in raised))
        assert values(read_texts(storage)) == wanted, number
        run_pending(storage, clock_at(NOW_MS + 10_000))
        assert values(read_texts(storage)) == wanted, number
    assert (True, False) in fates or (False, True) in fates


def test_of_two_that_run_one_plan_one_goes_on(planned: MemoryStorage) -> None:
    for number, order in enumerate(random_orders(40, 120)):
        storage = planned.copy()
        found = list[str]()

        def body(own: TurnStorage, found: list[str] = found) -> None:
            found.append(run(own).status)

        raised = run_in_turns(storage, order, body, body)
        refused = [each for each in raised if each is not None]
        assert all(isinstance(each, ConflictError) for each in refused), (number, raised)
        assert found.count("committed") == 1, (number, raised)
        assert len(refused) + found.count("already_committed") == 1, (number, raised)
        assert values(read_texts(storage)) == ROWS, number
        assert leftovers(storage) == [], number


def test_of_two_that_find_a_dead_run_one_goes_on(planned: MemoryStorage) -> None:
    dead = planned.copy()
    at = calls_of(run, planned) - 12
    outcome(lambda: run(FaultyStorage(dead, Faults(Fault.DEATH, at))))
    bury(dead)
    for number, order in enumerate(random_orders(40, 200)):
        storage = dead.copy()
        raised = run_in_turns(storage, order, run, run)
        assert all(each is None or isinstance(each, ConflictError) for each in raised), raised
        assert values(read_texts(storage)) == ROWS, number
        if None not in raised:  # both stepped back
            run(storage)
        recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
        assert leftovers(storage) == [], number
        assert values(read_texts(storage)) == ROWS, number


def test_a_run_that_was_taken_for_dead_cannot_commit(planned: MemoryStorage) -> None:
    """It wakes before its commit, when another has taken the plan over and is still at work."""
    whole = Visited(planned.copy(), lambda _: None)
    run(whole)
    for at in range(whole.calls - 14, whole.calls + 1):
        storage, found = planned.copy(), list[str]()

        def tried(own: Storage, clock: FakeClock, found: list[str] = found) -> None:
            found.append(execute(own, clock, PLANNED).status)

        def visit(
            call: int,
            at: int = at,
            storage: MemoryStorage = storage,
            tried: Callable[[Storage, FakeClock], None] = tried,
        ) -> None:
            if call == at:
                bury(storage)
                raised = outcome(partial(tried, storage, clock_at(NOW_MS + 500)))
                assert raised is None or isinstance(raised, ConflictError), (at, raised)

        raised = outcome(partial(tried, Visited(storage, visit), clock_at()))
        assert raised is None or isinstance(raised, HudiError), (at, raised)
        assert values(read_texts(storage)) == ROWS, (at, raised, found)
        assert found.count("committed") == 1, (at, raised, found)


def test_recovery_leaves_a_plan_and_a_live_run_alone(planned: MemoryStorage) -> None:
    storage = planned.copy()

    def visit(call: int) -> None:
        recover(writer_on(storage, clock_at(NOW_MS + 10_000 + call)))

    run(Visited(storage, visit))
    assert values(read_texts(storage)) == ROWS
    assert leftovers(storage) == []


def test_nothing_is_planned_before_a_dead_write_is_undone(
    logged: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To undo it later would delete log files that the plan names."""
    storage = logged.copy()
    storage.put(".hoodie/20270115075959000.deltacommit.requested", b"")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "recover", lambda _: ())
        with pytest.raises(ConflictError, match="has just died"):
            plan(storage, clock_at())
    assert plan(storage, clock_at())
    assert "pending deltacommit 20270115075959000" not in leftovers(storage)


def test_what_is_planned_already_is_not_planned_again(planned: MemoryStorage) -> None:
    assert plan(planned.copy(), clock_at()) is None


def test_a_plan_without_log_files_on_top_can_be_taken_back(logged: MemoryStorage) -> None:
    storage, clock = logged.copy(), clock_at()
    found = plan(storage, clock)
    assert found
    unschedule(storage, clock, found)
    assert leftovers(storage) == []
    assert values(read_texts(storage)) == ROWS
    assert plan(storage, clock)


def test_a_plan_with_log_files_on_top_cannot(planned: MemoryStorage) -> None:
    storage = planned.copy()
    with pytest.raises(RequestError, match="log files were written on top"):
        unschedule(storage, clock_at(), PLANNED)
    assert values(read_texts(storage)) == ROWS


def test_what_runs_or_never_was_cannot_be_taken_back(planned: MemoryStorage) -> None:
    storage = planned.copy()
    with pytest.raises(RequestError, match="not planned"):
        unschedule(storage, clock_at(), "20270101000000000")
    storage.put(f".hoodie/{PLANNED}.compaction.inflight", b"")
    with pytest.raises(RequestError, match="inflight already"):
        unschedule(storage, clock_at(), PLANNED)
