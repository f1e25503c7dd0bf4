"""Rollbacks, savepoints and restores as their jobs ask for them."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.actions.rollback import InstantInfo, RollbackPlan
from pyhudi.actions.rollback import RollbackRequest as Requested
from pyhudi.config.table import TableConfig
from pyhudi.config.write import WriteConfig
from pyhudi.errors import ConflictError, MissingFileError, RequestError, WriterAtWorkError
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.undo import deletion
from pyhudi.pipeline.undo.deletion import deleting_over_tasks
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import Batches, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.rollback import request_rollback
from pyhudi.services.undo.restore import finish_restores
from pyhudi.table.savepoints import saved_files
from pyhudi.table.table import load_table, open_table
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.heartbeat import start_heartbeat
from tests.support.golden import golden_copy, golden_table, row_texts
from tests.support.in_process import (
    APPENDED,
    CONFIG,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    Surroundings,
    archive,
    archived_in,
    clock_at,
    compaction,
    data_files,
    dead_write,
    new_table,
    outcome,
    read_rows,
    restore,
    roll_back,
    savepoint,
    write,
    writer_on,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import HERE, OPERATION
from tests.support.timelines import active_of

OLD: Rows = {("x", "a"): (1, "old"), ("y", "b"): (1, "old")}
NEW: Rows = {("x", "a"): (2, "new"), ("z", "c"): (2, "new")}
LAST: Rows = {("x", "a"): (3, "last")}
TYPES = [pytest.param(CONFIG, id="copied"), pytest.param(MERGE_ON_READ, id="logged")]


def written(config=CONFIG, *batches: Rows) -> tuple[MemoryStorage, list[str]]:
    storage, clock = new_table(config), clock_at()
    return storage, [str(write(storage, rows, clock).instant) for rows in batches or (OLD, NEW)]


def later(seconds: int = 60):
    return clock_at(NOW_MS + seconds * 1000)


def counted_tasks() -> tuple[list[TaskIdentity], InProcessRunner]:
    """A runner, and the tasks that it has run."""
    run = list[TaskIdentity]()

    def counting(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        run.append(task)
        return run_once(function, task, batches)

    return run, InProcessRunner(run_task=counting)


@pytest.mark.parametrize("config", TYPES)
def test_writes_are_rolled_back_one_after_another_to_an_empty_table(config) -> None:
    storage, (first, second) = written(config)
    assert roll_back(storage, later(), second).status == "committed"
    assert read_rows(storage) == OLD
    assert roll_back(storage, later(61), first).status == "committed"
    assert read_rows(storage) == {}
    write(storage, NEW, later(62))
    assert read_rows(storage) == NEW


@pytest.mark.parametrize(("most", "tasks"), [("100", 2), ("1", 1)])
def test_many_files_are_deleted_over_as_many_tasks_as_options_allow(
    most: str, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_IN_DRIVER", 0)
    monkeypatch.setattr(deletion, "_FILES_A_TASK", 1)
    storage, (first, second) = written()
    run, runner = counted_tasks()
    around = Surroundings(later(), runner)
    conf = {"hoodie.rollback.parallelism": most}
    request = RollbackRequest(base_path=storage.uri, instant=second, hoodie_conf=conf)
    done = rollback_table(around.environment(storage), request)
    assert (done.files["deleted"], len(run)) == (2, tasks)
    assert [path for path in data_files(storage) if first not in path] == []


DROPPING_NOTHING = {
    **APPENDED,
    OPERATION: "delete_partition",
    "hoodie.datasource.write.partitions.to.delete": "no/such/partition",
}
DEAD: Rows = {(part, key): (2, "dead") for part in "xz" for key in ("a", "b")}


@pytest.mark.parametrize("by", ["asked", "write", "clean", "restore"])
def test_what_died_is_deleted_over_tasks_whoever_finds_it(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_IN_DRIVER", 0)
    monkeypatch.setattr(deletion, "_FILES_A_TASK", 1)
    storage, (first,) = written(MERGE_ON_READ, OLD)
    if by == "restore":
        savepoint(storage, later(0))
    instant = dead_write(storage, DEAD, later(1))
    run, runner = counted_tasks()
    environment = Surroundings(later(2), runner).environment(storage)
    match by:
        case "asked":
            rollback_table(environment, RollbackRequest(base_path=storage.uri, instant=instant))
        case "write":
            write_rows(environment, None, storage.uri, DROPPING_NOTHING)
        case "clean":
            lazy = {"hoodie.clean.failed.writes.policy": "LAZY"}
            clean_table(environment, CleanRequest(base_path=storage.uri, hoodie_conf=lazy))
        case "restore":
            restore_table(environment, RestoreRequest(base_path=storage.uri, instant=first))
    assert len(run) == 2
    assert read_rows(storage) == OLD
    assert [path for path in data_files(storage) if first not in path] == []


def test_files_of_one_partition_are_shared_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead write has one request for each partition, whatever it made there."""
    monkeypatch.setattr(deletion, "_IN_DRIVER", 0)
    monkeypatch.setattr(deletion, "_FILES_A_TASK", 2)
    storage, _ = written()
    active, paths = active_of(storage), [f"x/f{number}_1_20260101000001000" for number in range(5)]
    for path in paths:
        storage.create(f"{path}.parquet", b"")
    request = Requested(partition="x", files_to_delete=tuple(f"{path}.parquet" for path in paths))
    info = InstantInfo(time="20260101000001000", action="commit")
    plan = RollbackPlan(instant=info, requests=(request,))
    rollback = request_rollback(active, later(), plan)
    shares = list[int]()

    def noting(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        found = run_once(function, task, batches)
        shares.extend(count for batch in found for count in batch["files"].to_pylist())
        return found

    writer = writer_on(storage, later())
    writer = deleting_over_tasks(writer, InProcessRunner(run_task=noting), WriteConfig())
    assert writer.delete
    writer.delete(load_table(storage), rollback, plan)
    assert sorted(shares) == [1, 2, 2]
    assert not any(storage.exists(f"{path}.parquet") for path in paths)


def test_a_rollback_says_what_it_did_and_what_an_earlier_one_did() -> None:
    storage, (_, second) = written()
    done = roll_back(storage, later(), second)
    assert (done.operation, done.partitions, done.files["deleted"]) == ("rollback", ("x", "z"), 2)
    again = roll_back(storage, later(), second)
    assert (again.status, again.instant) == ("already_committed", done.instant)


@pytest.mark.parametrize(
    ("number", "reason"), [(0, "1 later writes"), (1, "has a savepoint")], ids=["later", "saved"]
)
def test_what_hudi_refuses_is_refused_and_nothing_changes(number: int, reason: str) -> None:
    storage, instants = written()
    savepoint(storage, later())
    before = dict(storage.files)
    with pytest.raises(RequestError, match=reason):
        roll_back(storage, later(), instants[number])
    with pytest.raises(RequestError, match="no write at instant"):
        roll_back(storage, later(), "20200101000000000")
    assert storage.files == before


def test_a_write_whose_older_files_were_cleaned_is_not_rolled_back() -> None:
    storage, (first, second) = written()
    (older,) = [path for path in data_files(storage) if path.startswith("x/") and first in path]
    storage.delete(older)
    with pytest.raises(RequestError, match="cleaned"):
        roll_back(storage, later(), second)
    assert read_rows(storage)["x", "a"] == (2, "new")


def test_a_write_that_a_plan_rests_on_is_not_rolled_back() -> None:
    storage, _ = written(MERGE_ON_READ, OLD)
    write(storage, {("x", "a"): (2, "log")}, later(1))
    before = read_rows(storage)
    last = write(storage, NEW, later(2), "insert_overwrite").instant
    write(storage, {("x", "a"): (3, "log")}, later(3))
    upsert = active_of(storage).load().write_instants().completed().instants[-1].time
    planned = compaction(storage, later(4)).schedule().instant
    assert roll_back(storage, later(5), upsert).status == "committed", "a block takes it back"
    with pytest.raises(RequestError, match=f"compaction {planned} is planned"):
        roll_back(storage, later(6), last)
    compaction(storage, later(7)).unschedule(str(planned))
    roll_back(storage, later(8), last)
    assert read_rows(storage) == before


@pytest.mark.parametrize("config", TYPES)
def test_a_dead_write_is_rolled_back_when_asked_and_a_live_one_is_not(config) -> None:
    storage, _ = written(config, OLD)
    instant = dead_write(storage, NEW, later(1))
    storage.delete_dir(".hoodie/.heartbeat")
    assert start_heartbeat(storage, instant)
    storage.now_ms = NOW_MS + 2_000
    with pytest.raises(ConflictError, match="at work"):
        roll_back(storage, later(2), instant)
    storage.delete_dir(".hoodie/.heartbeat")
    assert roll_back(storage, later(2), instant).status == "committed"
    assert not active_of(storage).load().contains(instant)


def test_a_compaction_that_did_not_complete_goes_back_to_its_plan() -> None:
    storage, _ = written(MERGE_ON_READ)
    planned = str(compaction(storage, later(1)).schedule().instant)
    told = roll_back(storage, later(2), planned)
    assert told.status == "nothing_to_do"
    assert "unschedule" in (told.reason or "")
    active, before = active_of(storage), read_rows(storage)
    active.start(Instant(time=planned, action=Action.COMPACTION, state=State.REQUESTED), None)
    assert roll_back(storage, later(3), planned).status == "committed"
    (found,) = active.load().pending()
    assert (found.time, found.state) == (planned, State.REQUESTED)
    assert read_rows(storage) == before


@pytest.mark.parametrize("config", TYPES)
def test_a_savepoint_keeps_the_files_of_the_table_as_of_its_write(config) -> None:
    storage, (first, _) = written(config)
    made = savepoint(storage, later(), instant=first, user="me", comment="why")
    assert (made.status, made.instant, made.operation) == ("committed", first, "savepoint")
    table = load_table(storage)
    kept = saved_files(table.active, table.timeline)
    assert {path for path in kept if ".log." not in path} == {
        path for path in data_files(storage) if first in path and ".log." not in path
    }
    assert savepoint(storage, later(), instant=first).status == "already_committed"
    (listed,) = savepoint(storage, later(), mode="list").savepoints
    assert (listed["instant"], listed["user"], listed["comment"]) == (first, "me", "why")
    assert savepoint(storage, later(), mode="delete", instant=first).status == "committed"
    assert savepoint(storage, later(), mode="delete", instant=first).status == "nothing_to_do"
    assert [path for path in storage.files if "savepoint" in path] == []


def test_a_savepoint_is_of_the_latest_write_unless_another_is_named() -> None:
    storage, (_, second) = written()
    assert savepoint(storage, later()).instant == second


def test_no_savepoint_is_made_of_what_is_not_there_or_not_whole() -> None:
    storage, (first, _) = written(MERGE_ON_READ, OLD, LAST)
    with pytest.raises(RequestError, match="no completed write"):
        savepoint(storage, later(), instant="20200101000000000")
    planned = compaction(storage, later(1)).schedule().instant
    write(storage, NEW, later(2))
    with pytest.raises(RequestError, match=f"compaction {planned} was planned before"):
        savepoint(storage, later(3))
    assert savepoint(storage, later(3), instant=first).status == "committed"
    with pytest.raises(RequestError, match="no write to save"):
        savepoint(new_table(), later())


def test_a_savepoint_before_what_the_last_clean_kept_is_refused() -> None:
    table = golden_table("v6_cow_clean")
    storage = MemoryStorage()
    for path in (each for each in table.rglob("*") if each.is_file()):
        storage.put(str(path.relative_to(table)), path.read_bytes())
    instants = [each.time for each in load_table(storage).timeline.write_instants()]
    with pytest.raises(RequestError, match="keeps the files of"):
        savepoint(storage, later(), instant=instants[0])
    assert savepoint(storage, later(), instant=instants[-1]).status == "committed"


@pytest.mark.parametrize("config", TYPES)
def test_a_restore_brings_the_savepoint_back_and_is_told_apart_from_its_repetition(config) -> None:
    storage, (first, _, _) = written(config, OLD, NEW, LAST)
    savepoint(storage, later(), instant=first)
    done = restore(storage, later(1), first)
    assert (done.status, done.operation) == ("committed", "restore")
    assert read_rows(storage) == OLD
    again = restore(storage, later(2), first)
    assert (again.status, again.instant) == ("already_committed", done.instant)
    write(storage, LAST, later(3))
    assert read_rows(storage) == {**OLD, **LAST}


def test_a_restore_is_refused_without_savepoint_or_with_a_later_one_or_a_lost_file() -> None:
    storage, (first, second, _) = written(CONFIG, OLD, NEW, LAST)
    with pytest.raises(RequestError, match=f"no savepoint {first}; savepoints of the table: none"):
        restore(storage, later(), first)
    savepoint(storage, later(), instant=first)
    savepoint(storage, later(), instant=second)
    before = dict(storage.files)
    with pytest.raises(RequestError, match=f"savepoint {second} is later"):
        restore(storage, later(), first)
    assert storage.files == before
    savepoint(storage, later(), mode="delete", instant=second)
    lost = next(path for path in data_files(storage) if first in path)
    storage.delete(lost)
    with pytest.raises(RequestError, match=lost):
        restore(storage, later(), first)


@pytest.mark.parametrize("config", TYPES)
def test_what_came_after_a_savepoint_stays_on_the_timeline_unless_options_archive_it(
    config: TableConfig,
) -> None:
    """Of a merge-on-read table the archived writes are told by the archive alone."""
    batches = [{("x", "b"): (ts, "more")} for ts in range(10, 15)]
    storage, (first, *_) = written(config, OLD, *batches)
    savepoint(storage, later(), instant=first)
    archive(storage, later(1))
    assert archived_in(storage) == []
    kept, before = storage.copy(), read_rows(storage)
    restore(kept, later(2), first)
    assert read_rows(kept) == OLD
    archive(storage, later(1), hoodie__archive__beyond__savepoint="true")
    assert archived_in(storage)
    whole = dict(storage.files)
    with pytest.raises(RequestError, match="writes after it have been archived"):
        restore(storage, later(2), first)
    assert storage.files == whole
    assert read_rows(storage) == before


def test_an_archived_write_is_not_rolled_back() -> None:
    storage, (first, *_) = written(CONFIG, OLD, NEW, LAST, NEW)
    archive(storage, later())
    with pytest.raises(RequestError, match=f"{first} is archived, and cannot be rolled back"):
        roll_back(storage, later(1), first)


def test_a_refused_rollback_leaves_the_metadata_table_as_it_was(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_metadata_full", tmp_path)
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    first = open_table(table).timeline.write_instants().completed().instants[0].time
    for _ in range(2):
        with pytest.raises(RequestError, match="later writes are completed"):
            rollback_table(HERE, RollbackRequest(base_path=str(table), instant=first))
    assert before == {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}


def test_a_savepoint_after_which_nothing_came_needs_no_restore() -> None:
    storage, (_, second) = written()
    savepoint(storage, later())
    assert restore(storage, later(), second).status == "nothing_to_do"


def half_restored() -> tuple[MemoryStorage, str]:
    """A table whose restore died when it had requested what to do."""
    storage, (first, _, _) = written(CONFIG, OLD, NEW, LAST)
    savepoint(storage, later(), instant=first)
    whole = storage.copy()
    restore(whole, later(1), first)
    (plan,) = [path for path in whole.files if path.endswith(".restore.requested")]
    storage.put(plan, whole.files[plan])
    return storage, first


def test_while_a_restore_is_pending_readers_see_the_savepoint_and_it_cannot_be_deleted() -> None:
    storage, first = half_restored()
    assert read_rows(storage) == OLD
    with pytest.raises(RequestError, match="has not ended"):
        savepoint(storage, later(2), mode="delete", instant=first)
    assert restore(storage, later(3), first).status == "committed"
    assert read_rows(storage) == OLD


def test_a_restore_that_somebody_is_at_is_left_to_them() -> None:
    storage, _ = half_restored()
    lock = Instant(time="20260101010000000", action=Action.COMMIT, state=State.REQUESTED)
    assert start_heartbeat(storage, lock.time)
    active_of(storage).request(lock, None)
    storage.now_ms = NOW_MS + 2_000
    with pytest.raises(WriterAtWorkError):
        finish_restores(writer_on(storage, later(2)))


def test_a_reader_that_opened_the_table_before_a_restore_is_told_which_file_is_gone() -> None:
    storage, (first, _) = written()
    savepoint(storage, later(), instant=first)
    table = load_table(storage)
    restore(storage, later(1), first)
    assert isinstance(outcome(table.schema), MissingFileError)


def shown(table: Path, **query: str) -> list[str]:
    return row_texts(pyhudi.read_table(table, **query))


def test_a_table_of_hudi_goes_back_to_its_savepoint(tmp_path: Path) -> None:
    """Hudi restored it once already, and wrote again."""
    table, saved = golden_copy("v6_cow_restore", tmp_path), "20261121105224697"
    before = shown(table, as_of=saved)
    assert shown(table) != before
    request = RestoreRequest(base_path=str(table), instant=saved)
    assert restore_table(HERE, request).status == "committed"
    assert shown(table) == before


@pytest.mark.parametrize(
    "name", ["v6_cow_rollback", "v6_mor_rollback", "v6_mor_compacted", "v6_cow_metadata_full"]
)
def test_the_latest_write_of_a_table_of_hudi_is_rolled_back(name: str, tmp_path: Path) -> None:
    table = golden_copy(name, tmp_path)
    *_, earlier, latest = open_table(table).timeline.write_instants().completed()
    before = shown(table, as_of=earlier.time)
    assert rollback_table(HERE, RollbackRequest(base_path=str(table), instant=latest.time)).instant
    assert shown(table) == before
    found = open_table(table)
    assert found.config.metadata_partitions == ()
    assert not found.timeline.contains(latest.time)


def test_a_restore_to_the_first_write_that_is_not_archived_loses_none_of_those_that_are() -> None:
    storage, (archived, saved, _) = written(CONFIG, OLD, NEW, LAST)
    for path in [path for path in storage.files if path.startswith(f".hoodie/{archived}")]:
        storage.delete(path)
    savepoint(storage, later(), instant=saved)
    restore(storage, later(1), saved)
    assert [each.time for each in active_of(storage).load().write_instants()] == [saved]
    assert read_rows(storage) == {**OLD, **NEW}
    savepoint(storage, later(2), mode="delete", instant=saved)
    with pytest.raises(RequestError, match="only write that has not been archived"):
        roll_back(storage, later(3), saved)


def test_a_pending_clustering_of_hudi_is_rolled_back_on_request(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_pending_clustering", tmp_path)
    opened = open_table(str(table))
    before, files = row_texts(pyhudi.read_table(table)), set(table.rglob("*.parquet"))
    (planned,) = (each for each in opened.timeline.pending() if each.action.writes_rows)
    assert opened.clustered_groups()
    request = RollbackRequest(base_path=str(table), instant=planned.time)
    done = rollback_table(HERE, request)
    assert (done.status, done.files["deleted"]) == ("committed", 0)
    after = open_table(str(table))
    assert not after.timeline.write_instants().contains(planned.time)
    assert not after.clustered_groups()
    assert list((table / ".hoodie").glob(f"{planned.time}.*")) == []
    assert (row_texts(pyhudi.read_table(table)), set(table.rglob("*.parquet"))) == (before, files)
    assert rollback_table(HERE, request).status == "already_committed"
