"""A storage that gives no answer, or half of one."""

from functools import partial
from typing import TypeVar

import pytest

from pyhudi.errors import CorruptTableError, HudiError, StorageError
from pyhudi.storage.storage import FileStatus
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
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP

TABLES = ("copy_on_write, SIMPLE", "merge_on_read, SIMPLE")
ROWS: Rows = {**FIRST, **SECOND, **THIRD}
NEXT: Rows = {("x", "a"): (9, "next"), ("z", "n"): (9, "next")}
TRIED = 1 if IS_WHOLE else 9 * STEP


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
