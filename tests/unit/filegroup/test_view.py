"""Which files make up the table."""

from pyhudi.filegroup.order import ByRequest
from pyhudi.filegroup.slices import AppendTarget, BaseFile, GroupId, LogFile
from pyhudi.filegroup.view import append_targets, file_groups, latest_base_files, latest_slices
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

ORDER = ByRequest()


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
    groups = file_groups(files, (), timeline, ORDER)
    found = latest_base_files(groups, ORDER, **options)
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
    (group,) = file_groups([file("a", "1"), file("a", "2")], (), commits("1", "2"), ORDER)
    assert (group.partition, group.file_id) == ("p", "a")
    assert [part.base_instant for part in group.slices] == ["2", "1"]


def test_without_partitions_the_path_is_the_name_alone() -> None:
    assert file("a", "1", partition="").path == "a_0-1-2_1.parquet"


def log(file_id: str, instant: str, version: int = 1, partition: str = "p") -> LogFile:
    found = LogFile.of(partition, f".{file_id}_{instant}.log.{version}_0-1-2", 10)
    assert found is not None
    return found


def compacting(*times: str, done: str) -> Timeline:
    planned = [Instant(time=t, action=Action.COMPACTION, state=State.REQUESTED) for t in times]
    return Timeline.of([*commits(*done), *planned])


def slices(files, logs, timeline, **options) -> list[str]:
    """Slices as ``group@base instant`` with the instants and versions of their logs."""
    options = {"replaced": {}, **options}
    groups = file_groups(files, logs, timeline, ORDER)
    return [
        f"{each.file_id}@{each.base_file.instant if each.base_file else '-'}"
        + "".join(f"+{log.name.base_instant}.{log.name.version}" for log in each.log_files)
        for each in latest_slices(groups, timeline, ORDER, **options)
    ]


def test_log_files_belong_to_the_slice_in_their_name() -> None:
    files = [file("a", "1"), file("a", "3")]
    logs = [log("a", "1"), log("a", "3", 10), log("a", "3", 9)]
    assert slices(files, logs, commits("1", "3")) == ["a@3+3.9+3.10"]
    assert slices(files, logs, commits("1", "3"), as_of="2") == ["a@1+1.1"]


def test_a_slice_may_have_log_files_alone() -> None:
    assert slices([], [log("a", "1", 2), log("a", "1")], commits("1")) == ["a@-+1.1+1.2"]


def test_a_slice_whose_first_write_is_not_committed_is_none() -> None:
    files, logs = [file("a", "1")], [log("a", "2"), log("b", "3")]
    assert slices(files, logs, commits("1", pending="23")) == ["a@1"]


def test_log_files_of_a_planned_compaction_lie_on_the_slice_before() -> None:
    files, logs = [file("a", "1")], [log("a", "1"), log("a", "4"), log("a", "4", 2)]
    timeline = compacting("4", done="125")
    assert slices(files, logs, timeline) == ["a@1+1.1+4.1+4.2"]
    assert slices(files, logs, timeline, as_of="3") == ["a@1+1.1"]


def test_what_a_running_compaction_has_written_is_not_read() -> None:
    files, logs = [file("a", "1"), file("a", "4")], [log("a", "1"), log("a", "4")]
    assert slices(files, logs, compacting("4", done="1")) == ["a@1+1.1+4.1"]
    assert slices(files, logs, commits("1", "4")) == ["a@4+4.1"]


def test_log_files_alone_may_be_compacted() -> None:
    logs = [log("a", "1"), log("a", "4")]
    assert slices([], logs, compacting("4", done="1")) == ["a@-+1.1+4.1"]
    assert slices([], logs[1:], compacting("4", done="1")) == ["a@-+4.1"]


def test_a_replaced_group_is_hidden_with_its_log_files() -> None:
    logs, replaced = [log("a", "1")], {("p", "a"): "3"}
    assert slices([], logs, commits("1", "3"), replaced=replaced) == []
    assert slices([], logs, commits("1", "3"), replaced=replaced, as_of="2") == ["a@-+1.1"]


def targets(files, logs, timeline, compacting) -> dict[GroupId, AppendTarget]:
    return append_targets(file_groups(files, logs, timeline, ORDER), ORDER, compacting=compacting)


def test_writes_append_after_every_log_file_of_the_newest_slice() -> None:
    files = [file("a", "1"), file("a", "3"), file("b", "1")]
    found = targets(files, [log("a", "1", 7), log("b", "1")], commits("1", "3"), {})
    a, b = found["p", "a"], found["p", "b"]
    assert (a.base_instant, a.next_version, a.base_file) == ("3", 1, "a_0-1-2_3.parquet")
    assert (b.base_instant, b.next_version) == ("1", 2)
    assert b.log_files == (".b_1.log.1_0-1-2",)
    assert a.file_name(1, "9-9-9") == ".a_3.log.1_9-9-9"


def test_under_a_planned_compaction_writes_begin_its_slice() -> None:
    files, logs = [file("a", "1")], [log("a", "1", 7)]
    timeline, planned = compacting("4", done="1"), {("p", "a"): "4"}
    place = targets(files, logs, timeline, planned)["p", "a"]
    assert (place.base_instant, place.next_version, place.base_file) == ("4", 1, "")
    assert place.log_files == ()
    place = targets(files, [*logs, log("a", "4", 2)], timeline, planned)["p", "a"]
    assert (place.base_instant, place.next_version) == ("4", 3)
