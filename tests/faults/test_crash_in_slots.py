"""A slot that is written again, stopped anywhere: its rows are there once, and others' always."""

from functools import partial

import pytest

from pyhudi.storage.storage import Storage
from tests.support.crashes import World, course_of
from tests.support.faulty import Faults, bury
from tests.support.in_process import (
    NOW_MS,
    Options,
    Rows,
    clock_at,
    leftovers,
    options_of,
    outcome,
    read_rows,
    write,
    write_nothing,
)
from tests.support.points import STEP

SLOT: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
OTHERS: Rows = {("x", "o"): (1, "others"), ("z", "p"): (1, "others")}
AGAIN: Rows = {("x", "a"): (1, "again"), ("w", "d"): (1, "again")}
BEFORE, AFTER = {**SLOT, **OTHERS}, {**OTHERS, **AGAIN}


def asked(table_type: str, key: str, slot: str = "january") -> Options:
    return options_of(table_type, pyhudi__slot__key=slot, pyhudi__idempotency__key=key)


def prepared(table_type: str) -> World:
    """Others' rows lie in the files of the slot."""
    world, clock = World(), clock_at()
    write(world.table, SLOT, clock, "insert", asked(table_type, "1"))
    write(world.table, OTHERS, clock, "insert", asked(table_type, "2", "february"))
    return world


def again(table_type: str, table: Storage, _: Storage | None = None, at: int = 10_000) -> None:
    write(table, AGAIN, clock_at(NOW_MS + at), "insert", asked(table_type, "3"))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_stop_at_any_call_and_the_same_request_leave_one_commit(table_type: str) -> None:
    course = course_of(prepared(table_type), partial(again, table_type))
    assert read_rows(course.states[-1].world.table) == AFTER
    for state in course.states[:: 2 * STEP]:
        world, what = state.world.copy(), f"death before call {state.at}"
        assert read_rows(world.table) in (BEFORE, AFTER), what
        bury(world.table)
        again(table_type, world.table, at=60_000)
        assert read_rows(world.table) == AFTER, what
        assert commits_of(world, "3") == 1, what
        write_nothing(world.table, clock_at(NOW_MS + 90_000))
        assert leftovers(world.table) == [], what


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_an_error_at_any_call_leaves_all_or_nothing(table_type: str) -> None:
    before = prepared(table_type)
    course = course_of(before.copy(), partial(again, table_type))
    for kind, at in course.faults()[:: 7 * STEP]:
        world = before.copy()
        raised = outcome(partial(world.stop, partial(again, table_type), Faults(kind, at)))
        what = f"{kind.name} at call {at}: {raised!r}"
        assert read_rows(world.table) == (AFTER if raised is None else BEFORE), what
        bury(world.table)
        again(table_type, world.table, at=60_000)
        assert (read_rows(world.table), commits_of(world, "3")) == (AFTER, 1), what


def commits_of(world: World, key: str) -> int:
    """How many completed instants carry an idempotency key."""
    ends = (".commit", ".deltacommit", ".replacecommit")
    stamp = f'"pyhudi.idempotency.key" : "{key}"'.replace(" ", "").encode()
    return sum(
        stamp in data.replace(b" ", b"")
        for path, data in world.table.files.items()
        if path.endswith(ends)
    )
