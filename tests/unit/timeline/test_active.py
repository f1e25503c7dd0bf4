"""The active timeline on storage."""

from dataclasses import dataclass

import pytest

from pyhudi.actions.commit import CommitMetadata
from pyhudi.config.versions import TableVersion
from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError, StorageError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage
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
    active = active_of(FaultyStorage(storage, Faults(kind, 1)))
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


def test_an_instant_that_cannot_be_read_says_where() -> None:
    storage = MemoryStorage()
    storage.put(f".hoodie/{T}.clean", b"no container")
    storage.put(f".hoodie/{T}.commit", b"no json")
    active = active_of(storage)
    with pytest.raises(CorruptTableError, match=f"{storage.uri}/.hoodie/{T}"):
        active.read_clean(commit(State.COMPLETED, Action.CLEAN))
    with pytest.raises(CorruptTableError, match=f"{storage.uri}/.hoodie/{T}"):
        active.read_commit(commit(State.COMPLETED))
