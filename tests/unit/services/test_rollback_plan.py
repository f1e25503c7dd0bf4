"""Which files go when a completed write is taken back, and when it has to stay."""

from dataclasses import replace

import pytest

from pyhudi.actions.commit import WriteStat
from pyhudi.actions.compaction import CompactionOperation, CompactionPlan
from pyhudi.filegroup.slices import BaseFile, LogFile
from pyhudi.services.rollback_plan import (
    PresentFiles,
    planned_on,
    undo_requests,
    why_kept,
    why_not_whole,
)
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

OLD, OWN, LATER = "20260101000000001", "20260101000000002", "20260101000000003"


def base(name: str, instant: str, partition: str = "p") -> BaseFile:
    found = BaseFile.of(partition, f"{name}_0-0-0_{instant}.parquet", 10)
    assert found
    return found


def log(name: str, instant: str, version: int = 1, suffix: str = "") -> LogFile:
    found = LogFile.of("p", f".{name}_{instant}.log.{version}_0-0-0{suffix}", 10)
    assert found
    return found


def test_slices_that_the_write_began_are_deleted_and_others_get_one_block() -> None:
    logs = (log("a", OLD), log("a", OLD, 2), log("b", OWN), log("a", OWN, suffix=".cdc"))
    files = PresentFiles(bases=(base("a", OLD), base("a", OWN)), logs=logs)
    appended = {each.path for each in logs}
    found = undo_requests(OWN, files, appended, lambda path: f"/t/{path}")
    deleted = [path for request in found for path in request.files_to_delete]
    assert sorted(deleted) == [
        f"/t/p/.a_{OWN}.log.1_0-0-0.cdc",
        f"/t/p/.b_{OWN}.log.1_0-0-0",
        f"/t/p/a_0-0-0_{OWN}.parquet",
    ]
    (block,) = [request for request in found if request.log_blocks]
    assert (block.partition, block.file_id, block.latest_base_instant) == ("p", "a", OLD)
    assert block.log_blocks == {f"/t/p/.a_{OLD}.log.2_0-0-0": 10}


def test_what_others_wrote_is_left() -> None:
    files = PresentFiles(bases=(base("a", OLD), base("a", LATER)), logs=(log("a", OLD),))
    assert undo_requests(OWN, files, (), str) == ()


def completed(time: str, action: Action = Action.COMMIT) -> Instant:
    return Instant(time=time, action=action, state=State.COMPLETED)


def test_a_write_stays_that_has_later_ones_or_a_savepoint() -> None:
    writes = (completed(OLD), completed(OWN))
    timeline = Timeline.of((*writes, completed(LATER, Action.CLEAN)))
    own = completed(OWN)
    assert why_kept(timeline, own, {OLD}) is None
    assert "delete that first" in (why_kept(timeline, own, {OWN}) or "")
    later = Timeline.of((*writes, completed(LATER, Action.REPLACE_COMMIT)))
    assert LATER in (why_kept(later, own, ()) or "")


@pytest.mark.parametrize("ended", ["20260101000000090", None])
def test_a_write_that_began_later_is_in_the_way_unless_it_ended_earlier(ended: str | None) -> None:
    long = replace(completed(OWN), completion_time="20260101000000080")
    beside = replace(completed(LATER), completion_time="20260101000000070")
    assert why_kept(Timeline.of((long, beside)), long, ()) is None
    after = replace(beside, completion_time=ended)
    assert LATER in (why_kept(Timeline.of((long, after)), long, ()) or "")


REWRITE = WriteStat(file_id="a", path=f"p/a_0-0-0_{OWN}.parquet", prev_commit=OLD)


@pytest.mark.parametrize(
    ("stat", "replaced", "there"),
    [
        (REWRITE, {}, base("a", OLD)),
        (WriteStat(file_id="new", path=f"p/new_0-0-0_{OWN}.parquet"), {}, base("b", OLD)),
        (WriteStat(file_id="a", path=f"p/.a_{OLD}.log.1_0-0-0", prev_commit=OLD), {}, None),
        (WriteStat(file_id="x"), {"p": ("b",)}, base("b", OLD)),
    ],
    ids=["rewritten file", "new file", "log file", "replaced group"],
)
def test_a_write_is_only_taken_back_onto_what_is_there(stat, replaced, there) -> None:
    stat = WriteStat.from_json({**stat.to_json(), "partitionPath": "p"})
    bases = () if there is None else (there,)
    whole = PresentFiles(bases=bases, logs=())
    assert why_not_whole(OWN, [stat], replaced, None, whole) is None
    if there is not None and (stat.prev_commit == OLD or replaced):
        cleaned = PresentFiles(bases=(base("c", OLD),), logs=())
        assert "cleaned" in (why_not_whole(OWN, [stat], replaced, None, cleaned) or "")


PLAN = CompactionPlan(
    operations=(
        CompactionOperation(
            partition="p",
            file_id="a",
            base_instant=OLD,
            base_file=base("a", OLD).name,
            log_files=(str(log("a", OLD).name),),
        ),
    )
)


def test_a_compaction_is_only_taken_back_onto_the_slices_of_its_plan() -> None:
    files = PresentFiles(bases=(base("a", OLD),), logs=(log("a", OLD),))
    assert why_not_whole(OWN, [], {}, PLAN, files) is None
    cleaned = PresentFiles(bases=(base("a", OLD),), logs=())
    assert ".log.1" in (why_not_whole(OWN, [], {}, PLAN, cleaned) or "")


def test_a_plan_on_top_of_files_that_would_go_is_found() -> None:
    files = PresentFiles(bases=(base("a", OLD),), logs=(log("a", OLD),))
    gone = undo_requests(OLD, files, (), lambda path: f"/t/{path}")
    assert planned_on(gone, [(LATER, PLAN)]) == LATER
    assert planned_on(undo_requests(OWN, files, (), str), [(LATER, PLAN)]) is None
