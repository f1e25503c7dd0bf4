"""Instants rise and are one writer's alone; what is begun is committed, undone or withdrawn."""

from __future__ import annotations

import pytest

from pyhudi.config.versions import TableVersion
from pyhudi.errors import ConflictError, StorageError
from pyhudi.timeline import active
from pyhudi.timeline.clock import FakeClock
from pyhudi.timeline.instant import Action, State
from pyhudi.transaction import transaction as module
from pyhudi.transaction.transaction import Transaction, live_writers
from tests.support.faulty import bury
from tests.support.in_process import NOW_MS, clock_at, leftovers, new_table, writer_on
from tests.support.memory import MemoryStorage

FIRST = "20260101000000000"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)


def commit(storage: MemoryStorage, clock: FakeClock) -> str:
    with Transaction(writer_on(storage, clock), Action.COMMIT) as transaction:
        transaction.start(b"{}")
        transaction.complete(b"{}", frozenset())
    return transaction.instant


def states(storage: MemoryStorage) -> list[tuple[Action, State]]:
    return [(i.action, i.state) for i in active.load(storage, TableVersion.SIX)]


@pytest.mark.parametrize("step_ms", [0, 1, -3_600_000])
def test_instant_times_rise_whatever_the_clock_does(step_ms: int):
    storage, clock = new_table(), FakeClock(NOW_MS, step_ms=step_ms)
    times = [commit(storage, clock) for _ in range(20)]
    assert times == sorted(set(times))
    assert {len(time) for time in times} == {17}


def test_an_instant_leaves_the_files_of_its_three_states():
    storage = new_table()
    instant = commit(storage, FakeClock(NOW_MS))
    assert instant == FIRST
    assert [path for path in storage.files if instant in path] == [
        f".hoodie/{instant}.commit.requested",
        f".hoodie/{instant}.inflight",
        f".hoodie/{instant}.commit",
    ]


def test_a_time_that_another_writer_has_taken_is_left_to_it():
    """The other one has signed, and will request its instant in a moment."""
    storage = new_table()
    taken = storage.copy()
    taken.put(f".hoodie/.heartbeat/{FIRST}", b"its own")
    assert commit(taken, FakeClock(NOW_MS)) == "20260101000000001"
    assert taken.read(f".hoodie/.heartbeat/{FIRST}") == b"its own"


def test_a_time_requested_without_a_heartbeat_is_left_as_it_was():
    class Late(MemoryStorage):
        """Another writer's request comes between our look at the timeline and our own request."""

        def create(self, path: str, data: bytes) -> None:
            if path == f".hoodie/.heartbeat/{FIRST}":
                self.put(f".hoodie/{FIRST}.commit.requested", b"")
            super().create(path, data)

    storage = Late(new_table().files, NOW_MS)
    with Transaction(writer_on(storage, FakeClock(NOW_MS)), Action.COMMIT) as transaction:
        assert transaction.instant == "20260101000000001"
        assert storage.below(".hoodie/.heartbeat") == [".hoodie/.heartbeat/20260101000000001"]
        transaction.withdraw()


def test_a_second_writer_gives_way_and_leaves_nothing():
    storage, clock = new_table(), clock_at()
    with Transaction(writer_on(storage, clock), Action.COMMIT) as first:
        before = dict(storage.files)
        with (
            pytest.raises(ConflictError, match=first.instant) as caught,
            Transaction(writer_on(storage, clock), Action.COMMIT),
        ):
            pass
        assert caught.value.retryable
        assert storage.uri in str(caught.value)
        assert storage.files == before
        assert live_writers(writer_on(storage, clock)) == [first.instant]
        first.withdraw()
    assert leftovers(storage) == []


def test_a_writer_whose_process_is_gone_is_no_rival():
    storage, clock = new_table(), clock_at()
    first = Transaction(writer_on(storage, clock), Action.COMMIT)
    first.__enter__()
    bury(storage)
    assert live_writers(writer_on(storage, clock)) == []
    with Transaction(writer_on(storage, clock), Action.COMMIT) as second:
        assert second.instant > first.instant
        second.withdraw()
    first.withdraw()
    first.__exit__(None, None, None)


def test_a_write_that_raises_is_undone_and_says_why():
    storage, clock = new_table(), clock_at()

    def fail() -> None:
        with Transaction(writer_on(storage, clock), Action.COMMIT) as transaction:
            transaction.start(b"{}")
            raise StorageError("the reason")

    with pytest.raises(StorageError, match="the reason"):
        fail()
    assert states(storage) == [(Action.ROLLBACK, State.COMPLETED)]
    assert leftovers(storage) == []


def test_a_write_that_withdraws_leaves_no_trace():
    storage = new_table()
    before = dict(storage.files)
    with Transaction(writer_on(storage, clock_at()), Action.COMMIT) as transaction:
        transaction.start(b"{}")
        transaction.withdraw()
    assert storage.files == before


def test_an_instant_that_was_rolled_back_meanwhile_cannot_complete():
    storage = new_table()

    def complete() -> None:
        with Transaction(writer_on(storage, clock_at()), Action.COMMIT) as transaction:
            storage.delete(f".hoodie/{transaction.instant}.commit.requested")
            transaction.complete(b"{}", frozenset())

    with pytest.raises(ConflictError, match="rolled back by another writer"):
        complete()
    assert not [path for path in storage.files if path.endswith(".commit")]
