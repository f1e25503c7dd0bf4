"""Which files make up the table."""

from __future__ import annotations

from pyhudi.filegroup.slices import BaseFile
from pyhudi.filegroup.view import file_groups, latest_base_files
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def file(file_id: str, instant: str, partition: str = "p", token: str = "0-1-2") -> BaseFile:
    found = BaseFile.of(partition, f"{file_id}_{token}_{instant}.parquet", 10)
    assert found is not None
    return found


def commits(*times: str, pending: str = "") -> Timeline:
    done = [Instant(time=t, action=Action.COMMIT, state=State.COMPLETED) for t in times]
    begun = [Instant(time=t, action=Action.COMMIT, state=State.INFLIGHT) for t in pending]
    return Timeline.of([*done, *begun])


def latest(files, timeline, **options) -> list[str]:
    options = {"replaced": {}, **options}
    found = latest_base_files(files, timeline, **options)
    return [f"{each.partition}/{each.file_id}@{each.instant}" for each in found]


def test_the_newest_committed_file_of_each_group_holds_the_table() -> None:
    files = [file("b", "2"), file("a", "1"), file("a", "3"), file("a", "1", partition="q")]
    assert latest(files, commits("1", "2", "3")) == ["p/a@3", "p/b@2", "q/a@1"]


def test_files_of_pending_and_vanished_writes_are_left_out() -> None:
    files = [file("a", "2"), file("a", "3"), file("b", "4"), file("c", "3")]
    assert latest(files, commits("2", "5", pending="4")) == ["p/a@2"]


def test_files_older_than_the_timeline_were_archived_and_count() -> None:
    assert latest([file("a", "1")], commits("5")) == ["p/a@1"]


def test_as_of_an_instant_the_files_up_to_it_hold_the_table() -> None:
    files = [file("a", "1"), file("a", "3"), file("b", "2")]
    timeline = commits("1", "2", "3")
    assert latest(files, timeline, as_of="2") == ["p/a@1", "p/b@2"]
    assert latest(files, timeline, as_of="1") == ["p/a@1"]
    assert latest(files, timeline, as_of="0") == []


def test_a_replaced_group_is_hidden_from_its_replacement_on() -> None:
    files, replaced = [file("a", "1"), file("b", "3")], {("p", "a"): "3"}
    timeline = commits("1", "3")
    assert latest(files, timeline, replaced=replaced) == ["p/b@3"]
    assert latest(files, timeline, replaced=replaced, as_of="2") == ["p/a@1"]
    assert latest(files, timeline, replaced=replaced, as_of="3") == ["p/b@3"]


def test_a_group_has_its_slices_newest_first() -> None:
    (group,) = file_groups([file("a", "1"), file("a", "2")], commits("1", "2"))
    assert (group.partition, group.file_id) == ("p", "a")
    assert [part.base_instant for part in group.slices] == ["2", "1"]


def test_without_partitions_the_path_is_the_name_alone() -> None:
    assert file("a", "1", partition="").path == "a_0-1-2_1.parquet"
