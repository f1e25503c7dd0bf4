"""Everything that depends on which slice is later asks the order of slices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pytest

from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.order import ByRequest, slice_order
from pyhudi.filegroup.slices import BaseFile, LogFile
from pyhudi.table.files import TableFiles
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

COMPLETED = {"1": "40", "2": "30", "3": "35", "5": "50"}
"""When the instant requested at that time was completed: 1 began first and ended after 2 and 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCompletion:
    """Log files are named by their own write, and belong to the latest base file before it."""

    def rank(self, instant: str) -> str:
        return COMPLETED[instant]

    def log_rank(self, log: LogFile) -> tuple[str, int]:
        return self.rank(log.name.base_instant), log.name.version

    def base_instant(self, log: LogFile, base_files: Collection[str]) -> str:
        own = log.name.base_instant
        before = [each for each in base_files if self.rank(each) < self.rank(own)]
        return max(before, key=self.rank, default=own)


def timeline(*, pending: str = "") -> Timeline:
    done = [Instant(time=t, action=Action.COMMIT, state=State.COMPLETED) for t in "123"]
    planned = [Instant(time=t, action=Action.COMPACTION, state=State.REQUESTED) for t in pending]
    return Timeline.of([*done, *planned])


def files_of(bases: str, logs: str = "", *, pending: str = "", replaced: str = "") -> TableFiles:
    found = [BaseFile.of("p", f"a_0-1-2_{time}.parquet", 1) for time in bases]
    appended = [LogFile.of("p", f".a_{time}.log.1_0-1-2", 1) for time in logs]
    return TableFiles(
        timeline=timeline(pending=pending),
        order=ByCompletion(),
        base_files=tuple(file for file in found if file),
        log_files=tuple(file for file in appended if file),
        cdc_files=(),
        replaced={("p", "a"): replaced} if replaced else {},
    )


def test_slices_lie_newest_first() -> None:
    (group,) = files_of("123").file_groups()
    assert [each.base_instant for each in group.slices] == ["1", "3", "2"]


@pytest.mark.parametrize(("as_of", "newest"), [(None, "1"), ("39", "3"), ("34", "2")])
def test_the_latest_is_the_last_that_was_completed(as_of: str | None, newest: str) -> None:
    assert [each.instant for each in files_of("123").latest_base_files(as_of)] == [newest]


def test_a_replaced_group_is_there_until_its_replacement_was_completed() -> None:
    found = files_of("2", replaced="1")
    assert found.latest_base_files() == ()
    assert [each.instant for each in found.latest_base_files("39")] == ["2"]


def test_the_newest_file_is_that_of_the_last_slice() -> None:
    newest = files_of("13").newest_base_file()
    assert newest is not None
    assert newest.instant == "1"


def test_log_files_belong_to_the_slice_before_them_and_follow_in_order() -> None:
    (found,) = files_of("2", "13").latest_slices()
    assert found.base_instant == "2"
    assert [log.name.base_instant for log in found.log_files] == ["3", "1"]


def test_writes_append_to_the_newest_slice() -> None:
    found = files_of("12").append_targets({})
    assert found["p", "a"].base_instant == "1"
    planned = files_of("12", pending="5").append_targets({("p", "a"): "5"})
    assert planned["p", "a"].base_instant == "5"


def test_log_files_of_version_6_are_read_by_base_instant_then_version_then_token() -> None:
    names = [
        f".a_{instant}.log.{version}_{token}"
        for instant in ("1", "2")
        for version in (1, 2, 10)
        for token in ("0-1-2", "1-0-1")
    ]
    found = [log for name in reversed(names) if (log := LogFile.of("", name, 1))]
    assert [log.path for log in sorted(found, key=ByRequest().log_rank)] == names


def test_tables_of_version_6_go_by_the_time_of_the_request() -> None:
    assert isinstance(slice_order(TableVersion.SIX), ByRequest)
