"""Cleans beside readers, writers, compactions and other cleans, and cleans that come too late."""

import random
from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.config.read import ReadConfig
from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.read.query import ReadPlan, plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.services.clean import pending_cleans
from pyhudi.services.rollback import roll_back
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, State
from tests.support.crash_cases import (
    AGED,
    COPIED,
    LOGGED,
    NEXT,
    OLD,
    aged,
    cases,
    clean_died,
    dead_before_commit,
    emptied,
)
from tests.support.crashes import World
from tests.support.faulty import Visited, bury
from tests.support.in_process import (
    NOW_MS,
    SAVING,
    Options,
    Rows,
    cleaning,
    clock_at,
    compaction,
    data_files,
    dead_write,
    leftovers,
    options_of,
    outcome,
    read_rows,
    run_pending,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import STEP
from tests.support.schedule import run_in_turns

pytestmark = pytest.mark.usefixtures("no_waiting")

TABLE_TYPES = pytest.mark.parametrize("table_type", [COPIED, LOGGED])
LATER = NOW_MS + 10_000
LAZY, NEVER = (
    {"hoodie.clean.failed.writes.policy": policy, "hoodie.clean.automatic": "true"}
    for policy in ("LAZY", "NEVER")
)


SAVED = "upsert,_failed_records_saved-copy_on_write-bloom"
SAVING_TO = {name.replace("__", "."): value for name, value in SAVING.items()}


def clean(storage: Storage, now_ms: int = LATER, **options: str) -> object:
    return cleaning(storage, clock_at(now_ms), **options).schedule_and_execute()


def commits(storage: Storage) -> list[str]:
    return [each.time for each in load_table(storage).timeline.write_instants().completed()]


@TABLE_TYPES
@pytest.mark.parametrize("retained", [1, 2])
@pytest.mark.parametrize("is_finishing", [False, True], ids=["from the start", "from midway"])
def test_whoever_reads_a_retained_instant_finds_every_file(
    table_type: str, retained: int, is_finishing: bool
) -> None:
    """Between every two calls of a clean: now, as of each commit, and by plans made before."""
    storage = aged(table_type).table
    kept = {"hoodie__clean__commits__retained": str(retained)}
    earliest, now = commits(storage)[-retained], read_rows(storage)
    seen = {time: read_rows(storage, as_of=time) for time in commits(storage)}
    if is_finishing:
        cleaning(storage, clock_at(LATER), **kept).schedule()
    slow = {time: planned(storage, time) for time in seen if time >= earliest}
    refused = set[str]()

    def read(_: int) -> None:
        assert read_rows(storage) == now
        for time, rows in seen.items():
            found = partial(read_rows, storage, as_of=time)
            if time < earliest and isinstance(outcome(found), RequestError):
                refused.add(time)
            else:
                assert found() == rows
        for time, plan in slow.items():
            assert carried_out(storage, plan) == seen[time]

    visited = Visited(storage, read)
    clean(visited, **kept)
    read(0)
    assert visited.calls > 10
    assert refused == {time for time in seen if time < earliest}


def planned(storage: Storage, as_of: str) -> ReadPlan:
    return plan_read(load_table(storage), ReadConfig.of(as_of=as_of))


def carried_out(storage: Storage, plan: ReadPlan) -> Rows:
    parts = [part for file in plan.files for part in read_file(storage, plan, file)]
    parts += [part for each in plan.slices for part in read_slice(storage, plan, each)]
    rows = [row for part in parts for row in part.to_pylist()]
    return {(row["part"], row["id"]): (row["ts"], row["value"]) for row in rows}


@TABLE_TYPES
@pytest.mark.parametrize("make", [aged, clean_died, emptied])
def test_a_writer_and_a_clean_that_take_turns_lose_nothing(
    table_type: str, make: Callable[[str], World]
) -> None:
    world, chooser, refused = make(table_type), random.Random(5), 0
    before = read_rows(world.table)
    for number in range(0, 60, 3 * STEP):
        storage = world.table.copy()
        order = [chooser.randrange(2) for _ in range(150)]
        options = options_of(table_type, pyhudi__write__wait__seconds=str(30 * (number % 2)))
        rows: Rows = {("x", "b"): (9, "writer"), ("z", "f"): (9, "writer")}
        raised = run_in_turns(
            storage,
            order,
            partial(write, rows=rows, clock=clock_at(LATER), options=options),
            partial(clean, now_ms=LATER),
        )
        assert isinstance(raised[0], ConflictError | None), (number, raised)
        assert raised[1] is None, (number, raised)
        refused += raised[0] is not None
        wanted = before if raised[0] else {**before, **rows}
        assert read_rows(storage) == wanted, number
        check_clean(storage, wanted, number)
    assert refused < 60 // (3 * STEP) // 2


@TABLE_TYPES
@pytest.mark.parametrize("make", [clean_died, emptied])
@pytest.mark.parametrize("is_clean_inside", [False, True], ids=["a write inside", "a clean inside"])
def test_a_write_and_a_clean_between_any_two_calls_of_the_other_lose_nothing(
    table_type: str, make: Callable[[str], World], is_clean_inside: bool
) -> None:
    """The write goes to the partition whose folder the clean is about to delete."""
    world = make(table_type)
    rows: Rows = {("x", "b"): (9, "writer")}
    before, refused, at = read_rows(world.table), 0, 1
    acts: list[Callable[[Storage], object]] = [
        partial(write, rows=rows, clock=clock_at(LATER), options=options_of(table_type)),
        partial(clean, now_ms=LATER),
    ]
    if is_clean_inside:
        acts.reverse()
    while True:
        storage, raised = world.table.copy(), list[BaseException | None]()

        def visit(call: int, at: int = at, storage: MemoryStorage = storage) -> None:
            if call == at:
                raised.append(outcome(partial(acts[0], storage)))  # noqa: B023 - called at once

        outer = Visited(storage, visit)
        raised_outside = outcome(partial(acts[1], outer))
        if at > outer.calls:
            break
        errors = raised_outside, raised[0]
        assert all(isinstance(each, ConflictError | None) for each in errors), (at, errors)
        is_written = errors[0 if is_clean_inside else 1] is None
        refused += not is_written
        wanted = {**before, **rows} if is_written else before
        assert read_rows(storage) == wanted, at
        check_clean(storage, wanted, at)
        at += STEP
    assert refused < at // 2


def check_clean(storage: MemoryStorage, rows: Rows, what: object) -> None:
    """The next clean and the next write leave nothing behind and take no row."""
    clean(storage, NOW_MS + 90_000)
    write_nothing(storage, clock_at(NOW_MS + 90_000))
    assert read_rows(storage) == rows, what
    assert leftovers(storage) == [], what


@TABLE_TYPES
def test_several_that_clean_at_once_end_with_the_same_files(table_type: str) -> None:
    world, chooser = clean_died(table_type), random.Random(3)
    alone = world.table.copy()
    clean(alone)
    for number in range(0, 40, 2 * STEP):
        storage = world.table.copy()
        order = [chooser.randrange(3) for _ in range(80)]
        raised = run_in_turns(storage, order, clean, clean, clean)
        assert raised == [None] * 3, number
        assert data_files(storage) == data_files(alone), number
        assert pending_cleans(load_table(storage)) == ()


def test_a_compaction_and_a_clean_that_take_turns_lose_nothing() -> None:
    world, chooser = aged(LOGGED), random.Random(9)
    write(world.table, NEXT, clock_at(NOW_MS + 9_000), options=options_of(LOGGED))
    rows = read_rows(world.table)
    for number in range(0, 40, 2 * STEP):
        storage = world.table.copy()
        order = [chooser.randrange(2) for _ in range(150)]

        def compact(table: Storage) -> object:
            return compaction(table, clock_at(LATER)).schedule_and_execute()

        raised = run_in_turns(storage, order, compact, clean)
        assert all(isinstance(each, ConflictError | None) for each in raised), (number, raised)
        assert raised[1] is None
        assert read_rows(storage) == rows, number
        bury(storage)
        write_nothing(storage, clock_at(NOW_MS + 50_000))
        run_pending(storage, clock_at(NOW_MS + 50_000))
        check_clean(storage, rows, number)


@TABLE_TYPES
def test_a_plan_that_is_carried_out_late_takes_nothing_that_counts_by_then(table_type: str) -> None:
    """The commits that made its files old were undone since."""
    storage = aged(table_type).table
    seen = {time: read_rows(storage, as_of=time) for time in commits(storage)}
    cleaning(storage, clock_at(LATER)).schedule()
    first, *others = commits(storage)
    for time in reversed(others):
        reopen(storage, time)
        roll_back(load_table(storage), clock_at(LATER), time)
    assert read_rows(storage) == seen[first] == OLD
    clean(storage)
    assert read_rows(storage) == OLD


def reopen(storage: MemoryStorage, time: str) -> None:
    """Make a completed commit a pending one again, as a rollback of it begins."""
    table = load_table(storage)
    (found,) = (each for each in table.timeline.write_instants() if each.time == time)
    table.active.remove(found.in_state(State.COMPLETED))
    for path in storage.below(".hoodie"):
        if path.endswith(f"{time}.compaction.requested"):
            storage.put(path.replace("compaction", "commit"), storage.files[path])
            storage.delete(path)
        if path.endswith(f"{time}.compaction.inflight"):
            storage.put(f".hoodie/{time}.inflight", b"")
            storage.delete(path)


@TABLE_TYPES
def test_a_clean_after_a_write_that_fails_leaves_the_write_committed(table_type: str) -> None:
    storage = aged(table_type).table
    options = options_of(table_type, hoodie__clean__commits__retained="1")

    class Failing(Visited):
        def delete(self, path: str) -> bool:
            if path.endswith(".parquet"):
                raise HudiError("no deleting here")
            return super().delete(path)

    failing = Failing(storage, lambda _: None)
    assert write(failing, NEXT, clock_at(LATER), options=options).status == "committed"
    (pending,) = pending_cleans(load_table(storage))
    more: Rows = {("x", "a"): (9, "more")}
    write(storage, more, clock_at(LATER + 5_000), options=options)
    done = load_table(storage).timeline.completed()
    assert pending.identity in {each.identity for each in done if each.action is Action.CLEAN}
    assert read_rows(storage) == {**OLD, **AGED, **NEXT, **more}


@TABLE_TYPES
@pytest.mark.parametrize(("policy", "is_undone"), [(LAZY, True), (NEVER, False)])
def test_who_undoes_a_dead_write_is_chosen(
    table_type: str, policy: Options, is_undone: bool
) -> None:
    storage = aged(table_type).table
    dead = dead_write(storage, {("x", "a"): (7, "dead")}, clock_at(LATER))
    options = {**options_of(table_type), **policy, "hoodie.clean.automatic": "false"}
    write(storage, NEXT, clock_at(LATER + 5_000), options=options)
    wanted = {**OLD, **AGED, **NEXT}
    assert pending_writes(storage) == [dead]
    assert read_rows(storage) == wanted
    if table_type == LOGGED:
        raised = outcome(
            compaction(storage, clock_at(LATER + 6_000), **underscored(policy)).schedule
        )
        assert isinstance(raised, ConflictError | None)
        assert (raised is None) == is_undone
    clean(storage, LATER + 7_000, **underscored(policy))
    assert pending_writes(storage) == ([] if is_undone else [dead])
    write_nothing(storage, clock_at(LATER + 8_000))
    if table_type == LOGGED:
        run_pending(storage, clock_at(LATER + 9_000))
    check_clean(storage, wanted, policy)


@TABLE_TYPES
def test_a_lazy_clean_after_a_write_undoes_the_dead_and_leaves_the_living(table_type: str) -> None:
    storage = aged(table_type).table
    dead = dead_write(storage, {("x", "a"): (7, "dead")}, clock_at(LATER))
    options = {**options_of(table_type), **LAZY, "hoodie.clean.commits.retained": "50"}
    write(storage, NEXT, clock_at(LATER + 5_000), options=options)
    assert pending_writes(storage) == []
    assert dead not in commits(storage)
    assert read_rows(storage) == {**OLD, **AGED, **NEXT}


def test_a_lazy_clean_deletes_the_records_that_a_dead_write_saved() -> None:
    (case,) = (each for each in cases() if each.name == SAVED)
    world = dead_before_commit(case)
    assert world.failed.files
    options = underscored({**SAVING_TO, **LAZY})
    service = cleaning(world.table, clock_at(LATER + 5_000), failed=world.failed, **options)
    service.schedule_and_execute()
    assert pending_writes(world.table) == []
    assert world.failed.files == {}


def pending_writes(storage: Storage) -> list[str]:
    return [each.time for each in load_table(storage).timeline.pending_writes()]


def underscored(options: Options) -> dict[str, str]:
    return {name.replace(".", "__"): value for name, value in options.items()}
