"""Instants rise and are one writer's alone; what is begun is committed, undone or withdrawn."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from pyhudi.errors import ConflictError, StorageError
from pyhudi.timeline.active import Metadata, Seen
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.exclusion import Alone, Writer, live_writers
from pyhudi.transaction.heartbeat import Heartbeat
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import MarkedFile, MarkerType, leave_marker
from tests.support.clocks import FakeClock
from tests.support.faulty import bury
from tests.support.in_process import NOW_MS, clock_at, leftovers, new_table, outcome, writer_on
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

FIRST = "20260101000000000"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


def commit(storage: MemoryStorage, clock: FakeClock) -> str:
    with InstantRun(writer_on(storage, clock), Action.COMMIT) as run:
        run.start(None)
        run.complete(None, frozenset())
    return run.instant


def states(storage: MemoryStorage) -> list[tuple[Action, State]]:
    return [(i.action, i.state) for i in active_of(storage).load()]


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
    taken = new_table().copy()
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
    writer, exclusion = writer_on(storage, FakeClock(NOW_MS)), Alone(passes_dead=True)
    with InstantRun(writer, Action.COMMIT, exclusion=exclusion) as run:
        assert run.instant == "20260101000000001"
        assert storage.below(".hoodie/.heartbeat") == [".hoodie/.heartbeat/20260101000000001"]
        run.withdraw()


def test_a_second_writer_gives_way_and_leaves_nothing():
    storage, clock = new_table(), clock_at()
    with InstantRun(writer_on(storage, clock), Action.COMMIT) as first:
        before = dict(storage.files)
        with (
            pytest.raises(ConflictError, match=first.instant) as caught,
            InstantRun(writer_on(storage, clock), Action.COMMIT),
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
    first = InstantRun(writer_on(storage, clock), Action.COMMIT)
    first.__enter__()
    bury(storage)
    assert live_writers(writer_on(storage, clock)) == []
    second_exclusion = Alone(passes_dead=True)
    with InstantRun(writer_on(storage, clock), Action.COMMIT, exclusion=second_exclusion) as second:
        assert second.instant > first.instant
        second.withdraw()
    first.withdraw()
    first.__exit__(None, None, None)


def test_a_write_that_raises_is_undone_and_says_why():
    storage, clock = new_table(), clock_at()

    def fail() -> None:
        with InstantRun(writer_on(storage, clock), Action.COMMIT) as run:
            run.start(None)
            raise StorageError("the reason")

    with pytest.raises(StorageError, match="the reason"):
        fail()
    assert states(storage) == [(Action.ROLLBACK, State.COMPLETED)]
    assert leftovers(storage) == []


def test_a_write_that_withdraws_leaves_no_trace():
    storage = new_table()
    before = dict(storage.files)
    with InstantRun(writer_on(storage, clock_at()), Action.COMMIT) as run:
        run.start(None)
        run.withdraw()
    assert storage.files == before


def test_an_instant_that_was_rolled_back_meanwhile_cannot_complete():
    storage = new_table()

    def complete() -> None:
        with InstantRun(writer_on(storage, clock_at()), Action.COMMIT) as run:
            storage.delete(f".hoodie/{run.instant}.commit.requested")
            run.complete(None, frozenset())

    with pytest.raises(ConflictError, match="rolled back by another writer"):
        complete()
    assert not [path for path in storage.files if path.endswith(".commit")]


class Recording:
    """Keeps nobody out, says when it is asked, and refuses at the last moment where it is told."""

    def __init__(self, storage: MemoryStorage, *, refuses: bool) -> None:
        self.storage, self.refuses = storage, refuses
        self.asked: list[tuple[str, bool]] = []

    def begin(self, writer: Writer, instant: Instant) -> None:
        self.ask("begin", writer.active.is_requested(instant))

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        self.ask("check_marked", {file.path for file in marked} <= self.storage.files.keys())

    def check_held(
        self, writer: Writer, instant: Instant, files: Collection[str], _: Heartbeat
    ) -> None:
        self.ask("check_held", set(self.storage.below("p")) == set(files))
        if self.refuses:
            raise ConflictError("others are in")

    def agree(self, writer: Writer, instant: Instant, metadata: Metadata | None) -> Metadata | None:
        self.ask("agree", writer.active.is_requested(instant))
        return metadata

    def overlooked(self, writer: Writer, instant: Instant, seen: Seen | None) -> None:
        self.ask("overlooked", instant.is_completed)

    def ask(self, what: str, is_so: bool) -> None:
        self.asked.append((what, is_so))


COUNTS = "counts_0-0-0_1.parquet"


@pytest.mark.parametrize("refuses", [False, True])
def test_who_keeps_others_out_is_asked_before_files_go_and_before_the_commit(refuses: bool):
    storage = new_table()
    exclusion = Recording(storage, refuses=refuses)
    writer = writer_on(storage, clock_at())

    def write() -> None:
        with InstantRun(writer, Action.COMMIT, exclusion=exclusion) as run:
            for name in (COUNTS, "stray_0-0-0_1.parquet"):
                leave_marker(storage, run.instant, f"p/{name}", MarkerType.CREATE)
                storage.put(f"p/{name}", b"rows")
            run.start(None)
            run.complete(None, frozenset([f"p/{COUNTS}"]))

    raised = outcome(write)
    assert exclusion.asked[:3] == [("begin", True), ("check_marked", True), ("check_held", True)]
    last = [("check_marked", True)] if refuses else [("agree", True), ("overlooked", True)]
    assert exclusion.asked[3:5] == last
    is_there = [(Action.COMMIT, State.COMPLETED)]
    assert states(storage) == ([(Action.ROLLBACK, State.COMPLETED)] if refuses else is_there)
    assert isinstance(raised, ConflictError) == refuses
    assert storage.below("p") == ([] if refuses else [f"p/{COUNTS}"])


def test_a_plan_that_another_run_has_started_is_left_to_it():
    """This one was taken for dead before it started, and woke up."""
    storage, undone = new_table(), list[Instant]()
    planned = Instant(time=FIRST, action=Action.COMPACTION, state=State.REQUESTED)
    active_of(storage).request(planned, None)
    writer = replace(writer_on(storage, clock_at()), undo=undone.append)

    def start(exclusion: Recording) -> None:
        with InstantRun(writer, planned.action, planned=FIRST, exclusion=exclusion) as run:
            active_of(storage).start(planned, None)
            run.start(None)

    with pytest.raises(ConflictError, match=f"another run of compaction {FIRST} has just begun"):
        start(Recording(storage, refuses=False))
    assert undone == []
    assert states(storage) == [(Action.COMPACTION, State.INFLIGHT)]


def test_a_write_that_goes_on_from_one_that_is_taken_back_is_refused():
    storage, clock = new_table(), clock_at()
    earlier = [commit(storage, clock) for _ in range(3)]
    seen = {each.time: each for each in active_of(storage).load()}
    # What was archived is the oldest, and counts.
    with InstantRun(writer_on(storage, clock), Action.COMMIT) as run:
        run.start(None)
        for state in State:
            active_of(storage).remove(seen[earlier[0]].in_state(state))
        run.complete(None, frozenset())
    with InstantRun(writer_on(storage, clock), Action.COMMIT) as second:
        second.start(None)
        active_of(storage).revert(seen[earlier[2]])
        with pytest.raises(ConflictError, match=f"{earlier[2]}.*taken back"):
            second.complete(None, frozenset())
    completed = active_of(storage).load().completed()
    assert [found.time for found in completed.write_instants()] == [earlier[1], run.instant]
