"""What writers beside each other do when a lock, a heartbeat, a clock or the schema fails them."""

import logging
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pytest

from pyhudi.actions.compaction import CompactionOperation, CompactionPlan
from pyhudi.errors import (
    ConflictError,
    LostLockError,
    RequestError,
    RolledBackError,
    UnsupportedError,
    WriteConflictError,
    WriterAtWorkError,
)
from pyhudi.jobs.result import JobResult
from pyhudi.storage.storage import FileStatus
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.clocks import FakeClock
from tests.support.faulty import Faults, FaultyStorage, bury
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    archive,
    cleaning,
    clock_at,
    compaction,
    dead_write,
    leftovers,
    new_table,
    orders,
    outcome,
    read_rows,
    restore,
    roll_back,
    savepoint,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import WAIT
from tests.support.rivals import (
    BEGUN,
    BY_TASK,
    RETRIES,
    SEVERAL,
    STAMP,
    WRITTEN,
    LossyLock,
    Meanwhile,
    optimistic,
    write_under,
)
from tests.support.timelines import active_of

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
OWN: Rows = {("x", "a"): (3, "own")}
OTHER: Rows = {("x", "b"): (2, "other")}
SEVERAL_NAMED = {key.replace(".", "__"): value for key, value in SEVERAL.items()}


def made(table_type: str = "COPY_ON_WRITE") -> tuple[MemoryStorage, FakeClock]:
    storage = new_table(CONFIG if table_type == "COPY_ON_WRITE" else MERGE_ON_READ)
    clock = clock_at()
    write(storage, OLD, clock, options=optimistic(table_type))
    return storage, clock


def test_who_lost_the_lock_takes_it_again_and_looks_again() -> None:
    """Anomalies A5 and A8: others had the lock meanwhile, and committed."""
    storage, clock = made()
    others = iter([partial(write, storage, OTHER, clock, options=optimistic())])

    def other_commits() -> None:
        if (other := next(others, None)) is not None:
            other()

    lock = LossyLock(lost=1, before_confirm=other_commits)
    options = {**optimistic(), RETRIES: "0"}
    with pytest.raises(WriteConflictError):
        write_under(lock, storage, OWN, clock, options)
    assert lock.confirms == 1
    assert read_rows(storage) == {**OLD, **OTHER}
    assert leftovers(storage) == []


def test_who_lost_the_lock_to_nobody_in_its_way_commits() -> None:
    storage, clock = made()
    lock = LossyLock(lost=2)
    write_under(lock, storage, OWN, clock, optimistic())
    assert lock.confirms == 3
    assert read_rows(storage) == {**OLD, **OWN}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_who_is_overtaken_between_draw_and_request_begins_again(table_type: str) -> None:
    """Its files would lie below those of the later instant, which it has seen and gone on from."""
    storage, clock = made(table_type)
    options = optimistic(table_type)
    other = partial(write, storage, OTHER, clock, options=options)
    done = write_under(
        LossyLock(), Meanwhile(storage, other, before=".requested"), OWN, clock, options
    )
    assert done.conflicts == 1
    assert done.instant == last_of(storage)
    assert read_rows(storage) == {**OLD, **OTHER, **OWN}
    assert leftovers(storage) == []


def last_of(storage: MemoryStorage) -> str:
    return max(each.time for each in active_of(storage).load().write_instants())


def test_who_loses_the_lock_whenever_it_has_it_does_not_commit() -> None:
    storage, clock = made()
    with pytest.raises(LostLockError):
        write_under(LossyLock(lost=1000), storage, OWN, clock, optimistic())
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_what_the_lock_has_not_kept_out_is_written_again(table_type: str) -> None:
    """Anomaly A8 where the fence sees nothing: the other commits after the last look."""
    storage, clock = made(table_type)
    options = optimistic(table_type)
    lock = LossyLock(before_confirm=in_turn(partial(write, storage, OTHER, clock, options=options)))
    done = write_under(lock, storage, OWN, clock, options)
    assert (done.conflicts, done.anomaly) == (1, None)
    assert read_rows(storage) == {**OLD, **OTHER, **OWN}
    write(storage, {("y", "c"): (5, "next")}, clock, options=options)
    assert leftovers(storage) == []
    assert read_rows(storage) == {**OLD, **OTHER, **OWN, ("y", "c"): (5, "next")}


def in_turn(*steps: Callable[[], object]) -> Callable[[], None]:
    """The first step at the first call, and so on; then nothing."""
    left = iter(steps)

    def take() -> None:
        if (step := next(left, None)) is not None:
            step()

    return take


def test_what_others_have_gone_on_from_is_not_taken_back_but_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage, clock = made()
    later = {("y", "c"): (5, "later")}
    rivals = [partial(write, storage, rows, clock, options=optimistic()) for rows in (OTHER, later)]
    lock = LossyLock(before_confirm=in_turn(*rivals))
    with caplog.at_level(logging.ERROR):
        done = write_under(lock, storage, OWN, clock, optimistic())
    assert done.anomaly is not None
    assert "has not kept the two apart" in done.anomaly
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage().endswith(done.anomaly) for record in errors] == [True]


def test_a_commit_that_nobody_slipped_in_beside_has_no_anomaly() -> None:
    storage, clock = made()
    assert write_under(LossyLock(), storage, OWN, clock, optimistic()).anomaly is None


def test_a_writer_that_slept_past_its_heartbeat_does_not_commit() -> None:
    """Anomaly A6, where nobody has undone it yet."""
    storage, clock = made()
    pause = partial(clock.advance, 120_000)
    with pytest.raises(RolledBackError, match="heartbeat for 120 s"):
        write(Meanwhile(storage, pause, before=WRITTEN), OWN, clock, options=optimistic())
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []


def test_a_writer_that_slept_until_a_clean_undid_it_does_not_commit() -> None:
    """Anomaly A6."""
    storage, clock = made()

    def clean() -> None:
        clock.advance(200_000)
        storage.now_ms += 200_000
        bury(storage)
        cleaning(storage, clock, **SEVERAL_NAMED).schedule_and_execute()

    own = Meanwhile(storage, clean, before=WRITTEN)
    with pytest.raises(ConflictError):
        write(own, OWN, clock, options=optimistic())
    assert read_rows(storage) == OLD
    cleaning(storage, clock, **SEVERAL_NAMED).schedule_and_execute()
    write(storage, {("y", "c"): (5, "next")}, clock, options=optimistic())
    assert leftovers(storage) == []


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_dead_write_is_left_by_writers_and_undone_by_a_clean(table_type: str) -> None:
    storage, clock = made(table_type)
    dead = dead_write(storage, OWN, clock)
    write(storage, OTHER, clock, options=optimistic(table_type))
    assert [each.time for each in active_of(storage).load().pending_writes()] == [dead]
    assert read_rows(storage) == {**OLD, **OTHER}
    cleaning(storage, clock, **SEVERAL_NAMED).schedule_and_execute()
    assert leftovers(storage) == []
    assert read_rows(storage) == {**OLD, **OTHER}


def test_a_clean_takes_nothing_from_a_writer_that_lives() -> None:
    storage, clock = made()
    clean = cleaning(storage, clock, **SEVERAL_NAMED).schedule_and_execute
    done = write(Meanwhile(storage, clean, before=WRITTEN), OWN, clock, options=optimistic())
    assert (done.status, done.conflicts) == ("committed", 0)
    assert read_rows(storage) == {**OLD, **OWN}


def test_a_timeline_that_is_ahead_of_the_clock_is_noticed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Anomaly A4: a clock 5 s behind draws later instants all the same, one an hour behind none."""
    storage, _ = made()
    behind = clock_at(NOW_MS - 5_000)
    with caplog.at_level(logging.WARNING):
        done = write(storage, OWN, behind, options=optimistic())
    times = [each.time for each in active_of(storage).load().write_instants()]
    assert done.instant == max(times)
    assert "the clocks of its writers differ" in caplog.text
    hour_behind = clock_at(NOW_MS - 3_600_000)
    skew = "hoodie.time.generator.max_expected_clock_skew_ms"
    with pytest.raises(RequestError, match=f"or with a {skew} that allows for it"):
        write(storage, OTHER, hour_behind, options=optimistic())
    assert read_rows(storage) == {**OLD, **OWN}
    assert leftovers(storage) == []
    done = write(storage, OTHER, hour_behind, options={**optimistic(), skew: "3700000"})
    assert done.instant == max(each.time for each in active_of(storage).load().write_instants())
    assert read_rows(storage) == {**OLD, **OWN, **OTHER}


@pytest.mark.parametrize("hours", [0, 1, -5])
def test_a_writer_in_another_time_zone_is_noticed(
    caplog: pytest.LogCaptureFixture, hours: int
) -> None:
    """Its instants are whole hours off the times at which its files were made."""
    storage, clock = made()
    storage.times = {path: at + hours * 3_600_000 for path, at in storage.times.items()}
    with caplog.at_level(logging.WARNING):
        write(storage, OWN, clock, options=optimistic())
    assert ("give all writers of the table one time zone" in caplog.text) is bool(hours)
    assert not hours or f"{hours:+.2f} hours off" in caplog.text


def with_column(rows: Rows, name: str) -> pa.Table:
    table = orders(rows)
    return table.append_column(name, pa.array(["new"] * len(table)))


def columns(storage: MemoryStorage) -> list[str]:
    return [name for name in load_table(storage).schema().names if not name.startswith("_hoodie")]


@pytest.mark.parametrize("is_same", [True, False])
def test_of_two_who_add_columns_the_second_goes_by_the_schema_of_the_first(is_same: bool) -> None:
    """Anomaly A15."""
    storage, clock = made()
    added = with_column({("y", "c"): (2, "other")}, "p")
    other = partial(write, storage, added, clock, "upsert", {**optimistic(), **STAMP})
    options = {**optimistic(), "hoodie.datasource.write.reconcile.schema": "true", RETRIES: "0"}
    own = with_column(OWN, "p" if is_same else "q")
    raised = outcome(
        lambda: write(Meanwhile(storage, other, before=BEGUN), own, clock, "upsert", options)
    )
    if is_same:
        assert raised is None
    else:
        assert isinstance(raised, WriteConflictError)
        assert f"(UPSERT {BY_TASK}) changed the schema" in str(raised)
    assert columns(storage)[-1] == "p"


def test_who_changes_nothing_takes_over_a_column_that_another_added() -> None:
    storage, clock = made()
    added = with_column({("y", "c"): (2, "other")}, "p")
    other = partial(write, storage, added, clock, "upsert", optimistic())
    done = write(Meanwhile(storage, other, before=WRITTEN), OWN, clock, options=optimistic())
    assert done.conflicts == 0
    assert columns(storage)[-1] == "p"
    assert read_rows(storage) == {**OLD, ("y", "c"): (2, "other"), **OWN}


def test_a_column_is_not_hidden_by_a_later_instant_that_knows_it_not() -> None:
    """The later instant was committed first, and the schema of the table is that of the latest."""
    storage, clock = made()
    other = partial(write, storage, {("y", "c"): (2, "other")}, clock, options=optimistic())
    own = with_column(OWN, "p")
    done = write(Meanwhile(storage, other, before=BEGUN), own, clock, options=optimistic())
    assert done.conflicts == 1
    assert columns(storage)[-1] == "p"


def test_a_table_with_a_metadata_table_is_refused_beside_others() -> None:
    for before in ("requested", WRITTEN):
        storage, clock = made()
        beside = Meanwhile(storage, partial(build_metadata_table, storage), before=before)
        with pytest.raises(UnsupportedError, match=r"hoodie\.metadata\.enable=false"):
            write(beside, OWN, clock, options=optimistic())
        assert [each.time for each in active_of(storage).load().pending_writes()] == []


def build_metadata_table(storage: MemoryStorage) -> None:
    path = ".hoodie/hoodie.properties"
    text = storage.read(path).replace(b"hoodie.table.checksum", b"#")
    storage.put(path, text + b"\nhoodie.table.metadata.partitions=files\n")


def test_two_tries_of_one_request_at_once_are_committed_once() -> None:
    storage, clock = made()
    options = optimistic(pyhudi__idempotency__key="k")
    other = partial(write, storage, {("y", "n"): (2, "row")}, clock, "insert", options)
    done = write(
        Meanwhile(storage, other, before=BEGUN), {("y", "n"): (2, "row")}, clock, "insert", options
    )
    assert done.status == "already_committed"
    assert read_rows(storage) == {**OLD, ("y", "n"): (2, "row")}


def service(kind: str, storage: MemoryStorage, clock: FakeClock) -> JobResult | None:
    """A service beside a writer."""
    instant = active_of(storage).load().last_completed
    assert instant is not None
    match kind:
        case "archive":
            return archive(storage, clock, **SEVERAL_NAMED)
        case "savepoint":
            return savepoint(storage, clock, options=SEVERAL)
        case "restore":
            point = savepoint(storage, clock, options=SEVERAL).instant
            # It needs a moment in which no writer lives, and waits for it.
            waited = outcome(lambda: restore(storage, clock, point, {**SEVERAL, WAIT: "1"}))
            assert isinstance(waited, WriterAtWorkError)
        case "rollback":
            return roll_back(storage, clock, instant.time, **SEVERAL)
        case "clean":
            return cleaning(storage, clock, **SEVERAL_NAMED).schedule_and_execute()
        case "log_compaction":
            found = compaction(storage, clock, "log_compaction", **SEVERAL_NAMED)
            return found.schedule_and_execute()
        case _:
            compaction(storage, clock, **SEVERAL_NAMED).execute_all()
    return None


EVERYWHERE = ("archive", "savepoint", "restore", "rollback", "clean")
SERVICES = [
    *(("COPY_ON_WRITE", kind) for kind in EVERYWHERE),
    *(("MERGE_ON_READ", kind) for kind in (*EVERYWHERE, "log_compaction", "compaction")),
]


@pytest.mark.parametrize("before", [BEGUN, WRITTEN])
@pytest.mark.parametrize(("table_type", "kind"), SERVICES)
def test_services_run_beside_a_writer(table_type: str, kind: str, before: str) -> None:
    storage, clock = made(table_type)
    for ts in range(2, 7):
        rows: Rows = {("x", "a"): (ts, "more"), ("y", "c"): (ts, "more")}
        write(storage, rows, clock, options=optimistic(table_type))
    own: Rows = {("x", "b"): (9, "own")}
    done = write(
        Meanwhile(storage, partial(service, kind, storage, clock), before=before),
        own,
        clock,
        options=optimistic(table_type),
    )
    last = 5 if kind == "rollback" else 6
    wanted = {**OLD, ("x", "a"): (last, "more"), ("y", "c"): (last, "more"), **own}
    assert read_rows(storage) == wanted
    assert done.conflicts == (kind in ("rollback", "log_compaction", "compaction"))
    pending = active_of(storage).load().pending()
    assert not [each for each in pending if each.action is not Action.COMPACTION]


@pytest.mark.parametrize("before", [BEGUN, WRITTEN])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_oldest_write_of_a_timeline_is_not_taken_for_archived_when_it_is_rolled_back(
    table_type: str, before: str
) -> None:
    """Its rows would come back with the file that was made of its own."""
    storage, clock = made(table_type)
    undo = partial(service, "rollback", storage, clock)
    done = write(
        Meanwhile(storage, undo, before=before), OWN, clock, options=optimistic(table_type)
    )
    assert done.conflicts == 1
    assert read_rows(storage) == OWN


def test_a_log_compaction_gives_way_to_a_write_of_its_slice() -> None:
    storage, clock = made("MERGE_ON_READ")
    for ts in (2, 3, 4):
        write(storage, {("x", "a"): (ts, "log")}, clock, options=optimistic("MERGE_ON_READ"))
    other = partial(write, storage, OTHER, clock, options=optimistic("MERGE_ON_READ"))
    beside = Meanwhile(storage, other, before=WRITTEN)
    with pytest.raises(WriteConflictError):
        compaction(beside, clock, "log_compaction", **SEVERAL_NAMED).schedule_and_execute()
    assert read_rows(storage) == {**OLD, ("x", "a"): (4, "log"), **OTHER}
    assert leftovers(storage) == []


def test_a_plan_has_no_log_file_of_a_write_that_has_not_ended() -> None:
    """It would go when that write does, and the plan could not be carried out."""
    storage, clock = made("MERGE_ON_READ")
    options = {**optimistic("MERGE_ON_READ"), RETRIES: "0"}
    write(storage, {("y", "c"): (2, "log")}, clock, options=options)
    service = compaction(storage, clock, **SEVERAL_NAMED)
    write(BeforeCommit(storage, service.schedule), {("x", "a"): (3, "own")}, clock, options=options)
    service.execute_all()
    wanted = {**OLD, ("y", "c"): (2, "log"), ("x", "a"): (3, "own")}
    assert read_rows(storage) == wanted


def test_a_log_file_that_a_plan_of_hudis_names_stays_until_the_plan_has_run() -> None:
    """Hudi plans while others write, and its plan has log files that are not committed."""
    storage, clock = made("MERGE_ON_READ")
    options = {**optimistic("MERGE_ON_READ"), RETRIES: "0"}
    write(storage, {("x", "b"): (2, "log")}, clock, options=options)

    def plan() -> None:
        table = load_table(storage)
        listed = table.listing.files(["x"])
        (first,) = (each for each in table.latest_slices(["x"]) if each.log_files)
        assert first.base_file is not None
        names = tuple(str(log.name) for log in listed.log_files)
        assert len(names) == 2, "one of them is not committed"
        operation = CompactionOperation(
            partition="x",
            file_id=first.file_id,
            base_instant=first.base_instant,
            base_file=first.base_file.name,
            log_files=names,
        )
        at = table.active.next_time(clock, table.timeline.latest_time)
        instant = Instant(time=at, action=Action.COMPACTION, state=State.REQUESTED)
        table.active.request(instant, CompactionPlan(operations=(operation,)))

    with pytest.raises(WriteConflictError, match="was planned meanwhile"):
        write(BeforeCommit(storage, plan), OWN, clock, options=options)
    compaction(storage, clock, **SEVERAL_NAMED).execute_all()
    assert read_rows(storage) == {**OLD, ("x", "b"): (2, "log")}


class BeforeCommit(FaultyStorage):
    """Does something once the files of a write are there, before it looks for conflicts."""

    def __init__(self, inner: MemoryStorage, act: Callable[[], object]) -> None:
        super().__init__(inner, Faults())
        self._acts = [act]

    def walk(self, path: str) -> Iterator[FileStatus]:
        if ".temp" in path and self._acts:
            self._acts.pop()()
        return super().walk(path)


def test_a_restore_waits_for_nobody_who_comes_after_it_and_is_not_written_over() -> None:
    storage, clock = made()
    point = savepoint(storage, clock).instant
    write(storage, OTHER, clock, options=optimistic())
    raised = outcome(
        lambda: write(
            Meanwhile(storage, partial(restore, storage, clock, point), before=WRITTEN),
            OWN,
            clock,
            options=optimistic(),
        )
    )
    # The single writer that restores is turned away by the one that lives.
    assert isinstance(raised, ConflictError)
    states = {each.state for each in active_of(storage).load() if each.action is Action.RESTORE}
    assert states <= {State.COMPLETED}
    assert read_rows(storage) == {**OLD, **OTHER}
