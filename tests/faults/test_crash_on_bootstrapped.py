"""A write onto rows outside the table that fails, or dies, at any of its calls: all or nothing."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyhudi.storage.storage import Storage
from tests.faults.test_crash_in_write import DEATHS, check_row, try_deaths, try_errors
from tests.support.bootstrap_courses import cases_on_skeletons, skeletons
from tests.support.crash_cases import COPIED, OLD
from tests.support.crashes import World, course_of
from tests.support.in_process import NOW_MS, Rows, cleaning, clock_at, options_of, read_rows, write
from tests.support.points import IS_WHOLE, STEP

ERRORS = 1 if IS_WHOLE else 17 * STEP


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the rows lie; they are the same at the end."""
    folder = tmp_path_factory.mktemp("source")
    skeletons(folder, COPIED)
    before = hashes(folder)
    yield folder
    assert hashes(folder) == before


def hashes(folder: Path) -> dict[str, str]:
    files = folder.rglob("*.parquet")
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


NAMES = [case.name for case in cases_on_skeletons(Path())]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_what_stops_anywhere_leaves_all_or_nothing(
    number: int, source: Path, record_property: Callable[[str, object], None]
) -> None:
    case = cases_on_skeletons(source)[number]
    world = case.prepare()
    assert read_rows(world.table) == case.before
    course = course_of(world.copy(), case.act)
    assert read_rows(course.states[-1].world.table) == case.after
    check_row(case, course)
    points = try_deaths(case, course, course.states[number % DEATHS :: DEATHS])
    points += try_errors(case, course, world, course.faults()[number % ERRORS :: ERRORS])
    record_property("points", points)


def test_a_clean_that_dies_anywhere_deletes_no_source_that_is_read(tmp_path: Path) -> None:
    deleting = {
        "hoodie__clean__commits__retained": "1",
        "hoodie__clean__delete__bootstrap__base__file": "true",
    }
    quiet = options_of(COPIED, hoodie__clean__automatic="false")

    def aged() -> World:
        world = skeletons(tmp_path, COPIED)
        for ts in (2, 3, 4):
            rows: Rows = {("y", "c"): (ts, "later")}
            write(world.table, rows, clock_at(NOW_MS + 1000 * ts), "upsert", quiet)
        return world

    def act(table: Storage, _: Storage) -> None:
        cleaning(table, clock_at(NOW_MS + 20_000), **deleting).schedule_and_execute()

    after = {**OLD, ("y", "c"): (4, "later")}
    course = course_of(aged(), act)
    assert sorted(path.parent.name for path in tmp_path.rglob("*.parquet")) == ["x"]
    for state in course.states:
        world = state.world.copy()
        assert read_rows(world.table) == after
        act(world.table, world.failed)
        assert read_rows(world.table) == after
        assert sorted(path.parent.name for path in tmp_path.rglob("*.parquet")) == ["x"]
