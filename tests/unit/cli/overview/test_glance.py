"""A table at a glance, and its past a page at a time."""

from pathlib import Path

import pytest

from pyhudi.cli.opening import open_to_report
from pyhudi.cli.overview.glance import Glance, glance, past, written_between
from pyhudi.timeline.clock import SystemClock
from tests.support.lake import busy, damaged, fresh, logged


def look(path: Path) -> Glance:
    return glance(open_to_report(str(path)), SystemClock())


def test_it_says_what_was_written_and_cleaned_last(tmp_path: Path) -> None:
    instants = busy(tmp_path / "busy")
    found = look(tmp_path / "busy")
    assert found.last_write is not None
    assert found.last_write.instant.time == instants[-1]
    assert found.last_write.dag_run == "flights backfill__2013-12-01T00:00:00+00:00"
    assert found.last_clean is not None
    assert (found.pending, found.last_archive) == ((), None)


def test_what_is_pending_waits_for_its_run_or_for_its_writer(tmp_path: Path) -> None:
    logged(tmp_path / "logged")
    compaction, write = look(tmp_path / "logged").pending
    assert (compaction.instant.action.value, compaction.is_plan) == ("compaction", True)
    assert (write.is_alive, write.is_plan) == (False, False)


def test_a_table_that_holds_nothing_is_looked_at_too(tmp_path: Path) -> None:
    fresh(tmp_path / "fresh")
    found = look(tmp_path / "fresh")
    assert (found.instants, found.last_write, found.last_clean) == ((), None, None)


def test_the_past_is_read_a_page_at_a_time(tmp_path: Path) -> None:
    instants = busy(tmp_path / "busy")
    table = open_to_report(str(tmp_path / "busy"))
    pages, before = [], None
    while True:
        page = past(table, 5, before=before, actions=("commit",))
        pages.append([each.instant.time for each in page.told])
        assert page.matching == 12
        before = page.older
        if before is None:
            break
    assert pages == [instants[:6:-1], instants[6:1:-1], instants[1::-1]]


@pytest.mark.parametrize(("first", "last", "count"), [(3, 5, 3), (0, 11, 12), (4, 4, 1)])
def test_writes_are_found_by_their_time(tmp_path: Path, first: int, last: int, count: int) -> None:
    instants = busy(tmp_path / "busy")
    table = open_to_report(str(tmp_path / "busy"))
    found = written_between(table, instants[first], instants[last])
    assert [each.instant.time for each in found] == instants[first : last + 1]
    assert len(found) == count


def test_a_commit_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    damaged(tmp_path / "damaged")
    told = past(open_to_report(str(tmp_path / "damaged")), 5).told
    assert [each.problem is not None for each in told] == [False, True]
