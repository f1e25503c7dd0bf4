"""A log compaction that fails, or dies, at any of its calls, and others between them."""

import random
from functools import partial

import pytest

from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.jobs import LOG_COMPACTION_KIND
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.services.log_compaction import log_compaction_run
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, State
from pyhudi.transaction.instant_run import InstantRun
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.golden_memory import LOGS_PLANNED as PLANNED
from tests.support.golden_memory import (
    NOW_MS,
    before_log_compaction,
    delete_key,
    execute,
    execute_logs,
    leftovers,
    plan,
    plan_logs,
    read_texts,
    values,
    write_slices,
)
from tests.support.in_process import compaction as service_on
from tests.support.in_process import outcome, writer_on
from tests.support.memory import MemoryStorage
from tests.support.schedule import TurnStorage, run_in_turns
from tests.support.timelines import active_of
from tests.support.visited import Visited

pytestmark = pytest.mark.usefixtures("no_waiting")

KEY = "k0002"
STOPPING = [kind for kind in Fault if kind is not Fault.NONE]


@pytest.fixture(scope="module")
def planned() -> MemoryStorage:
    """Hudi's plan."""
    return before_log_compaction()


@pytest.fixture(scope="module")
def rows(planned: MemoryStorage) -> list[str]:
    return read_texts(planned)


@pytest.fixture(scope="module")
def left(planned: MemoryStorage, rows: list[str]) -> list[str]:
    """The rows once a writer has deleted a key."""
    return [row for row in rows if f'"_hoodie_record_key":"{KEY}"' not in row]


def clock_at(now_ms: int = NOW_MS) -> FakeClock:
    return FakeClock(now_ms, step_ms=1)


def run(storage: Storage) -> None:
    execute_logs(storage, clock_at(), PLANNED)


def unschedule(storage: Storage, clock: FakeClock, instant: str) -> None:
    service_on(storage, clock, LOG_COMPACTION_KIND).unschedule(instant)


def plan_and_run(storage: Storage) -> None:
    clock = clock_at()
    unschedule(storage, clock, PLANNED)
    found = plan_logs(storage, clock)
    assert found
    execute_logs(storage, clock, found)


def run_pending_logs(storage: Storage, clock: FakeClock) -> None:
    for instant in load_table(storage).timeline.pending():
        if instant.action is Action.LOG_COMPACTION and instant.state is State.REQUESTED:
            execute_logs(storage, clock, instant.time)


def log_blocks(storage: MemoryStorage) -> dict[str, list[Block]]:
    """The blocks of each slice as readers meet them."""
    table = load_table(storage)
    found = {}
    for each in table.latest_slices():
        blocks: list[Block] = []
        for log in each.log_files:
            with storage.open_input(log.path) as source:
                blocks += iter_blocks(source, log.path)
        found[each.file_id] = [b for b in blocks if b.kind is not BlockKind.COMMAND]
    return found


def check_logs(storage: MemoryStorage, what: object) -> None:
    """All blocks are of writes that ended, and compacted ones have nothing foreign before them."""
    timeline = load_table(storage).timeline
    for blocks in log_blocks(storage).values():
        assert all(timeline.is_committed(block.instant) for block in blocks), what
        covered: set[str] = set()
        for number, block in enumerate(blocks):
            parts = block.header.get(HeaderKey.COMPACTED_BLOCK_TIMES)
            if parts:
                covered |= {*parts.split(","), block.instant}
                before = {each.instant for each in blocks[:number]}
                assert before <= covered, what


@pytest.mark.parametrize("kind", STOPPING)
def test_one_that_stops_anywhere_changes_no_row_and_leaves_nothing(
    planned: MemoryStorage, rows: list[str], kind: Fault
) -> None:
    faults = Faults()
    plan_and_run(FaultyStorage(planned.copy(), faults))
    assert faults.calls > 100
    # Some, by an odd step: that every call is one, is tried on smaller tables.
    for at in range(1, faults.calls + 1, 5 if kind is Fault.DEATH else 11):
        storage = planned.copy()
        raised = outcome(lambda at=at, s=storage: plan_and_run(FaultyStorage(s, Faults(kind, at))))
        what = f"{kind.name} at call {at}: {raised!r}"
        assert raised is None or isinstance(raised, (HudiError, Killed, OSError)), what
        assert read_texts(storage) == rows, what
        bury(storage)  # the process ends in any case
        clock = clock_at(NOW_MS + 10_000)
        recover(writer_on(storage, clock))
        check_logs(storage, what)
        assert read_texts(storage) == rows, what
        run_pending_logs(storage, clock)
        assert leftovers(storage) == [], what
        if at % 5 == 0:
            plan_logs(storage, clock)
            run_pending_logs(storage, clock)
            check_logs(storage, what)
        assert read_texts(storage) == rows, what


def test_a_reader_between_any_two_calls_sees_every_row_once(
    planned: MemoryStorage, rows: list[str]
) -> None:
    storage = planned.copy()

    def visit(call: int) -> None:
        assert read_texts(storage) == rows, call

    plan_and_run(Visited(storage, visit))
    assert read_texts(storage) == rows


def test_a_writer_between_any_two_calls_loses_nothing(
    planned: MemoryStorage, rows: list[str], left: list[str]
) -> None:
    """It is turned away, or the log compaction leaves the slice that it wrote to."""
    whole = Visited(planned.copy(), lambda _: None)
    run(whole)
    fates = set()
    for at in range(1, whole.calls + 1, 2):
        storage, wrote = planned.copy(), list[BaseException | None]()

        def visit(
            call: int,
            at: int = at,
            storage: MemoryStorage = storage,
            wrote: list[BaseException | None] = wrote,
        ) -> None:
            if call == at:
                wrote.append(outcome(lambda: write(storage)))

        raised = outcome(partial(run, Visited(storage, visit)))
        assert raised is None or isinstance(raised, ConflictError), (at, raised)
        assert wrote[0] is None or isinstance(wrote[0], ConflictError), (at, wrote)
        fates.add((raised is None, wrote[0] is None))
        assert read_texts(storage) == (left if wrote[0] is None else rows), at
        recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
        check_logs(storage, at)
    assert {(True, True), (True, False)} <= fates


def write(storage: Storage) -> None:
    """What a writer does that deletes a key."""
    writer = writer_on(storage, clock_at(NOW_MS + 5_000))
    recover(writer)
    with InstantRun(writer, Action.DELTA_COMMIT) as begun:
        delete_key(storage, KEY, begun.instant)
        begun.start(None)
        begun.complete(None, frozenset())


def test_of_two_that_run_one_plan_one_goes_on(planned: MemoryStorage, rows: list[str]) -> None:
    chooser = random.Random(11)
    for number in range(30):
        burst = 1 + number % 10
        order = [who for _ in range(140 // burst) for who in [chooser.randrange(2)] * burst]
        storage = planned.copy()
        raised = run_in_turns(storage, order, run, partial(write_or_run, number))
        assert all(each is None or isinstance(each, ConflictError) for each in raised), raised
        assert read_texts(storage) == rows, number
        check_logs(storage, number)
        run_pending_logs(storage, clock_at(NOW_MS + 10_000))
        assert leftovers(storage) == [], number


def write_or_run(number: int, storage: TurnStorage) -> None:
    run(storage) if number % 2 else recover(writer_on(storage, clock_at(NOW_MS + 100)))


def test_a_run_that_was_taken_for_dead_cannot_commit(
    planned: MemoryStorage, rows: list[str]
) -> None:
    """It wakes before its commit, when another writer has undone it."""
    whole = Visited(planned.copy(), lambda _: None)
    run(whole)
    for at in range(whole.calls - 25, whole.calls):
        storage = planned.copy()

        def visit(call: int, at: int = at, storage: MemoryStorage = storage) -> None:
            if call == at:
                bury(storage)
                recover(writer_on(storage, clock_at(NOW_MS + 500)))

        raised = outcome(partial(run, Visited(storage, visit)))
        assert raised is None or isinstance(raised, ConflictError), (at, raised)
        assert read_texts(storage) == rows, at
        recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
        check_logs(storage, at)
        assert leftovers(storage) == [], at


@pytest.mark.parametrize("gone", [Action.DELTA_COMMIT, Action.LOG_COMPACTION])
def test_a_run_that_another_writer_has_half_undone_cannot_commit(
    planned: MemoryStorage, rows: list[str], gone: Action
) -> None:
    """Of the instant that keeps others from writing and its own only one is left."""
    storage = planned.copy()
    with log_compaction_run(writer_on(storage, clock_at()), PLANNED) as work:
        stats = write_slices(work, PLANNED, LOG_COMPACTION_KIND)
        written = frozenset(stat.path or "" for stat in stats)
        assert written <= storage.files.keys()
        timeline = load_table(storage).timeline
        (undone,) = [each for each in timeline.pending_writes() if each.action is gone]
        active_of(storage).remove(undone)
        with pytest.raises(ConflictError, match="was rolled back by another writer"):
            work.run.complete(None, written)
        assert not written & storage.files.keys()
    recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
    assert read_texts(storage) == rows
    assert leftovers(storage) == []


def test_compactions_mind_no_plan_and_a_plan_minds_them(
    planned: MemoryStorage, rows: list[str]
) -> None:
    """What was compacted since is left as it is."""
    storage, clock = planned.copy(), clock_at()
    compaction = plan(storage, clock)
    assert compaction
    assert plan_logs(storage, clock) is None
    execute(storage, clock, compaction)
    assert execute_logs(storage, clock, PLANNED).files["appended"] == 0
    assert values(read_texts(storage)) == values(rows)
    assert leftovers(storage) == []


def test_a_plan_is_taken_back_before_it_runs(planned: MemoryStorage, rows: list[str]) -> None:
    storage, clock = planned.copy(), clock_at()
    assert plan_logs(storage, clock) is None, "all file groups are in the plan"
    unschedule(storage, clock, PLANNED)
    again = plan_logs(storage, clock)
    assert again
    execute_logs(storage, clock, again)
    assert read_texts(storage) == rows
    for instant in (PLANNED, again):
        with pytest.raises(RequestError, match=r"not planned|completed already"):
            unschedule(storage, clock, instant)
    with pytest.raises(RequestError, match="has taken its plan"):
        execute_logs(storage, clock, PLANNED)
    assert execute_logs(storage, clock, again).status == "already_committed"
