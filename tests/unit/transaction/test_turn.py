"""Who waits for whom, how long, and what is said of it."""

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from pyhudi.config.write import WaitConfig
from pyhudi.errors import WriterAtWorkError
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.timeline.instant import Action
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.heartbeat import HEARTBEATS
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.process import ProcessMark
from pyhudi.transaction.tickets import Ticket, take_ticket, tickets_among
from pyhudi.transaction.turn import Turn
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, dead_pid
from tests.support.in_process import NOW_MS, leftovers, new_table, writer_on
from tests.support.memory import MemoryStorage

ERROR = WriterAtWorkError("another writer is at work (instant 1)", where="/t")


class Passing:
    """Time that passes while somebody sleeps, and what happens at its moments."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.now = clock, 0.0
        self.events: list[tuple[float, Callable[[], object]]] = []

    def monotonic_ms(self) -> float:
        return self.now * 1000

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.clock.advance(int(seconds * 1000))
        for event in [event for event in self.events if event[0] <= self.now]:
            self.events.remove(event)
            event[1]()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW_MS)


@pytest.fixture
def passing(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Passing:
    passing = Passing(clock)
    monkeypatch.setattr(clock, "monotonic_ms", passing.monotonic_ms)
    monkeypatch.setattr(clock, "sleep", passing.sleep)
    return passing


def turn_of(seconds: float = 900) -> Turn:
    return Turn(WaitConfig(seconds=seconds))


def begin(storage: Storage, clock: FakeClock) -> InstantRun:
    """A writer that lives, whose heartbeat stays fresh."""
    run = InstantRun(writer_on(storage, clock), Action.COMMIT)
    run.__enter__()
    return run


def end(run: InstantRun) -> None:
    run.withdraw()
    run.__exit__(None, None, None)


def tickets(storage: MemoryStorage) -> tuple[Ticket, ...]:
    return tickets_among(path.rpartition("/")[2] for path in storage.below(HEARTBEATS))


def test_who_does_not_wait_is_told_at_once_and_leaves_nothing(clock: FakeClock) -> None:
    storage = new_table()
    before = dict(storage.files)
    with pytest.raises(WriterAtWorkError) as caught:
        turn_of(0).wait(writer_on(storage, clock), ERROR)
    assert caught.value is ERROR
    assert storage.files == before


@pytest.mark.parametrize("after_s", [0.2, 7.0, 100.0])
def test_who_waits_goes_on_soon_after_the_other_has_ended(
    after_s: float, clock: FakeClock, passing: Passing
) -> None:
    storage, turn = new_table(), turn_of()
    run = begin(storage, clock)
    passing.events.append((after_s, lambda: end(run)))
    turn.wait(writer_on(storage, clock), ERROR)
    assert after_s <= passing.now <= after_s + 1
    (ticket,) = tickets(storage)
    assert ticket.came_ms == NOW_MS
    turn.leave()
    assert leftovers(storage) == []


def test_the_log_says_for_whom_and_how_long_and_not_at_each_look(
    clock: FakeClock, passing: Passing, caplog: pytest.LogCaptureFixture
) -> None:
    storage = new_table()
    run = begin(storage, clock)
    take_ticket(storage, came_ms=NOW_MS - 5_000, until_ms=NOW_MS + 500_000)
    passing.events.append((100, lambda: end(run)))
    with caplog.at_level(logging.INFO, "pyhudi"):
        turn_of().wait(writer_on(storage, clock), ERROR)
    me = ProcessMark.here()
    first, *others = [record.getMessage() for record in caplog.records]
    whom = f"the write at {run.instant} of process {me.pid} on {me.host} and 1 that came before"
    assert first == f"orders: waiting for {whom} (0 s so far, at most 900 s)"
    assert 3 <= len(others) <= 4
    assert f"waiting for {whom} (3" in others[0]


def test_after_the_bound_the_error_says_for_whom_it_waited(
    clock: FakeClock, passing: Passing
) -> None:
    storage, turn = new_table(), turn_of(60)
    run = begin(storage, clock)
    with pytest.raises(WriterAtWorkError) as caught:
        turn.take(lambda: writer_on(storage, clock), lambda: recover(writer_on(storage, clock)))
    assert 60 <= passing.now < 60.1
    assert str(caught.value).startswith(f"waited 60 s for the write at {run.instant} of process ")
    assert "as long as pyhudi.write.wait.seconds allows; retry" in str(caught.value)
    assert (caught.value.exit_code, caught.value.where) == (3, storage.uri)
    assert tickets(storage) == ()
    assert not turn.may_wait
    end(run)


def test_all_that_a_job_waits_counts_together(clock: FakeClock, passing: Passing) -> None:
    storage, turn = new_table(), turn_of(60)
    for _ in range(2):
        run = begin(storage, clock)
        passing.events.append((passing.now + 25, lambda run=run: end(run)))  # type: ignore[misc]
        turn.wait(writer_on(storage, clock), ERROR)
        turn.leave()
    run = begin(storage, clock)
    with pytest.raises(WriterAtWorkError, match="waited 60 s"):
        turn.wait(writer_on(storage, clock), ERROR)
    end(run)


def test_who_came_first_goes_first_and_keeps_the_place(clock: FakeClock, passing: Passing) -> None:
    storage, early, late = new_table(), turn_of(), turn_of()
    early.wait(writer_on(storage, clock), ERROR)
    early.leave()
    clock.advance(50)
    run = begin(storage, clock)
    passing.events.append((passing.now + 1, lambda: end(run)))
    late.wait(writer_on(storage, clock), ERROR)
    early.wait(writer_on(storage, clock), ERROR)
    first, second = tickets(storage)
    assert (first.came_ms, second.came_ms > NOW_MS) == (NOW_MS, True)
    assert late.is_behind([first]) is False  # its turn had come
    late.leave()
    assert late.is_behind([first]) is True
    assert early.is_behind([second]) is False


@pytest.mark.parametrize(
    ("ahead", "least_s", "most_s"),
    [
        pytest.param([b""], 2, 5, id="one that does not go"),
        pytest.param([b"", b""], 4, 7, id="two that do not go"),
        pytest.param([ProcessMark.of(dead_pid()).to_bytes()] * 5, 0, 1, id="dead ones of here"),
    ],
)
def test_the_dead_hold_nobody_up_for_long(
    ahead: list[bytes], least_s: float, most_s: float, clock: FakeClock, passing: Passing
) -> None:
    storage = new_table()
    for text in ahead:
        found = take_ticket(storage, came_ms=NOW_MS - 1, until_ms=NOW_MS + 900_000)
        storage.put(found.path, text)
    turn = turn_of()
    turn.wait(writer_on(storage, clock), ERROR)
    assert least_s <= passing.now <= most_s
    turn.leave()
    assert len(tickets(storage)) == (len(ahead) if least_s else 0)


def test_a_ticket_whose_time_is_over_is_deleted(clock: FakeClock, passing: Passing) -> None:
    storage, turn = new_table(), turn_of()
    take_ticket(storage, came_ms=NOW_MS - 2, until_ms=NOW_MS - 1)
    turn.wait(writer_on(storage, clock), ERROR)
    assert passing.now < 1
    turn.leave()
    assert storage.below(HEARTBEATS) == []


def test_who_has_not_waited_goes_behind_those_who_do(clock: FakeClock, passing: Passing) -> None:
    storage, came = new_table(), []
    waiting = turn_of()
    waiting.wait(writer_on(storage, clock), ERROR)
    passing.events.append((passing.now + 3, lambda: (came.append("first"), waiting.leave())))

    def enter(turn: Turn) -> None:
        writer = replace(writer_on(storage, clock), is_behind=turn.is_behind)
        turn.take(lambda: writer, lambda: came.append(str(len(recover(writer)))))

    clock.advance(1)
    passing.events[0] = (passing.now + 1, passing.events[0][1])
    enter(turn_of())
    assert came == ["first", "0"]
    assert leftovers(storage) == []


def test_a_ticket_that_cannot_be_deleted_stops_nobody(
    clock: FakeClock, passing: Passing, caplog: pytest.LogCaptureFixture
) -> None:
    storage, turn = new_table(), turn_of()
    faulty = FaultyStorage(storage, Faults())
    writer: Writer = writer_on(faulty, clock)
    turn.wait(writer, ERROR)
    faulty.faults.kind, faulty.faults.at = Fault.ERROR, faulty.faults.calls + 1
    turn.leave()
    assert "stays behind until it is void" in caplog.text
    assert len(tickets(storage)) == 1
