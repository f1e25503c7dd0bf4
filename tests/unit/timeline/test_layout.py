"""File names of instants, in both layouts, and those of Hudi's own tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.versions import TableVersion
from pyhudi.timeline import layout
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.golden import golden_names, golden_table

SIX, NINE = TableVersion.SIX, TableVersion.NINE
T, C = "20260102030405678", "20260102030409999"

NAMES = [
    (SIX, Action.COMMIT, State.REQUESTED, f".hoodie/{T}.commit.requested"),
    (SIX, Action.COMMIT, State.INFLIGHT, f".hoodie/{T}.inflight"),
    (SIX, Action.COMMIT, State.COMPLETED, f".hoodie/{T}.commit"),
    (SIX, Action.DELTA_COMMIT, State.INFLIGHT, f".hoodie/{T}.deltacommit.inflight"),
    (SIX, Action.REPLACE_COMMIT, State.REQUESTED, f".hoodie/{T}.replacecommit.requested"),
    (SIX, Action.COMPACTION, State.INFLIGHT, f".hoodie/{T}.compaction.inflight"),
    (SIX, Action.COMPACTION, State.COMPLETED, f".hoodie/{T}.commit"),
    (SIX, Action.LOG_COMPACTION, State.COMPLETED, f".hoodie/{T}.deltacommit"),
    (SIX, Action.SAVEPOINT, State.INFLIGHT, f".hoodie/{T}.savepoint.inflight"),
    (SIX, Action.ROLLBACK, State.COMPLETED, f".hoodie/{T}.rollback"),
    (NINE, Action.COMMIT, State.INFLIGHT, f".hoodie/timeline/{T}.inflight"),
    (NINE, Action.COMMIT, State.COMPLETED, f".hoodie/timeline/{T}_{C}.commit"),
    (NINE, Action.CLUSTERING, State.REQUESTED, f".hoodie/timeline/{T}.clustering.requested"),
    (NINE, Action.CLUSTERING, State.COMPLETED, f".hoodie/timeline/{T}_{C}.replacecommit"),
]


def an_instant(version: TableVersion, action: Action, state: State) -> Instant:
    ended = C if version is NINE and state is State.COMPLETED else None
    return Instant(time=T, action=action, state=state, completion_time=ended)


@pytest.mark.parametrize(("version", "action", "state", "path"), NAMES)
def test_an_instant_has_hudis_file_name(version, action, state, path) -> None:
    assert layout.path(an_instant(version, action, state), version) == path


@given(st.sampled_from([SIX, NINE]), st.sampled_from(list(Action)), st.sampled_from(list(State)))
def test_a_file_name_gives_back_its_instant(version, action, state) -> None:
    instant = an_instant(version, action, state)
    found = layout.parse_file_name(layout.file_name(instant, version), version)
    assert found is not None
    assert (found.identity, found.state) == (instant.identity, state)
    assert found.completion_time == instant.completion_time


@pytest.mark.parametrize("name", golden_names())
def test_every_file_name_of_hudis_timelines_is_read_and_made_again(name: str) -> None:
    folder = golden_table(name) / layout.folder(SIX)
    files = {path.name for path in folder.iterdir() if path.is_file()} - {"hoodie.properties"}
    for file in files:
        instant = layout.parse_file_name(file, SIX)
        assert instant is not None, file
        assert layout.file_name(instant, SIX) == file


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.properties",
        "hoodie.properties.backup",
        f".{T}.commit.crc",
        f"{T}.unheard",
        f"{T}.commit.begun",
        f"{T}_{C}.commit",
        f"{T}.commit.requested.tmp",
        "archived",
    ],
)
def test_other_files_are_no_instants(name: str) -> None:
    assert layout.parse_file_name(name, SIX) is None


def test_a_completed_file_of_an_upgraded_table_has_one_time() -> None:
    found = layout.parse_file_name(f"{T}.commit", NINE)
    assert found == Instant(time=T, action=Action.COMMIT, state=State.COMPLETED)
    assert layout.file_name(found, NINE) == f"{T}.commit"
