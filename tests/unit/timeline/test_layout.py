"""File names of instants, in both layouts, and those of Hudi's own tables."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.versions import TableVersion
from pyhudi.table.table import open_table
from pyhudi.timeline import layout
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.golden import golden_names, golden_table

SIX, NINE = TableVersion.SIX, TableVersion.NINE
T, C = "20260102030405678", "20260102030409999"

NAMES = [
    (SIX, Action.COMMIT, State.REQUESTED, f"{T}.commit.requested"),
    (SIX, Action.COMMIT, State.INFLIGHT, f"{T}.inflight"),
    (SIX, Action.COMMIT, State.COMPLETED, f"{T}.commit"),
    (SIX, Action.DELTA_COMMIT, State.INFLIGHT, f"{T}.deltacommit.inflight"),
    (SIX, Action.REPLACE_COMMIT, State.REQUESTED, f"{T}.replacecommit.requested"),
    (SIX, Action.COMPACTION, State.INFLIGHT, f"{T}.compaction.inflight"),
    (SIX, Action.COMPACTION, State.COMPLETED, f"{T}.commit"),
    (SIX, Action.LOG_COMPACTION, State.COMPLETED, f"{T}.deltacommit"),
    (SIX, Action.SAVEPOINT, State.INFLIGHT, f"{T}.savepoint.inflight"),
    (SIX, Action.ROLLBACK, State.COMPLETED, f"{T}.rollback"),
    (NINE, Action.COMMIT, State.INFLIGHT, f"{T}.inflight"),
    (NINE, Action.COMMIT, State.COMPLETED, f"{T}_{C}.commit"),
    (NINE, Action.CLUSTERING, State.REQUESTED, f"{T}.clustering.requested"),
    (NINE, Action.CLUSTERING, State.COMPLETED, f"{T}_{C}.replacecommit"),
]


def an_instant(version: TableVersion, action: Action, state: State) -> Instant:
    ended = C if version is NINE and state is State.COMPLETED else None
    return Instant(time=T, action=action, state=state, completion_time=ended)


@pytest.mark.parametrize(("version", "action", "state", "name"), NAMES)
def test_an_instant_has_hudis_file_name(version, action, state, name) -> None:
    assert layout.file_name(an_instant(version, action, state), version) == name


def test_layout_2_has_a_folder_of_its_own() -> None:
    assert layout.folder(SIX, "anything") == ".hoodie"
    assert layout.folder(NINE) == ".hoodie/timeline"
    assert layout.folder(NINE, "t") == ".hoodie/t"


@given(st.sampled_from([SIX, NINE]), st.sampled_from(list(Action)), st.sampled_from(list(State)))
def test_a_file_name_gives_back_its_instant(version, action, state) -> None:
    instant = an_instant(version, action, state)
    found = layout.parse_file_name(layout.file_name(instant, version), version)
    assert found is not None
    assert (found.identity, found.state) == (instant.identity, state)
    assert found.completion_time == instant.completion_time


@pytest.mark.parametrize("name", golden_names())
def test_every_file_name_of_hudis_timelines_is_read_and_made_again(name: str) -> None:
    version = open_table(golden_table(name)).config.version
    folder = golden_table(name) / layout.folder(version)
    files = {path.name for path in folder.iterdir() if path.is_file()} - {"hoodie.properties"}
    for file in files:
        instant = layout.parse_file_name(file, version)
        assert instant is not None, file
        assert layout.file_name(instant, version) == file


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
    assert found == Instant(time=T, action=Action.COMMIT, state=State.COMPLETED, is_unnamed=True)
    told = replace(found, completion_time=C)
    assert layout.file_name(told, NINE) == f"{T}.commit"
    assert layout.file_name(told.in_state(State.COMPLETED, C), NINE) == f"{T}_{C}.commit"
