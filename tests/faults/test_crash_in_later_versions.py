"""The crash tests on tables of versions 8 and 9, whose completed files are named by their end."""

from pathlib import Path

import pytest

from tests.faults import test_crash_in_bootstrap as bootstrapping
from tests.faults import test_crash_in_restore as restoring
from tests.faults import test_crash_in_write as writing
from tests.support import datasets, orders
from tests.support.bootstrap_courses import BOOTSTRAPS, cases_on_skeletons
from tests.support.crash_cases import COPIED, LOGGED, Case, cases
from tests.support.crashes import World, course_of
from tests.support.in_process import read_rows
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.undo_cases import UNDOING, UndoCase, remains

VERSION = "hoodie.write.table.version"
DEATHS, ERRORS = (1, 1) if IS_WHOLE else (3 * STEP, 13 * STEP)
"""Of the deaths and errors of a case, every so many-th is tried; which, differs among cases."""
RARER = {COPIED: 1, LOGGED: 1 if IS_WHOLE else 3}
"""Merge-on-read tables end instants as the others do, and have fewer of theirs tried."""


def is_tried(case: Case) -> bool:
    is_plain = case.index == "SIMPLE" or case.operation.startswith("upsert")
    return is_plain and "archive" not in case.operation  # which has tests of its own


WRITES = [(number, case.name) for number, case in enumerate(cases()) if is_tried(case)]
UNDONE = list(UNDOING)
EIGHT = (
    "upsert-",
    "recovery",
    "clean,_run-",
    "compaction,_run-",
    "restore-copy",
    "savepoint,_created",
)
"""The beginnings of the cases that are tried in version 8 too, which ends instants as 9 does."""


def versioned(names: list[str]) -> list[tuple[str, int]]:
    chosen = [("9", number) for number in range(len(names))]
    eight = [number for number, name in enumerate(names) if name.startswith(EIGHT)]
    return [*chosen, *(("8", number) for number in eight)]


def ids(names: list[str]) -> list[str]:
    return [f"{version}-{names[number]}" for version, number in versioned(names)]


OF_BOTH = [number for number, case in enumerate(BOOTSTRAPS) if IS_WHOLE or "both" in case.name]
ON_SKELETONS = [
    number for number, case in enumerate(cases_on_skeletons(Path())) if case.index == "SIMPLE"
]
WRITE_NAMES, UNDO_NAMES = [name for _, name in WRITES], [found.name for found in UNDONE]


def check_version(storage: MemoryStorage, version: str) -> None:
    said = storage.files[".hoodie/hoodie.properties"].decode()
    assert f"hoodie.table.version={version}\n" in said
    ended = [path for path in storage.below(".hoodie/timeline") if "_" in path]
    assert ended


@pytest.mark.parametrize(("version", "number"), versioned(WRITE_NAMES), ids=ids(WRITE_NAMES))
def test_a_stop_at_any_call_leaves_all_or_nothing(
    version: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(orders.OPTIONS, VERSION, version)
    case: Case = cases()[WRITES[number][0]]
    world = case.prepare()
    assert read_rows(world.table) == case.before
    course = course_of(world.copy(), case.act)
    whole = course.states[-1].world.table
    assert read_rows(whole) == case.after
    check_version(whole, version)
    deaths, errors = (1, 1) if case.operation == "recovery" else (DEATHS, ERRORS)
    rarer = RARER[case.table_type]
    deaths, errors = deaths * rarer, errors * rarer
    writing.try_deaths(case, course, course.states[number % deaths :: deaths])
    writing.try_errors(case, course, world, course.faults()[number % errors :: errors])


@pytest.mark.parametrize(("version", "number"), versioned(UNDO_NAMES), ids=ids(UNDO_NAMES))
def test_a_stop_at_any_call_leaves_the_state_before_or_after(
    version: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(orders.OPTIONS, VERSION, version)
    found: UndoCase = UNDONE[number]
    case = found.make()
    course = course_of(World(table=case.storage.copy()), case.do)
    whole = course.states[-1].world.table
    assert read_rows(whole) == case.after
    assert remains(whole) == []
    check_version(whole, version)
    deaths, errors = DEATHS * RARER[found.table_type], ERRORS * RARER[found.table_type]
    restoring.try_deaths(case, course, course.states[number % deaths :: deaths])
    restoring.try_errors(case, course.faults()[number % errors :: errors])


@pytest.mark.parametrize("number", OF_BOTH, ids=[BOOTSTRAPS[number].name for number in OF_BOTH])
def test_a_bootstrap_that_stops_at_any_call_leaves_all_or_nothing(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(datasets.SMALL_BLOOMS, VERSION, "89"[number % 2])
    case = BOOTSTRAPS[number]
    before = case.prepare()
    course = course_of(before.copy(), case.act)
    whole = course.states[-1].world
    bootstrapping.check_whole(whole, "undisturbed")
    check_version(whole.table, "89"[number % 2])
    deaths, errors = (1, 1) if IS_WHOLE else (6 * DEATHS, 6 * ERRORS)
    chosen = course.states[number % deaths :: deaths], course.faults()[number % errors :: errors]
    bootstrapping.try_stops(case, before, *chosen)


@pytest.mark.parametrize("number", ON_SKELETONS)
def test_a_write_onto_skeletons_that_stops_at_any_call_leaves_all_or_nothing(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(orders.OPTIONS, VERSION, "89"[number % 2])
    case = cases_on_skeletons(tmp_path)[number]
    world = case.prepare()
    assert read_rows(world.table) == case.before
    course = course_of(world.copy(), case.act)
    whole = course.states[-1].world.table
    assert read_rows(whole) == case.after
    check_version(whole, "89"[number % 2])
    deaths, errors = (1, 1) if IS_WHOLE else (3 * DEATHS, 3 * ERRORS)
    writing.try_deaths(case, course, course.states[number % deaths :: deaths])
    writing.try_errors(case, course, world, course.faults()[number % errors :: errors])
