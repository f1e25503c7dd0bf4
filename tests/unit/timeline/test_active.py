"""The active timeline on storage."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from pyhudi.actions.commit import CommitMetadata
from pyhudi.config.versions import TableVersion
from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError, StorageError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import open_table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import instant_time, next_instant_time
from pyhudi.timeline.ending import note_ending, sweep_endings
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed
from tests.support.golden import golden_instants, golden_names, golden_table
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

T = "20260102030405678"
CLOCK = FakeClock(1_800_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What an instant says."""

    text: str

    def to_bytes(self) -> bytes:
        return self.text.encode()


def commit(state: State = State.REQUESTED, action: Action = Action.COMMIT) -> Instant:
    return Instant(time=T, action=action, state=state)


@pytest.mark.parametrize("name", golden_names())
def test_the_timeline_of_a_table_of_hudi_is_the_one_hudi_lists(name: str) -> None:
    table = open_table(golden_table(name))
    timeline = table.active.load()
    found = sorted((i.time, i.action.value, i.state.name) for i in timeline)
    listed = [(i["requested"], i["action"], i["state"]) for i in golden_instants(name)]
    assert found == sorted(listed)
    if table.config.version is not TableVersion.SIX:
        told = {(i.time, i.action.value): i.completion_time for i in timeline.completed()}
        assert told == {
            (i["requested"], i["action"]): i["completed"]
            for i in golden_instants(name)
            if i["completed"]
        }


def test_an_instant_goes_through_its_states(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    active = active_of(storage)
    active.request(commit(), None)
    assert active.load().instants == (commit(),)
    active.start(commit(), Text(text="INFLIGHT"))
    assert active.load().instants == (commit(State.INFLIGHT),)
    active.complete(commit(), CommitMetadata(operation_type="UPSERT"), CLOCK)
    assert active.load().instants == (commit(State.COMPLETED),)
    assert active.read_commit(commit(State.COMPLETED)).operation_type == "UPSERT"
    assert storage.read(f".hoodie/{T}.inflight") == b"INFLIGHT"
    assert storage.read(f".hoodie/{T}.commit.requested") == b""


def test_a_state_is_reached_once(tmp_path) -> None:
    active = active_of(open_storage(str(tmp_path)))
    active.request(commit(), None)
    active.complete(commit(), Text(text="one"), CLOCK)
    with pytest.raises(AlreadyExistsError):
        active.request(commit(), None)
    with pytest.raises(AlreadyExistsError):
        active.complete(commit(), Text(text="another"), CLOCK)


def test_a_removed_state_is_gone_and_may_be_removed_again(tmp_path) -> None:
    active = active_of(open_storage(str(tmp_path)))
    active.request(commit(), None)
    assert active.is_requested(commit(State.INFLIGHT))
    active.remove(commit())
    active.remove(commit())
    assert len(active.load()) == 0
    assert not active.is_requested(commit())
    with pytest.raises(MissingFileError):
        active.read_rollback_plan(commit())


def test_a_folder_without_timeline_has_an_empty_one(tmp_path) -> None:
    assert len(active_of(open_storage(str(tmp_path / "none"))).load()) == 0


@pytest.mark.parametrize("has_landed", [True, False])
def test_an_instant_is_completed_by_a_call_that_fails_when_it_has_done_its_work(has_landed: bool):
    storage = MemoryStorage()
    kind = Fault.LATE_ERROR if has_landed else Fault.ERROR
    active = active_of(FaultyStorage(storage, Faults(kind, 1)), TableVersion.SIX)
    if has_landed:
        active.complete(commit(), Text(text="done"), CLOCK)
    else:
        with pytest.raises(StorageError):
            active.complete(commit(), Text(text="done"), CLOCK)
    assert list(storage.files) == [f".hoodie/{T}.commit"] * has_landed


def test_in_layout_2_the_name_of_a_completed_instant_tells_when_that_was() -> None:
    storage = MemoryStorage()
    active = active_of(storage, TableVersion.EIGHT)
    pending = commit(action=Action.SAVEPOINT)
    active.request(pending, None)
    active.complete(pending, None, FakeClock(0))
    (done,) = active.load()
    assert done.completion_time == "20260102030405679", "later than the request by any clock"
    assert active.completion_time(done) == done.completion_time
    assert storage.below(".hoodie/timeline") == [
        f".hoodie/timeline/{T}.savepoint.requested",
        f".hoodie/timeline/{T}_{done.completion_time}.savepoint",
    ]


LATER = (TableVersion.EIGHT, TableVersion.NINE)
FOLDER = ".hoodie/timeline"


def completed_files(storage: MemoryStorage) -> list[str]:
    return [path for path in storage.below(FOLDER) if path.endswith(".commit")]


@pytest.mark.parametrize("version", LATER)
@pytest.mark.parametrize("kind", [Fault.ERROR, Fault.LATE_ERROR, Fault.DEATH])
def test_whoever_completes_an_instant_again_makes_no_second_file(
    version: TableVersion, kind: Fault
) -> None:
    at, is_over = 0, False
    while not is_over:
        at += 1
        storage = MemoryStorage()
        active_of(storage, version).request(commit(), None)
        faulty = FaultyStorage(storage, Faults(kind, at))
        try:
            active_of(faulty, version).complete(commit(), Text(text="said"), FakeClock(0))
            is_over = faulty.faults.calls < at
        except (StorageError, Killed):
            pass
        seen = completed_files(storage)
        assert len(seen) <= 1
        with suppress(AlreadyExistsError):
            again = FakeClock(1_900_000_000_000)
            active_of(storage, version).complete(commit(), Text(text="other"), again)
        (done,) = completed_files(storage)
        assert seen in ([], [done])
        assert storage.below(".hoodie/.heartbeat") == []
    assert at > 3


@pytest.mark.parametrize("version", LATER)
def test_two_who_complete_one_instant_agree_whenever_the_other_comes(version: TableVersion) -> None:
    for at in range(1, 8):
        storage, raised = MemoryStorage(), list[BaseException]()
        active_of(storage, version).request(commit(), None)

        def other(storage: MemoryStorage = storage) -> None:
            clock = FakeClock(1_900_000_000_000)
            active_of(storage, version).complete(commit(), Text(text="other"), clock)

        faults = Faults(Fault.ERROR, 0)
        faults.before = lambda _, faults=faults, at=at, other=other: (
            other() if faults.calls == at else None
        )
        try:
            done = active_of(FaultyStorage(storage, faults), version).complete(
                commit(), Text(text="own"), FakeClock(1_800_000_000_000)
            )
            assert active_of(storage, version).load().instants == (done,)
        except AlreadyExistsError as error:
            raised.append(error)
        assert len(completed_files(storage)) == 1, (at, raised)


def test_a_note_of_an_ending_goes_when_nobody_needs_it() -> None:
    storage, later = MemoryStorage(), "20260102030405999"
    active = active_of(storage, TableVersion.NINE)
    saved = commit(action=Action.SAVEPOINT)
    for each in (commit(), saved):
        assert note_ending(storage, each, later) == later
        assert note_ending(storage, each, "20270102030405999") == later
    names = tuple(path.rpartition("/")[2] for path in storage.below(".hoodie/.heartbeat"))
    active.request(commit(), None)
    sweep_endings(storage, names, active.load())
    assert len(storage.below(".hoodie/.heartbeat")) == 2
    active.complete(commit(), None, CLOCK)
    note_ending(storage, commit(), later)
    sweep_endings(storage, names, active.load())
    (left,) = storage.below(".hoodie/.heartbeat")
    assert left.endswith("-savepoint"), "whoever makes it may be about to"
    sweep_endings(storage, names, Timeline())
    assert storage.below(".hoodie/.heartbeat") == []
    storage.put(left, b"no time")
    with pytest.raises(CorruptTableError, match="delete it"):
        note_ending(storage, saved, later)


def test_an_instant_ends_after_all_that_the_timeline_has() -> None:
    storage = MemoryStorage()
    active = active_of(storage, TableVersion.NINE)
    other = Instant(time=f"{T[:-1]}9", action=Action.CLEAN, state=State.REQUESTED)
    active.request(other, None)
    active.request(commit(), None)
    clock = FakeClock(0)
    done = active.complete(commit(), None, clock)
    assert done.completion_time == "20260102030405680"


class Beside(FakeClock):
    """A clock of one beside whom others do something while it sleeps for long, as often as said."""

    def __init__(self, now_ms: int, act: Callable[[], object], times: int = 1) -> None:
        super().__init__(now_ms)
        self.act, self.left, self.slept = act, times, list[float]()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)
        if self.left and seconds > 0.1:
            self.left -= 1
            self.act()


def ended_elsewhere(active: ActiveTimeline, later_by_ms: int) -> Callable[[], None]:
    """Others who complete an instant of their own, at a later time each."""

    def end() -> None:
        latest = active.load().latest_time
        at = next_instant_time(FakeClock(later_by_ms), active.zone, latest)
        other = Instant(time=at, action=Action.COMMIT, state=State.REQUESTED)
        active.request(other, None)
        active.complete(other, None, FakeClock(later_by_ms))

    return end


def test_beside_others_the_lock_is_held_until_their_clocks_have_passed_the_end() -> None:
    active = active_of(MemoryStorage(), TableVersion.NINE)
    active.request(commit(), None)
    clock = Beside(1_800_000_000_000, lambda: None)
    ending = active.ending(commit(), clock, 200)
    assert clock.slept[0] == 0.2
    assert ending.completion_time < instant_time(clock.now_ms() - 200, active.zone)
    assert active.complete(ending, None, clock) == ending, "a time that was drawn stays"


def test_beside_others_an_end_is_drawn_again_until_nobody_has_a_later_one() -> None:
    active = active_of(MemoryStorage(), TableVersion.NINE)
    active.request(commit(), None)
    clock = Beside(1_800_000_000_000, ended_elsewhere(active, 1_800_000_900_000), times=2)
    ending = active.ending(commit(), clock, 200)
    assert clock.slept.count(0.2) == 3
    assert ending.completion_time > max(active.load().completions().values())


def test_an_end_beside_others_whom_no_lock_keeps_out_is_given_up() -> None:
    active = active_of(MemoryStorage(), TableVersion.NINE)
    active.request(commit(), None)
    clock = Beside(1_800_000_000_000, ended_elsewhere(active, 1_800_000_900_000), times=1_000)
    with pytest.raises(StorageError, match="the lock does not keep them out") as raised:
        active.ending(commit(), clock, 200)
    assert raised.value.where.endswith(f"{T}.commit.requested")


def test_in_layout_1_an_end_beside_others_has_no_time() -> None:
    active = active_of(MemoryStorage(), TableVersion.SIX)
    ending = active.ending(commit(), FakeClock(0), 200)
    assert (ending.state, ending.completion_time) == (State.COMPLETED, None)


def test_an_instant_that_cannot_be_read_says_where() -> None:
    storage = MemoryStorage()
    storage.put(f".hoodie/{T}.clean", b"no container")
    storage.put(f".hoodie/{T}.commit", b"no json")
    active = active_of(storage)
    with pytest.raises(CorruptTableError, match=f"{storage.uri}/.hoodie/{T}"):
        active.read_clean(commit(State.COMPLETED, Action.CLEAN))
    with pytest.raises(CorruptTableError, match=f"{storage.uri}/.hoodie/{T}"):
        active.read_commit(commit(State.COMPLETED))
