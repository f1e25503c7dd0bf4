"""A rollback, savepoint or restore that dies or fails at any call: all of it is done, or none."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from pyhudi.errors import HudiError
from pyhudi.logfile.framing import HeaderKey
from pyhudi.logfile.reader import iter_blocks
from pyhudi.storage.storage import Storage
from tests.support.crashes import World, course_of
from tests.support.faulty import Faults, bury
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    data_files,
    leftovers,
    new_table,
    outcome,
    read_rows,
    restore,
    roll_back,
    savepoint,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.timelines import active_of

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
MORE: Rows = {("x", "a"): (2, "more"), ("z", "e"): (2, "more")}
LAST: Rows = {("x", "b"): (3, "last"), ("x", "f"): (3, "last"), ("z", "g"): (3, "last")}
NEXT: Rows = {("x", "a"): (9, "next"), ("y", "h"): (9, "next")}
DEATHS, ERRORS = (1, 1) if IS_WHOLE else (2 * STEP, 5 * STEP)
"""Of the deaths and errors of a case, every so many-th is tried."""
TYPES = {"copied": CONFIG, "logged": MERGE_ON_READ}


@dataclass(frozen=True)
class Undoing:
    """Something that takes a table from the rows ``before`` to the rows ``after``."""

    storage: MemoryStorage
    instant: str
    act: Callable[[Storage, int], object]
    after: Rows

    @property
    def before(self) -> Rows:
        return read_rows(self.storage)

    def do(self, table: Storage, _: Storage) -> None:
        self.act(table, NOW_MS + 100_000)

    def again(self, table: Storage) -> None:
        self.act(table, NOW_MS + 300_000)


def written(kind: str, *batches: Rows) -> tuple[MemoryStorage, list[str]]:
    storage, clock = new_table(TYPES[kind]), clock_at()
    return storage, [str(write(storage, rows, clock).instant) for rows in batches]


def rollback_of(storage: MemoryStorage, instant: str, after: Rows) -> Undoing:
    def act(table: Storage, now_ms: int) -> None:
        roll_back(table, clock_at(now_ms), instant)

    return Undoing(storage, instant, act, after)


def latest_write(kind: str) -> Undoing:
    storage, (_, last) = written(kind, OLD, LAST)
    return rollback_of(storage, last, OLD)


def latest_overwrite(kind: str) -> Undoing:
    storage, _ = written(kind, OLD, MORE)
    before = read_rows(storage)
    last = write(storage, LAST, clock_at(NOW_MS + 5_000), "insert_overwrite").instant
    return rollback_of(storage, str(last), before)


def latest_compaction(kind: str) -> Undoing:
    storage, _ = written("logged", OLD, MORE, LAST)
    done = compaction(storage, clock_at(NOW_MS + 5_000), kind).schedule_and_execute()
    return rollback_of(storage, str(done.instant), read_rows(storage))


def whole_restore(kind: str) -> Undoing:
    storage, (saved, _) = written(kind, OLD, MORE)
    before = OLD
    savepoint(storage, clock_at(NOW_MS + 1_000), instant=saved)
    if kind == "logged":
        compaction(storage, clock_at(NOW_MS + 5_000)).schedule_and_execute()
    write(storage, LAST, clock_at(NOW_MS + 6_000))
    write(storage, MORE, clock_at(NOW_MS + 7_000), "insert_overwrite")
    write(storage, LAST, clock_at(NOW_MS + 8_000))
    if kind == "logged":
        compaction(storage, clock_at(NOW_MS + 9_000)).schedule()
        write(storage, {("x", "b"): (4, "on a plan")}, clock_at(NOW_MS + 10_000))

    def act(table: Storage, now_ms: int) -> None:
        restore(table, clock_at(now_ms), saved)

    return Undoing(storage, saved, act, before)


CASES: dict[str, Callable[[], Undoing]] = {
    "rollback of a write, copied": partial(latest_write, "copied"),
    "rollback of a write, logged": partial(latest_write, "logged"),
    "rollback of an overwrite, copied": partial(latest_overwrite, "copied"),
    "rollback of an overwrite, logged": partial(latest_overwrite, "logged"),
    "rollback of a compaction": partial(latest_compaction, "compaction"),
    "rollback of a log compaction": partial(latest_compaction, "log_compaction"),
    "restore, copied": partial(whole_restore, "copied"),
    "restore, logged": partial(whole_restore, "logged"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_death_at_any_call_leaves_the_state_before_or_after(name: str) -> None:
    case = CASES[name]()
    before, world = case.before, World(table=case.storage)
    course = course_of(world.copy(), case.do)
    whole = course.states[-1].world.table
    assert read_rows(whole) == case.after
    assert remains(whole) == []
    for number, state in enumerate(course.states[::DEATHS]):
        what = f"death before call {state.at}"
        seen = read_rows(state.world.table)
        assert seen in (before, case.after), what
        is_undone = seen == case.after != before
        bury(state.world.table)
        others, same = state.world.table.copy(), state.world.table.copy()
        check_others_go_on(others, [case.after] if is_undone else [before, case.after], what)
        if number % 2:
            case.again(same)
            write_nothing(same, clock_at(NOW_MS + 400_000))
            assert read_rows(same) == case.after, what
            assert remains(same) == [], what
            assert data_names(same) == data_names(whole), what


def check_others_go_on(storage: MemoryStorage, allowed: list[Rows], what: str) -> None:
    clock = clock_at(NOW_MS + 200_000)
    write_nothing(storage, clock)
    found = read_rows(storage)
    assert found in allowed, what
    assert remains(storage) == [], what
    write(storage, NEXT, clock)
    assert read_rows(storage) == {**found, **NEXT}, what


@pytest.mark.parametrize("name", CASES)
def test_an_error_at_any_call_is_told_and_can_be_repeated(name: str) -> None:
    case = CASES[name]()
    before, world = case.before, World(table=case.storage)
    course = course_of(world.copy(), case.do)
    for kind, at in course.faults()[::ERRORS]:
        failed = world.copy()
        raised = outcome(partial(failed.stop, case.do, Faults(kind, at)))
        what = f"{kind.name} at call {at}: {raised!r}"
        assert raised is None or isinstance(raised, HudiError), what
        seen = read_rows(failed.table)
        assert seen == case.after if raised is None else seen in (before, case.after), what
        bury(failed.table)
        case.again(failed.table)
        write_nothing(failed.table, clock_at(NOW_MS + 400_000))
        assert read_rows(failed.table) == case.after, what
        assert remains(failed.table) == [], what


@pytest.mark.parametrize("kind", TYPES)
def test_a_savepoint_is_there_or_not_wherever_making_or_deleting_it_stops(kind: str) -> None:
    storage, (saved, _) = written(kind, OLD, MORE)
    asked = {"create": {"user": "me"}, "delete": {}}
    for mode in ("create", "delete"):

        def act(table: Storage, _: Storage, mode: str = mode) -> None:
            savepoint(table, clock_at(NOW_MS + 9_000), mode=mode, instant=saved, **asked[mode])

        course = course_of(World(table=storage.copy()), act)
        for state in course.states:
            table = state.world.table
            names = [path for path in table.files if ".savepoint" in path]
            is_there = f".hoodie/{saved}.savepoint" in names
            assert is_there or not names, "no part of a savepoint is left alone"
            act(table, table)
            assert bool([p for p in table.files if ".savepoint" in p]) == (mode == "create")
        storage = course.states[-1].world.table


def test_readers_during_a_restore_see_the_table_before_it_or_the_savepoint() -> None:
    """Between any two calls, and a reader that has opened the table before errs by name."""
    for kind in TYPES:
        case = whole_restore(kind)
        before = case.before
        seen: list[Rows] = []

        def look(_: bool, storage: MemoryStorage = case.storage, into: list[Rows] = seen) -> None:
            into.append(read_rows(storage))

        World(table=case.storage).stop(case.do, Faults(before=look))
        switch = seen.index(case.after)
        assert seen == [before] * switch + [case.after] * (len(seen) - switch)
        assert 0 < switch < len(seen) // 2


def remains(storage: MemoryStorage) -> list[str]:
    """What nobody accounts for; log files whose blocks were taken back go with their slices."""
    dead = taken_back(storage)
    planned = [p for p in leftovers(storage) if p.startswith("pending compaction")]
    return [each for each in leftovers(storage) if each not in dead and each not in planned]


def taken_back(storage: MemoryStorage) -> set[str]:
    """Log files that have nothing but rollback blocks, or blocks that these take back."""
    said: dict[str, list[tuple[str, str | None]]] = {}
    for path in data_files(storage):
        if ".log." in path:
            with storage.open_input(path) as source:
                said[path] = [
                    (str(block.instant), block.header.get(HeaderKey.TARGET_INSTANT_TIME))
                    for block in iter_blocks(source, path)
                ]
    targets = {target for blocks in said.values() for _, target in blocks if target}
    gone = targets - {found.time for found in active_of(storage).load()}
    return {
        path for path, blocks in said.items() if all(at in gone or target for at, target in blocks)
    }


def data_names(storage: MemoryStorage) -> set[str]:
    """The data files, but those that only take blocks back: there may be more of them."""
    return data_files(storage) - taken_back(storage)
