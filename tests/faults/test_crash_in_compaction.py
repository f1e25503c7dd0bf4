"""Compactions of both kinds that fail, or die, at any of their calls, and others between them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pytest

from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.jobs.result import JobResult
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import iter_blocks
from pyhudi.pipeline.compaction import CompactionService
from pyhudi.services.compaction import run as compaction
from pyhudi.services.compaction.log_run import log_compaction_run
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, Visited, bury
from tests.support.golden import expected_rows
from tests.support.golden_memory import (
    LOGS_PLANNED,
    NOW_MS,
    before_log_compaction,
    clock_at,
    delete_key,
    golden_in_memory,
    leftovers,
    read_texts,
    values,
    write_slices,
)
from tests.support.in_process import compaction as service_on
from tests.support.in_process import outcome, run_pending, writer_on
from tests.support.memory import MemoryStorage
from tests.support.points import STEP
from tests.support.schedule import TurnStorage, random_orders, run_in_turns
from tests.support.timelines import active_of

pytestmark = pytest.mark.usefixtures("no_waiting")

KEY = "k0002"
STOPPING = [kind for kind in Fault if kind is not Fault.NONE]


Act: TypeAlias = "Callable[[Kind, Storage], object]"


@dataclass(frozen=True)
class Kind:
    """A kind of compaction, and a table on which Hudi has planned one."""

    name: str
    planned: MemoryStorage
    instant: str
    rows: list[str]
    """What is read of the table, whatever is compacted."""

    @property
    def left(self) -> list[str]:
        """The rows once a writer has deleted a key."""
        return [row for row in self.rows if f'"_hoodie_record_key":"{KEY}"' not in row]

    def service(self, storage: Storage, clock: Clock) -> CompactionService:
        return service_on(storage, clock, self.name)

    def plan(self, storage: Storage, clock: Clock) -> str | None:
        return self.service(storage, clock).schedule().instant

    def run(self, storage: Storage, now_ms: int = NOW_MS) -> JobResult:
        return self.service(storage, clock_at(now_ms)).execute(self.instant)

    def read(self, storage: Storage, **query: str) -> list[str]:
        """The rows; only base files give them other file names."""
        texts = read_texts(storage, **query)
        return values(texts) if self.name == COMPACTION_KIND else texts

    def check_compacted(self, storage: Storage, rows: list[str], what: object) -> None:
        """The rows are right, and they are in the base files where those are what is made."""
        check_logs(storage, what)
        assert self.read(storage) == rows, what
        if self.name == COMPACTION_KIND:
            assert self.read(storage, query_type="read_optimized") == rows, what


def check_logs(storage: Storage, what: object) -> None:
    """All blocks are of writes that ended, and compacted ones have nothing foreign before them."""
    table = load_table(storage)
    for each in table.latest_slices():
        before, covered = set[str](), set[str]()
        for log in each.log_files:
            with storage.open_input(log.path) as source:
                blocks = [b for b in iter_blocks(source, log.path) if b.kind != BlockKind.COMMAND]
            for block in blocks:
                assert table.timeline.is_committed(block.instant), what
                parts = block.header.get(HeaderKey.COMPACTED_BLOCK_TIMES)
                if parts:
                    covered |= {*parts.split(","), block.instant}
                    assert before <= covered, what
                before.add(block.instant)


@pytest.fixture(scope="module")
def compacting() -> Kind:
    """Hudi's plan of a compaction, with log files on top."""
    table = "v6_mor_pending_compaction"
    return Kind(
        name=COMPACTION_KIND,
        planned=golden_in_memory(table),
        instant="20261121104850556",
        rows=values(expected_rows(table)),
    )


@pytest.fixture(scope="module")
def logged(compacting: Kind) -> MemoryStorage:
    """Log files, and no plan."""
    storage = compacting.planned.copy()
    compacting.run(storage)
    return storage


@pytest.fixture(scope="module")
def log_compacting() -> Kind:
    """Hudi's plan of a log compaction."""
    planned = before_log_compaction()
    return Kind(
        name=LOG_COMPACTION_KIND,
        planned=planned,
        instant=LOGS_PLANNED,
        rows=read_texts(planned),
    )


@pytest.fixture(params=["compacting", "log_compacting"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.getfixturevalue(request.param)
    return found


def plan_and_run(kind: Kind, storage: Storage) -> None:
    """What is planned is taken back before."""
    service = kind.service(storage, clock_at())
    if planned := service.oldest_pending():
        service.unschedule(planned)
    found = service.schedule().instant
    assert found
    service.execute(found)


def begun(kind: Kind, act: Act, logged: MemoryStorage) -> MemoryStorage:
    """The table in which it is done."""
    is_planned = act is not plan_and_run or kind.name == LOG_COMPACTION_KIND
    return kind.planned if is_planned else logged


def calls_of(kind: Kind, act: Act, before: MemoryStorage) -> int:
    whole = Faults()
    act(kind, FaultyStorage(before.copy(), whole))
    return whole.calls


def check_stopped(kind: Kind, storage: MemoryStorage, act: Act, faults: Faults) -> None:
    raised = outcome(lambda: act(kind, FaultyStorage(storage, faults)))
    what = f"{faults.kind.name} at call {faults.at}: {raised!r}"
    assert raised is None or isinstance(raised, (HudiError, Killed, OSError)), what
    assert kind.read(storage) == kind.rows, what
    bury(storage)  # the process ends in any case
    clock = clock_at(NOW_MS + 10_000)
    recover(writer_on(storage, clock))
    check_logs(storage, what)
    assert kind.read(storage) == kind.rows, what
    run_pending(storage, clock)
    check_done(kind, storage, what)
    kind.plan(storage, clock)
    run_pending(storage, clock)
    kind.check_compacted(storage, kind.rows, what)


def check_done(kind: Kind, storage: MemoryStorage, what: object) -> None:
    """Once the next writer has looked, the rows are right and nothing is left."""
    recover(writer_on(storage, clock_at(NOW_MS + 20_000)))
    check_logs(storage, what)
    assert leftovers(storage) == [], what
    assert kind.read(storage) == kind.rows, what


@pytest.mark.parametrize("fault", STOPPING)
@pytest.mark.parametrize(
    ("kind", "act", "least"),
    [
        pytest.param("compacting", Kind.run, 30, marks=pytest.mark.slow),
        pytest.param("compacting", plan_and_run, 50, marks=pytest.mark.slow),
        pytest.param("log_compacting", plan_and_run, 100),
    ],
    indirect=["kind"],
)
def test_a_run_that_stops_anywhere_is_done_by_the_next(
    kind: Kind, logged: MemoryStorage, act: Act, least: int, fault: Fault
) -> None:
    """And a plan is there or not."""
    before = begun(kind, act, logged)
    total = calls_of(kind, act, before)
    assert total > least
    # Some, by an odd step: that every call is one, is tried on smaller tables.
    for at in range(1, total + 1, STEP * (5 if fault is Fault.DEATH else 11)):
        check_stopped(kind, before.copy(), act, Faults(fault, at))


@pytest.mark.slow
def test_a_run_that_dies_twice_is_done_by_the_third(compacting: Kind) -> None:
    total = calls_of(compacting, Kind.run, compacting.planned)
    for first in range(total // 3, total, 17):
        once = compacting.planned.copy()
        outcome(partial(compacting.run, FaultyStorage(once, Faults(Fault.DEATH, first))))
        bury(once)
        for second in range(1, total + 20, 11):
            storage = once.copy()
            outcome(partial(compacting.run, FaultyStorage(storage, Faults(Fault.DEATH, second))))
            bury(storage)
            assert compacting.read(storage) == compacting.rows, (first, second)
            run_pending(storage, clock_at(NOW_MS + 10_000))
            check_done(compacting, storage, (first, second))


@pytest.mark.parametrize("act", [Kind.run, plan_and_run])
def test_a_reader_between_any_two_calls_sees_every_row_once(
    kind: Kind, logged: MemoryStorage, act: Act
) -> None:
    storage = begun(kind, act, logged).copy()

    def visit(call: int) -> None:
        assert kind.read(storage) == kind.rows, call

    visited = Visited(storage, visit)
    act(kind, visited)
    assert visited.calls > 30
    visit(visited.calls + 1)


def test_a_reader_that_began_before_the_commit_reads_on(compacting: Kind) -> None:
    """What it lists may be of any later moment."""
    storage = compacting.planned.copy()
    before = load_table(storage)
    compacting.run(storage)
    assert {each.base_instant for each in before.latest_slices() if each.log_files} < {
        each.base_instant for each in load_table(compacting.planned).latest_slices()
    }


def write(kind: Kind, storage: Storage) -> None:
    """What a writer does that deletes a key."""
    writer = writer_on(storage, clock_at(NOW_MS + 5_000))
    recover(writer)
    with InstantRun(writer, Action.DELTA_COMMIT) as begun:
        delete_key(storage, KEY, begun.instant)
        begun.start(None)
        assert kind.read(storage) == kind.rows
        begun.complete(None, frozenset())


def test_a_writer_between_any_two_calls_of_a_run_loses_nothing(kind: Kind) -> None:
    """A log compaction turns it away, or leaves the slice that it wrote to.

    On top of a compaction its log file lies, whether that has begun, ended or neither.
    """
    is_log = kind.name == LOG_COMPACTION_KIND
    tried = range(1, visits_of(kind) + 2, STEP * (2 if is_log else 4))
    fates = {fate_at(kind, at) for at in tried}
    assert {(True, True), (True, False)} <= fates if is_log else fates == {(True, True)}


def fate_at(kind: Kind, at: int) -> tuple[bool, bool]:
    """Whether a run and a writer before one of its calls end well."""
    storage, wrote = kind.planned.copy(), list[BaseException | None]()

    def visit(call: int) -> None:
        if call == at:
            wrote.append(outcome(partial(write, kind, storage)))

    raised = outcome(partial(kind.run, Visited(storage, visit)))
    if not wrote:
        visit(at)
    assert raised is None or isinstance(raised, ConflictError), (at, raised)
    assert wrote[0] is None or isinstance(wrote[0], ConflictError), (at, wrote)
    rows = kind.left if wrote[0] is None else kind.rows
    assert kind.read(storage) == rows, at
    clock = clock_at(NOW_MS + 20_000)
    recover(writer_on(storage, clock))
    check_logs(storage, at)
    kind.plan(storage, clock)
    run_pending(storage, clock)
    kind.check_compacted(storage, rows, at)
    return raised is None, wrote[0] is None


def visits_of(kind: Kind) -> int:
    whole = Visited(kind.planned.copy(), lambda _: None)
    kind.run(whole)
    return whole.calls


def test_a_writer_and_a_plan_that_begin_at_once_lose_nothing(
    compacting: Kind, logged: MemoryStorage
) -> None:
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

        raised = run_in_turns(storage, order, write, lambda own: compacting.plan(own, clock_at()))
        assert all(each is None or isinstance(each, ConflictError) for each in raised), raised
        wanted = compacting.left if raised[0] is None else compacting.rows
        fates.add(tuple(each is None for each in raised))
        assert compacting.read(storage) == wanted, number
        run_pending(storage, clock_at(NOW_MS + 10_000))
        assert compacting.read(storage) == wanted, number
    assert (True, False) in fates or (False, True) in fates


def recover_soon(storage: Storage) -> None:
    recover(writer_on(storage, clock_at(NOW_MS + 100)))


@pytest.mark.parametrize("is_run", [True, False], ids=["run and run", "run and recovery"])
def test_of_two_that_run_one_plan_one_goes_on(kind: Kind, is_run: bool) -> None:
    """Recovery leaves a plan of a compaction and a live run alone, and refuses beside others."""
    for number, order in enumerate(random_orders(40, 140)):
        storage, found = kind.planned.copy(), list[str]()

        def body(own: TurnStorage, found: list[str] = found) -> None:
            found.append(kind.run(own).status)

        raised = run_in_turns(storage, order, body, body if is_run else recover_soon)
        refused = [each for each in raised if each is not None]
        assert all(isinstance(each, ConflictError) for each in refused), (number, raised)
        assert kind.read(storage) == kind.rows, number
        check_logs(storage, number)
        if is_run and kind.name == COMPACTION_KIND:
            assert found.count("committed") == 1, (number, raised)
            assert len(refused) + found.count("already_committed") == 1, (number, raised)
            assert leftovers(storage) == [], number
        run_pending(storage, clock_at(NOW_MS + 10_000))
        assert leftovers(storage) == [], number


def test_of_two_that_find_a_dead_run_one_goes_on(compacting: Kind) -> None:
    dead = compacting.planned.copy()
    at = calls_of(compacting, Kind.run, dead) - 12
    outcome(partial(compacting.run, FaultyStorage(dead, Faults(Fault.DEATH, at))))
    bury(dead)
    for number, order in enumerate(random_orders(40, 200)):
        storage = dead.copy()
        raised = run_in_turns(storage, order, compacting.run, compacting.run)
        assert all(each is None or isinstance(each, ConflictError) for each in raised), raised
        assert compacting.read(storage) == compacting.rows, number
        if None not in raised:  # both stepped back
            compacting.run(storage)
        check_done(compacting, storage, number)


def test_a_run_that_was_taken_for_dead_cannot_commit(kind: Kind) -> None:
    """It wakes before its commit, when another has undone it, and runs what is planned still."""
    calls = visits_of(kind)
    for at in range(calls - 25, calls + 1, STEP):
        check_woken(kind, at)


def check_woken(kind: Kind, at: int) -> None:
    storage, found = kind.planned.copy(), list[str]()

    def run(own: Storage, clock: FakeClock) -> None:
        service = kind.service(own, clock)
        while planned := service.oldest_pending():
            found.append(service.execute(planned).status)

    def visit(call: int) -> None:
        if call == at:
            bury(storage)
            recover(writer_on(storage, clock_at(NOW_MS + 500)))
            raised = outcome(partial(run, storage, clock_at(NOW_MS + 1_000)))
            assert raised is None or isinstance(raised, ConflictError), (at, raised)

    raised = outcome(partial(run, Visited(storage, visit), clock_at()))
    assert raised is None or isinstance(raised, HudiError), (at, raised)
    assert kind.read(storage) == kind.rows, (at, raised, found)
    is_undone = kind.name == LOG_COMPACTION_KIND and raised is not None
    assert found.count("committed") == (0 if is_undone else 1), (at, raised, found)
    check_done(kind, storage, at)


def test_recovery_leaves_a_plan_and_a_live_run_alone(compacting: Kind) -> None:
    storage = compacting.planned.copy()

    def visit(call: int) -> None:
        recover(writer_on(storage, clock_at(NOW_MS + 10_000 + call)))

    compacting.run(Visited(storage, visit))
    assert compacting.read(storage) == compacting.rows
    assert leftovers(storage) == []


@pytest.mark.parametrize("gone", [Action.DELTA_COMMIT, Action.LOG_COMPACTION])
def test_a_run_that_another_writer_has_half_undone_cannot_commit(
    log_compacting: Kind, gone: Action
) -> None:
    """Of the instant that keeps others from writing and its own only one is left."""
    storage = log_compacting.planned.copy()
    with log_compaction_run(writer_on(storage, clock_at()), LOGS_PLANNED) as work:
        stats = write_slices(work, LOGS_PLANNED, LOG_COMPACTION_KIND)
        written = frozenset(stat.path or "" for stat in stats)
        assert written <= storage.files.keys()
        timeline = load_table(storage).timeline
        (undone,) = [each for each in timeline.pending_writes() if each.action is gone]
        active_of(storage).remove(undone)
        with pytest.raises(ConflictError, match="was rolled back by another writer"):
            work.run.complete(None, written)
        assert not written & storage.files.keys()
    check_done(log_compacting, storage, gone)


def test_nothing_is_planned_before_a_dead_write_is_undone(
    compacting: Kind, logged: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To undo it later would delete log files that the plan names."""
    storage = logged.copy()
    storage.put(".hoodie/20270115075959000.deltacommit.requested", b"")
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "recover", lambda _: ())
        with pytest.raises(ConflictError, match="has just died"):
            compacting.plan(storage, clock_at())
    assert compacting.plan(storage, clock_at())
    assert "pending deltacommit 20270115075959000" not in leftovers(storage)


def test_what_is_planned_already_is_not_planned_again(kind: Kind) -> None:
    """All file groups are in the plan."""
    assert kind.plan(kind.planned.copy(), clock_at()) is None


def test_compactions_mind_no_plan_and_a_plan_minds_them(
    compacting: Kind, log_compacting: Kind
) -> None:
    """What was compacted since is left as it is."""
    storage, clock = log_compacting.planned.copy(), clock_at()
    found = compacting.plan(storage, clock)
    assert found
    assert log_compacting.plan(storage, clock) is None
    compacting.service(storage, clock).execute(found)
    assert log_compacting.run(storage).files["appended"] == 0
    assert compacting.read(storage) == values(log_compacting.rows)
    assert leftovers(storage) == []


def test_a_plan_without_log_files_on_top_can_be_taken_back(
    compacting: Kind, logged: MemoryStorage
) -> None:
    storage, clock = logged.copy(), clock_at()
    found = compacting.plan(storage, clock)
    assert found
    compacting.service(storage, clock).unschedule(found)
    assert leftovers(storage) == []
    assert compacting.read(storage) == compacting.rows
    assert compacting.plan(storage, clock)


def test_a_plan_with_log_files_on_top_cannot(compacting: Kind) -> None:
    storage = compacting.planned.copy()
    with pytest.raises(RequestError, match="log files were written on top"):
        compacting.service(storage, clock_at()).unschedule(compacting.instant)
    assert compacting.read(storage) == compacting.rows


def test_what_runs_or_never_was_cannot_be_taken_back(compacting: Kind) -> None:
    storage = compacting.planned.copy()
    service = compacting.service(storage, clock_at())
    with pytest.raises(RequestError, match="not planned"):
        service.unschedule("20270101000000000")
    storage.put(f".hoodie/{compacting.instant}.compaction.inflight", b"")
    with pytest.raises(RequestError, match="inflight already"):
        service.unschedule(compacting.instant)


def test_a_plan_of_a_log_compaction_is_taken_back_before_it_runs(log_compacting: Kind) -> None:
    storage = log_compacting.planned.copy()
    service = log_compacting.service(storage, clock_at())
    service.unschedule(LOGS_PLANNED)
    again = service.schedule().instant
    assert again
    service.execute(again)
    assert read_texts(storage) == log_compacting.rows
    for instant in (LOGS_PLANNED, again):
        with pytest.raises(RequestError, match=r"not planned|completed already"):
            service.unschedule(instant)
    with pytest.raises(RequestError, match="has taken its plan"):
        service.execute(LOGS_PLANNED)
    assert service.execute(again).status == "already_committed"
