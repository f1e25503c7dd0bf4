"""A rollback, savepoint or restore that dies or fails at any call: all of it is done, or none."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pyhudi.errors import HudiError
from pyhudi.storage.storage import Storage
from tests.faults.test_crash_in_write import check_row
from tests.support.crash_cases import COPIED, LOGGED
from tests.support.crashes import Course, State, World, course_of
from tests.support.faulty import Fault, Faults, bury
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    outcome,
    read_rows,
    savepoint,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.undo_cases import (
    MORE,
    NEXT,
    OLD,
    UNDOING,
    Undoing,
    data_names,
    remains,
    whole_restore,
    written,
)

DEATHS, ERRORS = (1, 1) if IS_WHOLE else (3 * STEP, 9 * STEP)
"""Of the deaths and errors of a case, every so many-th is tried; which, differs among cases."""


@pytest.mark.parametrize("number", range(len(UNDOING)), ids=[case.name for case in UNDOING])
def test_a_stop_at_any_call_leaves_the_state_before_or_after(
    number: int, record_property: Callable[[str, object], None]
) -> None:
    found = UNDOING[number]
    case = found.make()
    course = course_of(World(table=case.storage.copy()), case.do)
    check_row(found, course)
    whole = course.states[-1].world.table
    assert read_rows(whole) == case.after
    assert remains(whole) == []
    points = try_deaths(case, course, course.states[number % DEATHS :: DEATHS])
    points += try_errors(case, course.faults()[number % ERRORS :: ERRORS])
    record_property("points", points)


def try_deaths(case: Undoing, course: Course, chosen: Sequence[State]) -> int:
    """How many deaths they stand for: those that leave the same files are looked at once."""
    before, whole = case.before, course.states[-1].world.table
    for number, state in enumerate(chosen):
        what = f"death before call {state.at}"
        seen = read_rows(state.world.table)
        assert seen in (before, case.after), what
        is_undone = seen == case.after != before
        others, same = state.world.table.copy(), state.world.table.copy()
        bury(others)
        bury(same)
        check_others_go_on(others, [case.after] if is_undone else [before, case.after], what)
        if number % 2:
            case.again(same)
            write_nothing(same, clock_at(NOW_MS + 400_000))
            assert read_rows(same) == case.after, what
            assert remains(same) == [], what
            assert data_names(same) == data_names(whole), what
    return course.calls if chosen == course.states else len(chosen)


def check_others_go_on(storage: MemoryStorage, allowed: list[Rows], what: str) -> None:
    clock = clock_at(NOW_MS + 200_000)
    write_nothing(storage, clock)
    found = read_rows(storage)
    assert found in allowed, what
    assert remains(storage) == [], what
    write(storage, NEXT, clock)
    assert read_rows(storage) == {**found, **NEXT}, what


def try_errors(case: Undoing, chosen: Sequence[tuple[Fault, int]]) -> int:
    """How many there are; each is told, and what failed can be done again."""
    before = case.before
    for kind, at in chosen:
        failed = World(table=case.storage.copy())
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
    return len(chosen)


@pytest.mark.parametrize("kind", [COPIED, LOGGED])
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
    for kind in (COPIED, LOGGED):
        case = whole_restore(kind)
        before = case.before
        seen: list[Rows] = []

        def look(_: bool, storage: MemoryStorage = case.storage, into: list[Rows] = seen) -> None:
            into.append(read_rows(storage))

        World(table=case.storage).stop(case.do, Faults(before=look))
        switch = seen.index(case.after)
        assert seen == [before] * switch + [case.after] * (len(seen) - switch)
        assert 0 < switch < len(seen) // 2
