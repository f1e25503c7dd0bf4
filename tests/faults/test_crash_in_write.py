"""A write or compaction that fails, or dies, at any of its calls: readers see all or nothing."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pyhudi.errors import ConflictError, HudiError
from pyhudi.table.create import create_table
from tests.support.crash_cases import MIXED, NEXT, OLD, Case, cases
from tests.support.crashes import Course, State, World, course_of
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.in_process import (
    CONFIG,
    NOW_MS,
    Rows,
    clock_at,
    data_files,
    leftovers,
    new_table,
    outcome,
    read_rows,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.reliability import PAGE, REWRITE, Stopped, all_cases, numbers_on_page, row_of

CASES = cases()
DEATHS, ERRORS = (1, 1) if IS_WHOLE else (3 * STEP, 13 * STEP)
"""Of the deaths and errors of a case, every so many-th is tried; which, differs among cases."""


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_stop_at_any_call_leaves_all_or_nothing(
    number: int, record_property: Callable[[str, object], None]
) -> None:
    case, world = CASES[number], CASES[number].prepare()
    assert read_rows(world.table) == case.before
    course = course_of(world.copy(), case.act)
    assert read_rows(course.states[-1].world.table) == case.after
    check_row(case, course)
    deaths, errors = (1, 1) if case.operation == "recovery" else (DEATHS, ERRORS)
    points = try_deaths(case, course, course.states[number % deaths :: deaths])
    points += try_errors(case, course, world, course.faults()[number % errors :: errors])
    record_property("points", points)


def check_row(case: Stopped, course: Course) -> None:
    """Refuse a page that counts otherwise."""
    told = PAGE.read_text(encoding="utf-8")
    assert IS_WHOLE or row_of(case, course) in told, f"{REWRITE} counts again what {PAGE.name} says"


def try_deaths(case: Case, course: Course, chosen: Sequence[State]) -> int:
    """How many deaths they stand for: those that leave the same files are looked at once."""
    for count, state in enumerate(chosen):
        world, what = state.world.copy(), f"death before call {state.at}"
        seen = read_rows(world.table)
        assert seen in (case.before, case.after), what
        bury(world.table)
        check_next(case, world, seen, count, what)
        check_gone(case, course, world, what)
    return course.calls if chosen == course.states else len(chosen)


def try_errors(
    case: Case, course: Course, before: World, chosen: Sequence[tuple[Fault, int]]
) -> int:
    """How many there are; each begins in the world of before."""
    for count, (kind, at) in enumerate(chosen):
        world = before.copy()
        raised = outcome(partial(world.stop, case.act, Faults(kind, at)))
        what = f"{kind.name} at call {at}: {raised!r}"
        assert raised is None or isinstance(raised, (HudiError, OSError)), what
        seen = read_rows(world.table)
        assert seen == (case.after if raised is None else case.before), what
        if case.is_compaction or case.is_clean or case.operation == "recovery":
            bury(world.table)  # its heartbeat may stay until the process ends
        check_next(case, world, seen, count, what)
        check_gone(case, course, world, what)
    return len(chosen)


def check_gone(case: Case, course: Course, world: World, what: str) -> None:
    """What a clean was to delete is deleted in the end."""
    if case.operation.startswith("clean"):
        first, last = course.states[0].world.table, course.states[-1].world.table
        assert not data_files(world.table) & (data_files(first) - data_files(last)), what


def check_next(case: Case, world: World, seen: Rows, count: int, what: str) -> None:
    """What comes after it finds whole rows, and leaves nothing that no commit accounts for."""
    added = case.go_on(world, count)
    assert read_rows(world.table) == {**seen, **added}, what
    assert leftovers(world.table, world.failed) == [], what


@pytest.mark.skipif(IS_WHOLE, reason="the page is about to be written")
def test_the_page_has_each_case_and_sums_them() -> None:
    *rows, total = numbers_on_page()
    assert len(rows) == sum(1 for _ in all_cases())
    assert total == [sum(column) for column in zip(*rows, strict=True)]


def test_a_dead_writer_of_another_machine_is_waited_for() -> None:
    """Only the age of its heartbeat tells, and meanwhile the table stays as it is."""
    storage, clock = new_table(), clock_at()
    write(storage, OLD, clock)
    storage.now_ms = clock.now_ms()
    dying = FaultyStorage(storage, Faults(Fault.DEATH, 60))
    assert isinstance(outcome(lambda: write(dying, MIXED, clock)), Killed)
    assert storage.below(".hoodie/.heartbeat")
    for path in storage.below(".hoodie/.heartbeat"):
        storage.put(path, b"")
    before = dict(storage.files)
    assert isinstance(outcome(lambda: write(storage, NEXT, clock)), ConflictError)
    assert storage.files == before
    clock.advance(120_001)
    write(storage, NEXT, clock)
    assert read_rows(storage) == {**OLD, **NEXT}
    assert leftovers(storage) == []


def test_a_table_whose_making_died_anywhere_can_be_made() -> None:
    whole = Faults()
    create_table(FaultyStorage(MemoryStorage(), whole), CONFIG)
    for at in range(1, whole.calls + 2):
        storage = MemoryStorage(now_ms=NOW_MS)
        dying = FaultyStorage(storage, Faults(Fault.DEATH, at))
        raised = outcome(partial(create_table, dying, CONFIG))
        if at > whole.calls:
            assert raised is None
        else:
            assert isinstance(raised, Killed)
            create_table(storage, CONFIG)
        write(storage, OLD, clock_at())
        assert read_rows(storage) == OLD
