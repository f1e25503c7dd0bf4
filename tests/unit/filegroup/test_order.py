"""Everything that depends on which slice is later asks the order of slices."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.order import ByCompletion, ByRequest, SliceOrder, slice_order
from pyhudi.filegroup.slices import BaseFile, LogFile
from pyhudi.table.files import TableFiles
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

COMPLETED = {"1": "40", "2": "30", "3": "35", "5": "50"}
"""When the instant requested at that time was completed: 1 began first and ended after 2 and 3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByEnd:
    """Slices follow one another as their writes ended, and so do log files."""

    def rank(self, instant: str) -> str:
        return COMPLETED[instant]

    def log_rank(self, log: LogFile) -> tuple[str, int]:
        return self.rank(log.name.base_instant), log.name.version

    def base_instant(self, log: LogFile, slices: Iterable[str]) -> str:
        own = log.name.base_instant
        before = [each for each in slices if self.rank(each) < self.rank(own)]
        return max(before, key=self.rank, default=own)

    def is_read(self, log: LogFile, is_committed: Callable[[str], bool]) -> bool:
        return is_committed(log.name.base_instant)


def timeline(*, pending: str = "") -> Timeline:
    done = [Instant(time=t, action=Action.COMMIT, state=State.COMPLETED) for t in "123"]
    planned = [Instant(time=t, action=Action.COMPACTION, state=State.REQUESTED) for t in pending]
    return Timeline.of([*done, *planned])


def files_of(
    bases: str,
    logs: str = "",
    *,
    pending: str = "",
    replaced: str = "",
    order: SliceOrder = ByEnd(),
) -> TableFiles:
    found = [BaseFile.of("p", f"a_0-1-2_{time}.parquet", 1) for time in bases]
    appended = [LogFile.of("p", f".a_{time}.log.1_0-1-2", 1) for time in logs]
    return TableFiles(
        timeline=timeline(pending=pending),
        order=order,
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
    assert files_of("12").append_targets({})["p", "a"].base_instant == "1"
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
    order = slice_order(TableVersion.SIX, {})
    assert isinstance(order, ByRequest)
    assert not isinstance(order, ByCompletion)


@pytest.mark.parametrize("version", [TableVersion.EIGHT, TableVersion.NINE])
class TestLaterVersions:
    """Log files have the instant of their write, and times are of one length."""

    def order(self, version: TableVersion) -> SliceOrder:
        return slice_order(version, {"1": "5", "2": "3", "3": "3"})

    def slices(self, version: TableVersion, bases: str, logs: str) -> dict[str, list[str]]:
        (group,) = files_of(bases, logs, order=self.order(version)).file_groups()
        return {
            each.base_instant: [log.name.base_instant for log in each.log_files]
            for each in group.slices
        }

    def test_a_log_file_is_of_the_last_slice_that_began_before_its_write_ended(self, version):
        assert self.slices(version, "3", "12") == {"3": ["1", "2"]}

    def test_a_write_that_ended_before_every_slice_begins_one(self, version) -> None:
        order = slice_order(version, {"1": "2", "2": "2", "3": "4"})
        (group,) = files_of("3", "1", order=order).file_groups()
        assert [each.base_instant for each in group.slices] == ["3", "1"]

    def test_log_files_without_a_base_file_follow_the_first_of_them(self, version) -> None:
        assert self.slices(version, "", "123") == {"1": ["1", "2", "3"]}

    def test_log_files_of_writes_that_are_not_committed_are_left_out(self, version) -> None:
        assert self.slices(version, "1", "27") == {"1": ["2"]}

    def test_what_is_archived_ended_before_all_that_began_after_it(self, version) -> None:
        log = LogFile.of("p", ".a_0.log.1_0-1-2", 1)
        assert log is not None
        assert self.order(version).base_instant(log, ["1", "2"]) == "0"

    def test_instants_of_a_bootstrap_are_compared_by_the_request(self, version) -> None:
        log = LogFile.of("p", ".a_00000000000002.log.1_0-1-2", 1)
        assert log is not None
        order = slice_order(version, {"00000000000002": "20260102030405678"})
        bases = ["00000000000001", "20260102030405000"]
        assert order.base_instant(log, bases) == "20260102030405000"
        assert order.base_instant(log, bases[:1]) == "00000000000001"
