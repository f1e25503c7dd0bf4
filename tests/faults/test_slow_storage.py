"""A storage that gives no answer, or half of one."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest

from pyhudi.errors import CorruptTableError, HudiError, StorageError
from pyhudi.storage.storage import FileStatus, Storage
from tests.support.crash_cases import Case, cases
from tests.support.crashes import World
from tests.support.damaging import FIRST, SECOND, THIRD, tables
from tests.support.faulty import Fault, Faults, FaultyStorage, bury
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    leftovers,
    outcome,
    read_rows,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.undo_cases import UNDOING, UndoCase, Undoing, remains

TABLES = ("copy_on_write, SIMPLE", "merge_on_read, SIMPLE")
ROWS: Rows = {**FIRST, **SECOND, **THIRD}
NEXT: Rows = {("x", "a"): (9, "next"), ("z", "n"): (9, "next")}
TRIED = 1 if IS_WHOLE else 9 * STEP
ANSWERS = 1 if IS_WHOLE else 40 * STEP
"""Of the calls of a service, every so many-th is the first that gets no answer."""
HALVES = 1 if IS_WHOLE else 5 * STEP
"""Of its listings, every so many-th is half."""

_TRIED = {
    *("clean, run", "clean, run after a death", "clean, of an emptied partition", "archive"),
    *("upsert, write and clean", "upsert, write and archive", "recovery"),
}
SERVICES = [case for case in cases() if IS_WHOLE or case.operation in _TRIED]
SERVICES = SERVICES if IS_WHOLE else SERVICES[:: 2 * STEP - 1]
UNDONE = UNDOING if IS_WHOLE else UNDOING[:: 2 * STEP - 1]


Statuses = TypeVar("Statuses", list[FileStatus], tuple[FileStatus, ...])


class HalfListed(FaultyStorage):
    """One of the listings of data files ends midway, or begins there, and nobody says so."""

    def __init__(self, inner: MemoryStorage, at: int, *, is_end_lost: bool) -> None:
        super().__init__(inner, Faults())
        self.at, self.is_end_lost, self.listings = at, is_end_lost, 0

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        return self._part_of(super().walk(path, without))

    def _part_of(self, found: Statuses) -> Statuses:
        self.listings += 1
        if self.listings != self.at:
            return found
        middle = len(found) // 2
        return found[:middle] if self.is_end_lost else found[middle:]

    def list(self, path: str) -> list[FileStatus]:
        found = super().list(path)
        return found if path == ".hoodie" else self._part_of(found)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("is_end_lost", [True, False])
def test_half_of_a_listing_is_not_taken_for_the_whole(table: str, *, is_end_lost: bool) -> None:
    storage, at, told = tables()[table](), 0, 0
    while True:
        at += 1
        half = HalfListed(storage, at, is_end_lost=is_end_lost)
        raised = outcome(partial(read_rows, half))
        if half.listings < at:
            break
        assert raised is None or isinstance(raised, CorruptTableError), raised
        told += raised is not None
        if raised is None:
            assert read_rows(HalfListed(storage, at, is_end_lost=is_end_lost)) == ROWS
    assert told


@pytest.mark.parametrize("table", TABLES)
def test_a_read_of_a_storage_that_gives_no_answer_can_be_tried_again(table: str) -> None:
    storage, counted = tables()[table](), Faults()
    read_rows(FaultyStorage(storage, counted))
    for at in range(1, counted.calls + 1):
        raised = outcome(partial(read_rows, FaultyStorage(storage, Faults(Fault.TIMEOUT, at))))
        assert isinstance(raised, StorageError), (at, raised)
        assert raised.retryable


@pytest.mark.parametrize("table", TABLES)
def test_a_write_to_a_storage_that_gives_no_answer_leaves_the_rows_of_before(table: str) -> None:
    whole, counted = tables()[table](), Faults()
    write(FaultyStorage(whole.copy(), counted), NEXT, clock_at(NOW_MS + 60_000))
    for at in range(1, counted.calls + 1, TRIED):
        storage = whole.copy()
        slow = FaultyStorage(storage, Faults(Fault.TIMEOUT, at))
        raised = outcome(partial(write, slow, NEXT, clock_at(NOW_MS + 60_000)))
        committed = {**ROWS, **NEXT}
        # What comes after the commit point must not fail the write.
        assert read_rows(storage) == (committed if raised is None else ROWS), (at, raised)
        assert raised is None or isinstance(raised, (HudiError, OSError)), raised
        bury(storage)
        write(storage, NEXT, clock_at(NOW_MS + 120_000))
        assert (read_rows(storage), leftovers(storage)) == (committed, []), at


def check_service(
    case: Case, whole: World, number: int, stop: Callable[[MemoryStorage], Storage]
) -> None:
    """Stop a service on a storage; whoever comes next finds all rows, and leaves nothing behind."""
    world = whole.copy()
    raised = outcome(partial(case.act, stop(world.table), world.failed))
    assert raised is None or isinstance(raised, (HudiError, OSError)), (number, raised)
    seen = read_rows(world.table)
    assert seen in (case.before, case.after), (number, raised)
    bury(world.table)
    more = case.go_on(world, number)
    assert read_rows(world.table) == {**seen, **more}, (number, raised)
    assert leftovers(world.table, world.failed) == [], (number, raised)


def check_undoing(case: Undoing, number: int, stop: Callable[[MemoryStorage], Storage]) -> None:
    """The same of what takes writes back, which is done again."""
    storage, before = case.storage.copy(), case.before
    raised = outcome(partial(case.do, stop(storage), storage))
    assert raised is None or isinstance(raised, (HudiError, OSError)), (number, raised)
    assert read_rows(storage) in (before, case.after), (number, raised)
    bury(storage)
    case.again(storage)
    write_nothing(storage, clock_at(NOW_MS + 400_000))
    assert read_rows(storage) == case.after, (number, raised)
    assert remains(storage) == [], (number, raised)


def silent_from(at: int, storage: MemoryStorage) -> Storage:
    return FaultyStorage(storage, Faults(Fault.TIMEOUT, at))


def half_at(at: int, storage: MemoryStorage) -> Storage:
    """Alternately the beginning and the end of a listing."""
    return HalfListed(storage, at, is_end_lost=at % 2 == 0)


@pytest.mark.parametrize("number", range(len(SERVICES)), ids=[case.name for case in SERVICES])
def test_a_service_on_a_storage_that_fails_it_costs_no_row(number: int) -> None:
    """It gets no answer from one call on, or half of one listing, and nobody says so."""
    case, counted = SERVICES[number], Faults()
    world = case.prepare()
    halves = HalfListed(world.table.copy(), 0, is_end_lost=True)
    case.act(halves, world.failed.copy())
    world.copy().stop(case.act, counted)
    for at in range(1 + number % ANSWERS, counted.calls + 1, ANSWERS):
        check_service(case, world, at, partial(silent_from, at))
    for at in range(1 + number % HALVES, halves.listings + 1, HALVES):
        check_service(case, world, at, partial(half_at, at))


@pytest.mark.parametrize("number", range(len(UNDONE)), ids=[case.name for case in UNDONE])
def test_what_takes_back_on_a_storage_that_fails_it_is_done_again(number: int) -> None:
    found: UndoCase = UNDONE[number]
    case, counted = found.make(), Faults()
    halves = HalfListed(case.storage.copy(), 0, is_end_lost=True)
    case.do(halves, halves)
    case.do(FaultyStorage(case.storage.copy(), counted), halves)
    for at in range(1 + number % ANSWERS, counted.calls + 1, ANSWERS):
        check_undoing(case, at, partial(silent_from, at))
    for at in range(1 + number % HALVES, halves.listings + 1, HALVES):
        check_undoing(case, at, partial(half_at, at))


@pytest.mark.parametrize("is_end_lost", [True, False])
def test_a_folder_of_which_half_is_listed_is_not_deleted(*, is_end_lost: bool) -> None:
    """A writer of another kind has put a file into the partition that a clean has emptied."""
    (case,) = (each for each in cases() if each.name.startswith("clean,_of_an_emptied_partition-c"))
    whole, at, path = case.prepare(), 0, "x/zz.txt" if is_end_lost else "x/.aa.txt"
    while True:
        at += 1
        world = whole.copy()
        world.table.put(path, b"")
        half = HalfListed(world.table, at, is_end_lost=is_end_lost)
        outcome(partial(case.act, half, world.failed))
        if half.listings < at:
            break
        assert world.table.exists(path), at


@pytest.mark.parametrize("is_end_lost", [True, False])
def test_what_a_dead_write_left_is_found_by_a_second_look(*, is_end_lost: bool) -> None:
    """Its files would count as the table's once later instants are archived."""
    for case in (each for each in cases() if each.operation == "recovery"):
        world = case.prepare()
        for at in range(1, 9, 1 if IS_WHOLE else 2):
            check_service(case, world, at, partial(HalfListed, at=at, is_end_lost=is_end_lost))
