"""The active timeline on storage."""

from __future__ import annotations

import pytest

from pyhudi.config.versions import TableVersion
from pyhudi.errors import AlreadyExistsError, MissingFileError
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline import active
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.golden import golden_instants, golden_names, golden_table

SIX = TableVersion.SIX
T = "20260102030405678"


def commit(state: State) -> Instant:
    return Instant(time=T, action=Action.COMMIT, state=state)


@pytest.mark.parametrize("name", golden_names())
def test_the_timeline_of_a_table_of_hudi_is_the_one_hudi_lists(name: str) -> None:
    timeline = active.load(open_storage(str(golden_table(name))), SIX)
    found = sorted((i.time, i.action.value, i.state.name) for i in timeline)
    listed = [(i["requested"], i["action"], i["state"]) for i in golden_instants(name)]
    assert found == sorted(listed)


def test_an_instant_goes_through_its_states(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    for state in State:
        active.write_state(storage, SIX, commit(state), state.name.encode())
        assert active.load(storage, SIX).instants == (commit(state),)
    assert active.read_state(storage, SIX, commit(State.INFLIGHT)) == b"INFLIGHT"


def test_a_state_is_reached_once(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    active.write_state(storage, SIX, commit(State.REQUESTED), b"")
    with pytest.raises(AlreadyExistsError):
        active.write_state(storage, SIX, commit(State.REQUESTED), b"")


def test_a_removed_state_is_gone_and_may_be_removed_again(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    active.write_state(storage, SIX, commit(State.REQUESTED), b"")
    active.remove(storage, SIX, commit(State.REQUESTED))
    active.remove(storage, SIX, commit(State.REQUESTED))
    assert len(active.load(storage, SIX)) == 0
    with pytest.raises(MissingFileError):
        active.read_state(storage, SIX, commit(State.REQUESTED))


def test_a_folder_without_timeline_has_an_empty_one(tmp_path) -> None:
    assert len(active.load(open_storage(str(tmp_path / "none")), SIX)) == 0
