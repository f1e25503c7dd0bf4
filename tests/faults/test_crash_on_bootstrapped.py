"""A write onto rows outside the table that fails, or dies, at any of its calls: all or nothing."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pyhudi.config.table import TableType
from pyhudi.jobs.compaction import COMPACTION_KIND
from pyhudi.storage.storage import Storage
from tests.faults.test_crash_in_write import DEATHS, try_deaths, try_errors
from tests.support.bootstrapped import Source, bootstrap
from tests.support.crash_cases import COPIED, GONE, LOGGED, MIXED, OLD, Act, Case
from tests.support.crashes import World, course_of
from tests.support.in_process import (
    CONFIG,
    NOW_MS,
    Options,
    Rows,
    cleaning,
    clock_at,
    compaction,
    options_of,
    orders,
    read_rows,
    write,
)
from tests.support.points import STEP

LOG: Rows = {("x", "a"): (2, "log"), ("x", "b"): (3, "log")}
KEPT: Rows = {key: row for key, row in OLD.items() if key != ("x", "a")}


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


def skeletons(folder: Path, table_type: str, log: Rows | None = None) -> World:
    """A table of skeletons of the old rows, and of rows in log files on top."""
    world = World()
    parts = {part: {k: row for k, row in OLD.items() if k[0] == part} for part, _ in OLD}
    sources = [
        Source(partition=part, rows=orders(rows).drop_columns(["part"]), group_rows=1)
        for part, rows in parts.items()
    ]
    bootstrap(world.table, folder, sources, replace(CONFIG, table_type=TableType(table_type)))
    if log:
        write(world.table, log, clock_at(), "upsert", unsized(table_type))
    return world


def unsized(table_type: str, **more: str) -> Options:
    """Updates of files, however small, go to log files where there are any."""
    return options_of(table_type, hoodie__parquet__small__file__limit="0", **more)


def writing(rows: Rows, operation: str, options: Options) -> Act:
    def act(table: Storage, _: Storage) -> None:
        write(table, rows, clock_at(NOW_MS + 10_000), operation, options)

    return act


def compacting(table: Storage, _: Storage) -> None:
    service = compaction(table, clock_at(NOW_MS + 10_000), COMPACTION_KIND)
    service.schedule_and_execute()


def cases(folder: Path) -> list[Case]:
    found = []
    for kind in (COPIED, LOGGED):
        for index in ("SIMPLE", "GLOBAL_BLOOM"):
            kept = OLD if index == "SIMPLE" else {k: r for k, r in OLD.items() if k != ("y", "c")}
            writes = (("upsert", MIXED, {**kept, **MIXED}), ("delete", GONE, KEPT))
            for operation, rows, after in writes:
                options = options_of(kind, index)
                found.append(
                    Case(
                        operation=operation,
                        table_type=kind,
                        index=index,
                        prepare=partial(skeletons, folder, kind),
                        act=writing(rows, operation, options),
                        before=OLD,
                        after=after,
                        options=options,
                    )
                )
    return found


NAMES = [case.name for case in cases(Path())]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_a_write_that_stops_anywhere_leaves_all_or_nothing(number: int, source: Path) -> None:
    stop_everywhere(cases(source)[number], number)


def test_a_compaction_that_stops_anywhere_loses_no_row(source: Path) -> None:
    rows = {**OLD, **LOG}
    case = Case(
        operation="compaction",
        table_type=LOGGED,
        index="SIMPLE",
        prepare=partial(skeletons, source, LOGGED, LOG),
        act=compacting,
        before=rows,
        after=rows,
        options=options_of(LOGGED),
    )
    stop_everywhere(case, 0)


def stop_everywhere(case: Case, number: int) -> None:
    world = case.prepare()
    assert read_rows(world.table) == case.before
    course = course_of(world.copy(), case.act)
    assert read_rows(course.states[-1].world.table) == case.after
    try_deaths(case, course, course.states[number % DEATHS :: DEATHS])
    errors = 17 * STEP
    try_errors(case, course, world, course.faults()[number % errors :: errors])


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
