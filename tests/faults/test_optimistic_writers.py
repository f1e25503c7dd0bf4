"""Writers beside each other: each lands whole on top of the other, or is told whom it met.

What one does while another is at work is put between two of its storage calls.
"""

import re
from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.errors import ConflictError, RolledBackError, WriteConflictError
from pyhudi.jobs.result import JobResult
from pyhudi.services.rollback import roll_back as undo
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, State
from tests.support.clocks import FakeClock
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    Rows,
    clock_at,
    compaction,
    leftovers,
    new_table,
    outcome,
    read_rows,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.rivals import (
    BEGUN,
    BY_TASK,
    MODE,
    PROVIDER,
    RETRIES,
    SEVERAL,
    STAMP,
    WRITTEN,
    Meanwhile,
    optimistic,
)
from tests.support.timelines import active_of

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}


def made(table_type: str) -> tuple[MemoryStorage, FakeClock]:
    """A table with some rows, a file group in each partition."""
    storage = new_table(CONFIG if table_type == TYPES[0] else MERGE_ON_READ)
    clock = clock_at()
    write(storage, OLD, clock, options=optimistic(table_type))
    return storage, clock


def rival(
    storage: MemoryStorage,
    clock: FakeClock,
    rows: Rows | None,
    operation: str = "upsert",
    table_type: str = TYPES[0],
    **more: str,
) -> Callable[[], JobResult]:
    """Another writer, that begins and ends when it is called."""
    options = optimistic(table_type, **more)
    return partial(write, storage, rows, clock, operation, options)


@pytest.mark.parametrize("table_type", TYPES)
def test_writers_of_other_file_groups_do_not_meet(table_type: str) -> None:
    storage, clock = made(table_type)
    other = rival(storage, clock, {("y", "c"): (2, "other")}, table_type=table_type)
    own: Rows = {("x", "a"): (2, "own")}
    done = write(
        Meanwhile(storage, other, before=BEGUN), own, clock, options=optimistic(table_type)
    )
    assert (done.conflicts, done.anomaly) == (0, None)
    assert read_rows(storage) == {**OLD, **own, ("y", "c"): (2, "other")}
    assert leftovers(storage) == []


@pytest.mark.parametrize("before", [BEGUN, WRITTEN])
@pytest.mark.parametrize("table_type", TYPES)
def test_who_meets_another_in_a_file_group_writes_on_top_of_it(
    table_type: str, before: str
) -> None:
    storage, clock = made(table_type)
    other = rival(storage, clock, {("x", "b"): (2, "other")}, table_type=table_type)
    own: Rows = {("x", "a"): (3, "own")}
    done = write(
        Meanwhile(storage, other, before=before), own, clock, options=optimistic(table_type)
    )
    assert done.conflicts == 1
    assert read_rows(storage) == {**OLD, **own, ("x", "b"): (2, "other")}
    assert leftovers(storage) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_a_conflict_without_retries_names_the_other_and_leaves_nothing(table_type: str) -> None:
    storage, clock = made(table_type)
    options = {**optimistic(table_type), **STAMP}
    other = partial(write, storage, {("x", "b"): (2, "other")}, clock, "upsert", options)
    storage_of_own = Meanwhile(storage, other, before=BEGUN)
    with pytest.raises(WriteConflictError) as raised:
        write(
            storage_of_own,
            {("x", "a"): (3, "own")},
            clock,
            options={**optimistic(table_type), RETRIES: "0"},
        )
    (group,) = {
        (stat.partition_path, stat.file_id)
        for stat in active_of(storage).read_commit(last(storage)).write_stats
    }
    text = str(raised.value)
    assert f"{last(storage).time} (UPSERT {BY_TASK})" in text
    assert f"{group[0]}/{group[1]}" in text
    assert raised.value.instants == (last(storage).time,)
    assert read_rows(storage) == {**OLD, ("x", "b"): (2, "other")}
    assert leftovers(storage) == []


def last(storage: MemoryStorage):
    found = active_of(storage).load().last_completed
    assert found is not None
    return found


@pytest.mark.parametrize("operation", ["upsert", "delete"])
@pytest.mark.parametrize("table_type", TYPES)
def test_a_key_that_another_has_inserted_meanwhile_is_there_once(
    table_type: str, operation: str
) -> None:
    """Anomaly A3; what was not there to delete is there by now."""
    storage, clock = made(table_type)
    small = {"hoodie__parquet__small__file__limit": "0"}
    other = rival(storage, clock, {("x", "n"): (2, "other")}, table_type=table_type, **small)
    own: Rows = {("x", "n"): (3, "own"), ("y", "c"): (3, "own")}
    done = write(
        Meanwhile(storage, other, before=BEGUN),
        own,
        clock,
        operation,
        options=optimistic(table_type, **small),
    )
    assert done.conflicts == 1
    left = {("x", "a"): OLD["x", "a"], ("x", "b"): OLD["x", "b"]}
    assert read_rows(storage) == ({**OLD, **own} if operation == "upsert" else left)


@pytest.mark.parametrize("table_type", TYPES)
def test_new_keys_that_differ_do_not_meet(table_type: str) -> None:
    storage, clock = made(table_type)
    small = {"hoodie__parquet__small__file__limit": "0"}
    other = rival(storage, clock, {("x", "n"): (2, "other")}, table_type=table_type, **small)
    own: Rows = {("x", "m"): (3, "own")}
    done = write(
        Meanwhile(storage, other, before=BEGUN),
        own,
        clock,
        options=optimistic(table_type, **small),
    )
    assert done.conflicts == 0
    assert read_rows(storage) == {**OLD, **own, ("x", "n"): (2, "other")}


@pytest.mark.parametrize("table_type", TYPES)
def test_a_key_that_moves_between_partitions_is_there_once(table_type: str) -> None:
    """Hole 5: both move one key, each to another partition."""
    moves = {"hoodie__simple__index__update__partition__path": "true"}
    storage = new_table(CONFIG if table_type == TYPES[0] else MERGE_ON_READ)
    clock = clock_at()
    options = optimistic(table_type, "GLOBAL_SIMPLE", **moves)
    write(storage, OLD, clock, options=options)
    other = partial(write, storage, {("y", "a"): (2, "other")}, clock, "upsert", options)
    done = write(
        Meanwhile(storage, other, before=BEGUN), {("z", "a"): (3, "own")}, clock, options=options
    )
    assert done.conflicts == 1
    kept = {key: row for key, row in OLD.items() if key != ("x", "a")}
    assert read_rows(storage) == {**kept, ("z", "a"): (3, "own")}


OVERWRITES = [
    pytest.param("insert_overwrite", {("x", "o"): (3, "own")}, id="insert_overwrite"),
    pytest.param("insert_overwrite_table", {("x", "o"): (3, "own")}, id="insert_overwrite_table"),
    pytest.param("delete_partition", None, id="delete_partition"),
]


@pytest.mark.parametrize("new_key", [False, True], ids=["an update", "a new file group"])
@pytest.mark.parametrize(("operation", "rows"), OVERWRITES)
@pytest.mark.parametrize("table_type", TYPES)
def test_an_overwrite_replaces_what_was_written_to_its_partition_meanwhile(
    table_type: str, operation: str, rows: Rows | None, new_key: bool
) -> None:
    """Anomaly A10: holes 2 and 3."""
    storage, clock = made(table_type)
    small = {"hoodie__parquet__small__file__limit": "0"}
    key = ("x", "n" if new_key else "a")
    other = rival(storage, clock, {key: (2, "other")}, table_type=table_type, **small)
    named = {"hoodie__datasource__write__partitions__to__delete": "x"} if rows is None else {}
    done = write(
        Meanwhile(storage, other, before=BEGUN),
        rows,
        clock,
        operation,
        options=optimistic(table_type, **named),
    )
    assert done.conflicts == 1
    kept = {} if operation == "insert_overwrite_table" else {("y", "c"): OLD["y", "c"]}
    assert read_rows(storage) == {**kept, **(rows or {})}


@pytest.mark.parametrize(("named", "conflicts"), [("x,z", 1), ("*", 1), ("x,w*", 0)])
def test_a_partition_that_comes_up_meanwhile_is_deleted_if_it_is_meant(
    named: str, conflicts: int
) -> None:
    """The delete has not seen it, and its commit would not name it."""
    storage, clock = made(TYPES[0])
    new: Rows = {("z", "n"): (2, "other")}
    options = optimistic(hoodie__datasource__write__partitions__to__delete=named)
    done = write(
        Meanwhile(storage, rival(storage, clock, new, "insert"), before=BEGUN),
        None,
        clock,
        "delete_partition",
        options=options,
    )
    assert done.conflicts == conflicts
    left = {("y", "c"): OLD["y", "c"]}
    assert read_rows(storage) == ({} if named == "*" else left if conflicts else {**left, **new})


@pytest.mark.parametrize("new_key", [False, True], ids=["an update", "a new file group"])
@pytest.mark.parametrize(("operation", "rows"), OVERWRITES)
@pytest.mark.parametrize("table_type", TYPES)
def test_a_write_beside_an_overwrite_comes_after_it(
    table_type: str, operation: str, rows: Rows | None, new_key: bool
) -> None:
    storage, clock = made(table_type)
    named = {"hoodie__datasource__write__partitions__to__delete": "x"} if rows is None else {}
    other = rival(storage, clock, rows, operation, table_type, **named)
    own: Rows = {("x", "n" if new_key else "a"): (4, "own")}
    small = {"hoodie__parquet__small__file__limit": "0"}
    done = write(
        Meanwhile(storage, other, before=BEGUN),
        own,
        clock,
        options=optimistic(table_type, **small),
    )
    assert done.conflicts == 1
    kept = {} if operation == "insert_overwrite_table" else {("y", "c"): OLD["y", "c"]}
    assert read_rows(storage) == {**kept, **(rows or {}), **own}


@pytest.mark.parametrize("runs", [False, True], ids=["planned", "run"])
def test_a_compaction_that_is_planned_meanwhile_loses_no_log_file(runs: bool) -> None:
    """Anomaly A9: the log file of the write would belong to the slice below the plan."""
    storage, clock = made("MERGE_ON_READ")
    write(storage, {("x", "a"): (2, "log")}, clock, options=optimistic("MERGE_ON_READ"))

    def compact() -> None:
        service = compaction(storage, clock, **{k.replace(".", "__"): v for k, v in OCC.items()})
        planned = service.schedule()
        assert planned.instant
        if runs:
            service.execute(planned.instant)

    own: Rows = {("x", "b"): (3, "own")}
    for before in (BEGUN, WRITTEN):
        copy = storage.copy()
        storage, original = copy, storage
        done = write(
            Meanwhile(storage, compact, before=before),
            own,
            clock,
            options=optimistic("MERGE_ON_READ"),
        )
        wanted = {**OLD, ("x", "a"): (2, "log"), **own}
        assert (done.conflicts, read_rows(storage)) == (1, wanted), before
        service = compaction(storage, clock, **{k.replace(".", "__"): v for k, v in OCC.items()})
        service.execute_all()
        assert read_rows(storage) == wanted
        storage = original


OCC = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "InProcessLockProvider",
}


@pytest.mark.parametrize("is_shared", [True, False], ids=["beside others", "alone"])
def test_a_neighbour_that_undoes_what_is_pending_is_told_apart_and_named(is_shared: bool) -> None:
    """Anomaly A13: one in single-writer mode rolls back what others have not committed."""
    storage, clock = made(TYPES[0])
    alone = {key: value for key, value in optimistic().items() if key not in SEVERAL}
    theirs: Rows = {("y", "c"): (2, "other")}

    def begin_as_hudi_does() -> None:
        (pending,) = active_of(storage).load().pending_writes()
        undo(load_table(storage), clock, pending.time)
        write(storage, theirs, clock, options={**alone, **STAMP})

    raised = outcome(
        lambda: write(
            Meanwhile(storage, begin_as_hudi_does, before=WRITTEN),
            {("x", "a"): (3, "own")},
            clock,
            options=optimistic() if is_shared else alone,
        )
    )
    assert isinstance(raised, RolledBackError)
    (rollback,) = (each for each in active_of(storage).load() if each.action is Action.ROLLBACK)
    by = f"rollback {rollback.time}, beside which commit {last(storage).time} (UPSERT {BY_TASK})"
    assert f"by another writer ({by} began); its heartbeat was never late" in str(raised)
    wanted = f"{MODE}=OPTIMISTIC_CONCURRENCY_CONTROL and one {PROVIDER} for all writers"
    assert (
        f"runs in single-writer mode, in which a writer undoes whatever is pending: set {wanted}"
        in (str(raised))
    )
    assert read_rows(storage) == {**OLD, **theirs}
    assert leftovers(storage) == []


@pytest.mark.parametrize("seconds", [100, 150])
def test_a_neighbour_whose_clock_makes_heartbeats_look_old_is_told_of(seconds: int) -> None:
    storage, clock = made(TYPES[0])

    def undo_by_a_clock_that_is_ahead() -> None:
        (pending,) = active_of(storage).load().pending_writes()
        undo(load_table(storage), clock_at(clock.now_ms() + seconds * 1000), pending.time)

    ahead = Meanwhile(storage, undo_by_a_clock_that_is_ahead, before=WRITTEN)
    own: Rows = {("x", "a"): (3, "own")}
    raised = outcome(lambda: write(ahead, own, clock, options=optimistic()))
    said = "its clock is wrong, which is 1.. s ahead of this one, the other one runs in single"
    assert isinstance(raised, RolledBackError)
    assert bool(re.search(said, str(raised))) is (seconds > 120)


def test_a_request_that_went_without_a_rollback_is_told_of_too() -> None:
    storage, clock = made(TYPES[0])

    def take_away() -> None:
        active = active_of(storage)
        (pending,) = active.load().pending_writes()
        active.remove(pending.in_state(State.REQUESTED))

    own: Rows = {("x", "a"): (3, "own")}
    late = Meanwhile(storage, take_away, before=WRITTEN)
    raised = outcome(lambda: write(late, own, clock, options=optimistic()))
    assert isinstance(raised, RolledBackError)
    assert "by another writer; its heartbeat was never late" in str(raised)
    assert read_rows(storage) == OLD


def test_who_writes_alone_beside_one_of_several_is_told_that_their_modes_differ() -> None:
    storage, clock = made(TYPES[0])
    other = rival(storage, clock, {("x", "b"): (2, "other")})
    alone = {key: value for key, value in optimistic().items() if key not in SEVERAL}
    raised = outcome(
        lambda: write(
            Meanwhile(storage, other, before=BEGUN), {("x", "a"): (3, "own")}, clock, options=alone
        )
    )
    assert isinstance(raised, ConflictError)
    assert f"all writers have the same {MODE}" in str(raised)
    assert read_rows(storage) == {**OLD, ("x", "b"): (2, "other")}
    assert leftovers(storage) == []


EARLY = "hoodie.write.concurrency.early.conflict.detection.enable"


@pytest.mark.parametrize("markers", [0, 1], ids=["about to write", "writing"])
@pytest.mark.parametrize("is_early", [True, False])
@pytest.mark.parametrize("table_type", TYPES)
def test_a_later_writer_sees_what_an_earlier_one_is_writing(
    table_type: str, is_early: bool, markers: int
) -> None:
    storage, clock = made(table_type)
    options = {**optimistic(table_type), **STAMP, RETRIES: "0", EARLY: str(is_early)}
    raised: list[BaseException | None] = []
    marked: list[int] = []

    def other() -> None:
        rows: Rows = {("x", "b"): (2, "other")}
        raised.append(outcome(lambda: write(storage, rows, clock, options=options)))
        marked.append(len(storage.below(".hoodie/.temp")))

    own: Rows = {("x", "a"): (3, "own"), ("y", "c"): (3, "own")}
    done = outcome(
        lambda: write(
            Meanwhile(storage, other, before=WRITTEN, skips=markers), own, clock, options=options
        )
    )
    # Without it the later one commits first, and the earlier one is refused at its commit.
    assert isinstance(raised[0], WriteConflictError) is is_early
    assert isinstance(done, WriteConflictError) is not is_early
    said = f"{BY_TASK}) is writing what this write is about to change"
    assert not is_early or said in str(raised[0])
    assert leftovers(storage) == []
