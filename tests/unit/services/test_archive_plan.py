"""Which instants leave the timeline, and what keeps others there."""

from collections.abc import Iterable

import pytest

from pyhudi.actions.archived import CleanBounds
from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.config.table import TableType
from pyhudi.errors import OptionError
from pyhudi.services import archive_plan
from pyhudi.services.archive_plan import ArchiveBounds, instants_to_keep, plan_archive
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

HOUR = "202601{day:02d}{hour:02d}0000000"


def at(number: int) -> str:
    """The time of the commit of an hour, counted from the first of January."""
    return HOUR.format(day=1 + number // 24, hour=number % 24)


def instants(
    numbers: Iterable[int], action: Action = Action.COMMIT, state: State = State.COMPLETED
) -> list[Instant]:
    return [Instant(time=at(number), action=action, state=state) for number in numbers]


def planned(
    *groups: list[Instant],
    table_type: TableType = TableType.COPY_ON_WRITE,
    last_clean: CleanBounds | None = None,
    before: str | None = None,
    **options: str,
) -> list[int]:
    """The hours of what is archived."""
    timeline = Timeline.of(each for group in groups for each in group)
    bounds = ArchiveBounds(table_type=table_type, last_clean=last_clean, before=before)
    found = plan_archive(timeline, config(**options), bounds)
    hours = {at(number): number for number in range(200)}
    return [hours[each.time] for each in found]


def config(**options: str) -> ArchiveConfig:
    given = {
        "hoodie.keep.min.commits": "4",
        "hoodie.keep.max.commits": "6",
        "hoodie.clean.commits.retained": "2",
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    return ArchiveConfig.from_options(given)


DELTAS = instants(range(10), Action.DELTA_COMMIT)
BY_VERSIONS = {"hoodie__clean__policy": "KEEP_LATEST_FILE_VERSIONS"}
LOGGED = TableType.MERGE_ON_READ


def test_the_oldest_commits_leave_once_there_are_more_than_may_be() -> None:
    assert planned(instants(range(6))) == []
    assert planned(instants(range(7))) == [0, 1, 2]
    assert planned(instants(range(40)), hoodie__keep__max__commits="39") == [*range(36)]


def test_the_defaults_are_those_of_hudi() -> None:
    timeline = Timeline.of(instants(range(31)))
    bounds = ArchiveBounds(table_type=TableType.COPY_ON_WRITE)
    assert len(plan_archive(timeline, ArchiveConfig(), bounds)) == 11


def test_all_commits_whose_files_a_clean_keeps_stay_and_two_more() -> None:
    timeline = Timeline.of(instants(range(30)))
    assert instants_to_keep(timeline, config(hoodie__clean__commits__retained="10")) == (11, 13)
    by_hours = {"hoodie__clean__policy": "KEEP_LATEST_BY_HOURS"}
    assert instants_to_keep(timeline, config(**by_hours, hoodie__clean__hours__retained="8")) == (
        10,
        12,
    )
    assert instants_to_keep(timeline, config(**BY_VERSIONS)) == (4, 6)


def test_a_clean_that_keeps_files_for_a_pending_write_keeps_its_commits() -> None:
    pending = instants([5], state=State.INFLIGHT)
    timeline = Timeline.of([*instants([*range(5), *range(6, 12)]), *pending])
    assert instants_to_keep(timeline, config(hoodie__clean__commits__retained="2")) == (8, 10)


def test_the_commit_before_the_first_pending_write_stays() -> None:
    for action in (Action.COMMIT, Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING):
        pending = [Instant(time=f"{at(2)[:-1]}1", action=action, state=State.REQUESTED)]
        assert planned(instants(range(12)), pending, **BY_VERSIONS) == [0, 1], action
    first = [Instant(time="20250101000000000", action=Action.COMMIT, state=State.INFLIGHT)]
    assert planned(instants(range(12)), first, **BY_VERSIONS) == []


def test_nothing_leaves_while_a_restore_is_not_done() -> None:
    assert planned(instants(range(12)), instants([12], Action.RESTORE, State.INFLIGHT)) == []


def test_what_is_saved_stays_with_all_that_followed() -> None:
    saved = instants([2], Action.SAVEPOINT)
    assert planned(instants(range(12)), saved) == [0, 1]
    beyond = {"hoodie__archive__beyond__savepoint": "true"}
    assert planned(instants(range(12)), saved, **beyond) == [0, 1, 3, 4, 5, 6, 7, 8]


def test_cleans_and_rollbacks_leave_by_their_own_number() -> None:
    commits = instants(range(3))
    for action in (Action.CLEAN, Action.ROLLBACK):
        assert planned(commits, instants(range(10, 16), action)) == [], action
        assert planned(commits, instants(range(10, 17), action)) == [10, 11, 12], action
    both = [*instants(range(10, 17), Action.CLEAN), *instants(range(20, 24), Action.ROLLBACK)]
    assert planned(commits, both) == [10, 11, 12]


def test_the_rollbacks_since_a_pending_compaction_stay() -> None:
    pending = instants([12], Action.COMPACTION, State.REQUESTED)
    rollbacks = instants(range(10, 17), Action.ROLLBACK)
    assert planned(instants(range(3)), rollbacks, pending) == [10, 11]


def test_a_restore_or_savepoint_never_leaves() -> None:
    others = [*instants(range(20), Action.RESTORE), *instants(range(20), Action.INDEXING)]
    assert planned(instants(range(20, 27)), others) == [20, 21, 22]


def test_a_replacecommit_stays_until_what_it_hides_is_cleaned() -> None:
    commits = [*instants([0, 1, *range(3, 12)]), *instants([2], Action.REPLACE_COMMIT)]
    assert planned(commits) == [0, 1]
    clean = instants([20], Action.CLEAN)
    assert planned(commits, clean, last_clean=CleanBounds(earliest_retained=at(2))) == [0, 1]
    assert planned(commits, clean, last_clean=CleanBounds(earliest_retained=at(3))) == [*range(8)]
    assert planned(commits, clean, last_clean=CleanBounds()) == [*range(8)]
    saved = CleanBounds(earliest_retained=at(3), savepoints=(at(1),))
    assert planned(commits, clean, last_clean=saved) == [0, 1]


def test_what_a_savepoint_keeps_of_replaced_files_stays_hidden() -> None:
    commits = [*instants([0, 1, *range(3, 12)]), *instants([2], Action.REPLACE_COMMIT)]
    done = CleanBounds(earliest_retained=at(9))
    groups = commits, instants([1], Action.SAVEPOINT), instants([20], Action.CLEAN)
    beyond = {"hoodie__archive__beyond__savepoint": "true"}
    assert planned(*groups, last_clean=done, **beyond) == [0]


def test_the_delta_commits_that_make_a_compaction_due_stay() -> None:
    due = {"hoodie__compact__inline__max__delta__commits": "8"}
    assert planned(DELTAS, table_type=LOGGED, **due) == [0, 1]
    assert planned(DELTAS, table_type=TableType.COPY_ON_WRITE, **due) == [*range(6)]
    compacted = [*instants([3]), *instants([0, 1, 2, *range(4, 10)], Action.DELTA_COMMIT)]
    assert planned(compacted, table_type=LOGGED, **due) == [0, 1, 2]


def test_a_compaction_by_time_is_not_put_off_by_archiving() -> None:
    due = {
        "hoodie__compact__inline__trigger__strategy": "TIME_ELAPSED",
        "hoodie__compact__inline__max__delta__seconds": str(7 * 3600),
    }
    assert planned(DELTAS, table_type=LOGGED, **due) == [0, 1]
    compacted = [*instants([5]), *instants([*range(5), *range(6, 12)], Action.DELTA_COMMIT)]
    assert planned(compacted, table_type=LOGGED, **due) == [*range(5)]


def test_what_the_metadata_table_has_not_compacted_stays() -> None:
    assert planned(instants(range(12)), before="") == []
    assert planned(instants(range(12)), before=f"{at(2)}001") == [0, 1, 2]


def test_fewer_must_stay_than_there_may_be() -> None:
    with pytest.raises(OptionError, match=r"hoodie.keep.max.commits is 4, which must be greater"):
        config(hoodie__keep__max__commits="4")
    with pytest.raises(OptionError, match=r"hoodie.keep.min.commits is '0'"):
        config(hoodie__keep__min__commits="0")


def test_a_long_timeline_is_gone_through_once_and_not_for_each_instant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That made a plan for 10,000 instants take two minutes."""
    looks = []
    before_pending = archive_plan._before_pending
    monkeypatch.setattr(
        archive_plan, "_before_pending", lambda found: looks.append(1) or before_pending(found)
    )
    assert len(planned(instants(range(200)))) == 196
    assert len(looks) == 1
