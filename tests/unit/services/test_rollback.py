"""What a rollback plans and does, on our tables and on those of Hudi."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container
from pyhudi.services.left_files import plan_rollback
from pyhudi.services.recovery import recover
from pyhudi.services.rollback import roll_back, rollback_target, rollbacks_of
from pyhudi.storage.storage import Storage
from pyhudi.table.table import open_table
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.markers import MarkerType, delete_markers, leave_marker
from tests.support.faulty import Fault, Faults, FaultyStorage, bury
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    clock_at,
    dead_write,
    leftovers,
    new_table,
    outcome,
    read_rows,
    write,
    writer_on,
)
from tests.support.in_process import data_files as files_in
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of, table_of, writer_for
from tests.support.tree import data_files

OLD: Rows = {("x", "a"): (1, "old")}
BATCH: Rows = {("x", "a"): (2, "new"), ("z", "e"): (2, "new")}
DEAD = "20261121105246167"


def test_the_plan_names_the_files_of_the_markers():
    storage = new_table()
    write(storage, OLD, clock_at())
    before = files_in(storage)
    instant = dead_write(storage, BATCH, clock_at())
    written = files_in(storage) - before
    pending = Instant(time=instant, action=Action.COMMIT, state=State.INFLIGHT)
    by_markers = plan_rollback(table_of(storage, CONFIG), pending)
    storage.delete_dir(".hoodie/.temp")
    by_listing = plan_rollback(table_of(storage, CONFIG), pending)
    assert by_markers == by_listing
    planned = {file for request in by_markers.requests for file in request.files_to_delete}
    assert planned == {storage.absolute(path) for path in written}
    assert [request.partition for request in by_markers.requests] == ["x", "z"]
    assert by_markers.instant.time == instant


def test_a_plan_that_another_is_writing_says_nothing_yet():
    storage = new_table()
    instant = dead_write(storage, BATCH, clock_at())
    rollback = Instant(time=f"{int(instant) + 1}", action=Action.ROLLBACK, state=State.REQUESTED)
    storage.create(f".hoodie/{rollback.time}.rollback.requested", b"")
    active = active_of(storage)
    assert rollback_target(active, rollback) is None
    assert rollbacks_of(active, active.load(), instant) == ()
    with pytest.raises(CorruptTableError, match="a rollback plan cannot be read"):
        rollback_target(active, rollback.in_state(State.INFLIGHT))


def test_the_rollback_tells_what_it_deleted():
    storage = new_table()
    instant = dead_write(storage, BATCH, clock_at())
    paths = files_in(storage)
    recover(writer_on(storage, clock_at()))
    (done,) = active_of(storage).load()
    assert (done.action, done.state) == (Action.ROLLBACK, State.COMPLETED)
    (told,) = read_container(storage.read(f".hoodie/{done.time}.rollback"))
    assert told["totalFilesDeleted"] == len(paths)
    assert told["commitsRollback"] == [instant]
    assert active_of(storage).read_rollback_plan(done).instant.time == instant
    assert leftovers(storage) == []


def test_a_completed_write_is_not_rolled_back():
    storage = new_table()
    instant = write(storage, OLD, clock_at()).instant
    assert instant
    before = dict(storage.files)
    for each in (instant, "20200101000000000"):
        roll_back(table_of(storage, CONFIG), clock_at(), each)
    assert storage.files == before


def test_recovery_undoes_several_dead_writes():
    storage, clock = new_table(), clock_at()
    write(storage, OLD, clock)
    others = [storage.copy() for _ in range(3)]
    instants = [
        dead_write(other, BATCH, clock_at(NOW_MS + number * 1_000))
        for number, other in enumerate(others, 1)
    ]
    for other in others:
        storage.files.update(other.files)
    assert recover(writer_on(storage, clock)) == tuple(instants)
    assert recover(writer_on(storage, clock)) == ()
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []


def test_a_dead_overwrite_is_rolled_back_under_its_own_name():
    storage = new_table()
    write(storage, OLD, clock_at())
    instant = dead_write(storage, BATCH, clock_at(), "insert_overwrite")
    assert [each.action for each in active_of(storage).load().pending()] == [Action.REPLACE_COMMIT]
    assert recover(writer_on(storage, clock_at())) == (instant,)
    assert [each.action for each in active_of(storage).load()] == [Action.COMMIT, Action.ROLLBACK]
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []


def test_a_heartbeat_of_a_dead_writer_that_requested_nothing_is_forgotten():
    storage = new_table()
    storage.put(".hoodie/.heartbeat/20260101000000009", b"")
    recover(writer_on(storage, clock_at()))
    assert storage.below(".hoodie/.heartbeat"), "it may be about to request its instant"
    bury(storage)
    recover(writer_on(storage, clock_at()))
    assert leftovers(storage) == []


def rollbacks_on(storage: MemoryStorage) -> list[Instant]:
    return [each for each in active_of(storage).load() if each.action is Action.ROLLBACK]


def writer_of(storage: Storage) -> Writer:
    return writer_for(storage, open_table(storage.uri).config, SystemClock())


@pytest.mark.parametrize("by", ["markers", "listing"])
def test_a_write_of_hudi_that_died_is_rolled_back(tmp_path: Path, by: str):
    path = golden_copy("v6_cow_inflight", tmp_path)
    opened = open_table(str(path))
    if by == "listing":
        opened.storage.delete_dir(".hoodie/.temp")
    assert len(data_files(path, f"_{DEAD}")) == 2
    assert recover(writer_of(opened.storage)) == (DEAD,)
    assert data_files(path, f"_{DEAD}") == []
    assert row_texts(pyhudi.read_table(path)) == expected_rows("v6_cow_inflight")
    timeline = open_table(str(path)).timeline
    assert not timeline.contains(DEAD)
    assert [i.state for i in timeline if i.action is Action.ROLLBACK] == [State.COMPLETED]


def test_a_pending_clustering_of_hudi_is_left_alone(tmp_path: Path):
    path = golden_copy("v6_cow_pending_clustering", tmp_path)
    before = open_table(str(path)).timeline
    assert recover(writer_of(open_table(str(path)).storage)) == ()
    assert open_table(str(path)).timeline == before


def test_a_rollback_that_another_writer_began_is_finished_from_its_plan():
    storage = new_table()
    write(storage, OLD, clock_at())
    instant = dead_write(storage, BATCH, clock_at())
    for at in range(1, 60):
        copied = storage.copy()
        dying = FaultyStorage(copied, Faults(Fault.DEATH, at))
        outcome(partial(roll_back, table_of(dying, CONFIG), clock_at(), instant))
        begun = [each.time for each in rollbacks_on(copied) if each.state is not State.COMPLETED]
        recover(writer_on(copied, clock_at()))
        if begun:
            found = [(each.time, each.state) for each in rollbacks_on(copied)]
            assert found == [(begun[0], State.COMPLETED)]
        assert leftovers(copied) == []


def dead_append(storage: MemoryStorage, rows: Rows) -> str:
    """A write that died after it had put a block behind those of another, as on HDFS."""
    before = files_in(storage)
    instant = dead_write(storage, rows, clock_at())
    (own,) = files_in(storage) - before
    (other,) = [path for path in before if is_log(path)]
    storage.put(other, storage.files[other] + storage.files[own])
    storage.delete(own)
    delete_markers(storage, instant)
    leave_marker(storage, instant, other, MarkerType.APPEND)
    return instant


def is_log(path: str) -> bool:
    return ".log." in path and not path.startswith(".hoodie")


@pytest.mark.parametrize("by", ["markers", "listing"])
def test_blocks_in_a_log_file_of_others_are_taken_back_by_a_block(by: str):
    storage = new_table(MERGE_ON_READ)
    write(storage, {("x", "a"): (1, "old")}, clock_at())
    write(storage, {("x", "a"): (2, "kept")}, clock_at())
    instant = dead_append(storage, {("x", "a"): (3, "lost")})
    if by == "listing":
        delete_markers(storage, instant)
    assert recover(writer_on(storage, clock_at())) == (instant,)
    assert len([path for path in storage.files if is_log(path)]) == 2
    write(storage, {("y", "b"): (1, "next")}, clock_at())
    assert read_rows(storage) == {("x", "a"): (2, "kept"), ("y", "b"): (1, "next")}
    # The timeline may forget the failed write; the block does not.
    (done,) = rollbacks_on(storage)
    for state in (State.REQUESTED, State.INFLIGHT, State.COMPLETED):
        active_of(storage).remove(replace(done, state=state))
    assert read_rows(storage) == {("x", "a"): (2, "kept"), ("y", "b"): (1, "next")}


def test_the_log_files_of_a_write_that_died_are_deleted():
    storage = new_table(MERGE_ON_READ)
    write(storage, OLD, clock_at())
    instant = dead_write(storage, BATCH, clock_at())
    assert any(is_log(path) for path in storage.files)
    assert recover(writer_on(storage, clock_at())) == (instant,)
    assert [path for path in storage.files if is_log(path)] == []
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []
