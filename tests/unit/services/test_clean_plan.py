"""What a clean keeps and deletes, at the edges."""

from collections.abc import Iterable
from typing import Any

import pytest

from pyhudi.config.options.clean import CleanConfig, CleanPolicy
from pyhudi.filegroup.slices import FileGroup
from pyhudi.services.clean_plan import (
    Protected,
    earliest_retained,
    files_of,
    files_to_clean,
    is_due,
    may_be_due,
    still_needed,
    touched_partitions,
)
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from tests.support.slices import slice_of

REQUESTED, INFLIGHT, COMPLETED = State
COMMITS, VERSIONS, HOURS = CleanPolicy


def config(policy: CleanPolicy = COMMITS, **settings: Any) -> CleanConfig:
    return CleanConfig(policy=policy, **settings)


def timeline(commits: str, *others: tuple[str, Action, State]) -> Timeline:
    """Completed commits, a character each, and other instants."""
    done = (Instant(time=time, action=Action.COMMIT, state=COMPLETED) for time in commits)
    more = (Instant(time=time, action=action, state=state) for time, action, state in others)
    return Timeline.of((*done, *more))


def group(instants: str, *logs: int, partition: str = "p", file_id: str = "g") -> FileGroup:
    """A file group with a slice for each character, the newest first."""
    slices = (slice_of(file_id, 1, *logs, partition=partition, instant=at) for at in instants)
    return FileGroup(partition=partition, file_id=file_id, slices=tuple(slices))


def gone(
    groups: Iterable[FileGroup], chosen: CleanConfig, earliest: str = "", **protected: Any
) -> str:
    """The base instants of the slices whose base files go."""
    found = Instant(time=earliest, action=Action.COMMIT, state=COMPLETED) if earliest else None
    files = files_to_clean(groups, {}, Protected(**protected), chosen, found)
    names = (name for by_name in files.sizes.values() for name in by_name)
    return "".join(sorted(name[-9] for name in names if name.endswith(".parquet")))


@pytest.mark.parametrize(
    ("commits", "others", "wanted"),
    [
        ("12", (), None),
        ("123", (), "2"),
        ("12345", (), "4"),
        ("12345", (("15", Action.COMPACTION, REQUESTED),), "1"),
        ("12345", (("3", Action.DELTA_COMMIT, INFLIGHT),), "2"),
        ("12345", (("6", Action.COMPACTION, REQUESTED),), "4"),
        ("2345", (("1", Action.REPLACE_COMMIT, REQUESTED),), None),
        ("12345", (("2", Action.LOG_COMPACTION, REQUESTED),), "4"),
        ("12345", (("2", Action.SAVEPOINT, COMPLETED), ("3", Action.CLEAN, REQUESTED)), "4"),
    ],
)
def test_of_commits_the_latest_stay_and_none_after_a_pending_one(
    commits: str, others: tuple[tuple[str, Action, State], ...], wanted: str | None
) -> None:
    found = earliest_retained(timeline(commits, *others), config(commits_retained=2), "")
    assert (found and found.time) == wanted


def test_hours_begin_with_the_first_commit_in_them() -> None:
    for cutoff, wanted in (("0", "1"), ("2", "2"), ("25", "3"), ("4", None)):
        found = earliest_retained(timeline("123"), config(HOURS), cutoff)
        assert (found and found.time) == wanted
    assert earliest_retained(timeline("123"), config(VERSIONS), "2") is None


@pytest.mark.parametrize(
    ("instants", "earliest", "wanted"),
    [
        ("54321", "3", "1"),
        ("54321", "1", ""),
        ("54321", "9", "1234"),
        ("21", "9", "1"),
        ("1", "9", ""),
        ("51", "3", ""),
        ("", "3", ""),
    ],
)
def test_the_newest_slice_and_the_last_before_the_earliest_commit_stay(
    instants: str, earliest: str, wanted: str
) -> None:
    assert gone([group(instants)], config(), earliest) == wanted


def test_so_many_versions_of_each_group_stay() -> None:
    chosen = config(VERSIONS, versions_retained=2)
    assert gone([group("54321")], chosen) == "123"
    assert gone([group("21")], chosen) == ""
    compacting = {("p", "g"): "4"}
    assert gone([group("54321")], chosen, compacting=compacting) == "12"
    only = config(VERSIONS, versions_retained=1)
    assert gone([group("54321")], only, compacting=compacting) == "123"


def test_what_a_pending_compaction_needs_stays() -> None:
    assert gone([group("54321")], config(), "5", compacting={("p", "g"): "2"}) == "1"


def test_a_slice_stays_whole_when_a_savepoint_names_one_of_its_files() -> None:
    old = slice_of("g", 1, 1, 1, instant="1")
    for name, _ in files_of(old):
        assert gone([group("4321", 1, 1)], config(), "4", saved=frozenset([name])) == "2"


def test_log_files_go_with_their_slice() -> None:
    earliest = Instant(time="3", action=Action.COMMIT, state=COMPLETED)
    found = files_to_clean([group("4321", 5, 7)], {}, Protected(), config(), earliest)
    assert found.sizes == {"p": dict(files_of(slice_of("g", 1, 5, 7, instant="1")))}
    assert (found.count, found.size_bytes) == (3, 13)


def test_a_hidden_group_goes_when_no_retained_instant_sees_it() -> None:
    hidden = {("p", "g"): "3"}
    assert gone([group("21")], config(), "3", replaced=hidden) == ""
    assert gone([group("21")], config(), "4", replaced=hidden) == "12"
    assert gone([group("21")], config(VERSIONS), replaced=hidden) == "12"


def test_a_partition_is_emptied_when_all_its_files_go() -> None:
    groups = [group("21"), group("3", partition="q", file_id="h"), group("21", partition="")]
    hidden = {("p", "g"): "3", ("", "g"): "3"}
    names = frozenset(name for each in group("21").slices for name, _ in files_of(each))
    for files, wanted in ((names, ("p",)), (names | {"of_a_write_that_goes_on"}, ())):
        partitions = {"p": files, "": names, "q": frozenset(["x"]), "empty": frozenset[str]()}
        earliest = Instant(time="4", action=Action.COMMIT, state=COMPLETED)
        protected = Protected(replaced=hidden)
        found = files_to_clean(groups, partitions, protected, config(), earliest)
        assert found.emptied == wanted


def test_what_makes_up_the_table_by_now_is_needed_whatever_a_plan_says() -> None:
    pending = group("321", file_id="h")
    protected = Protected(saved=frozenset(["saved"]), compacting={pending.id: "2"})
    found = still_needed([group("21").slices[0]], [pending, group("21")], protected)
    newest = [slice_of("g", 1, instant="2"), *pending.slices[:2]]
    assert found == {"saved", *(name for each in newest for name, _ in files_of(each))}


def test_a_clean_is_due_after_so_many_commits() -> None:
    for commits, due in ((1, True), (2, True), (3, False)):
        assert is_due(timeline("1234"), config(trigger_commits=commits), "2") == due


def test_a_table_of_few_commits_is_not_looked_at() -> None:
    few = config(commits_retained=3)
    assert not may_be_due(timeline("12"), few)
    assert may_be_due(timeline("123"), few)
    assert may_be_due(timeline("1"), config(VERSIONS))
    assert may_be_due(timeline("1", ("2", Action.CLEAN, INFLIGHT)), few)


def test_only_partitions_written_from_one_instant_to_the_next_are_looked_into() -> None:
    wrote = {"1": ["a"], "2": ["c", "b"], "3": ["b"], "4": ["d"]}
    found = touched_partitions(timeline("1234"), "2", "4", lambda each: wrote[each.time])
    assert found == ("b", "c")
