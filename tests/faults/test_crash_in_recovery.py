"""A recovery that fails, or dies, at any of its calls: the next one goes on from there."""

import pytest

from pyhudi.services.recovery import recover
from tests.support.faulty import Fault, Faults, FaultyStorage
from tests.support.in_process import (
    Rows,
    clock_at,
    data_files,
    dead_write,
    leftovers,
    new_table,
    outcome,
    read_rows,
    write,
    writer_on,
)
from tests.support.memory import MemoryStorage

OLD: Rows = {("x", "a"): (1, "old"), ("y", "c"): (1, "old")}
BATCH: Rows = {("x", "a"): (2, "new"), ("z", "e"): (2, "new")}
NEXT: Rows = {("x", "b"): (3, "next")}


@pytest.fixture(scope="module")
def killed() -> MemoryStorage:
    """Everything of the write is there but its completed instant."""
    storage = new_table()
    write(storage, OLD, clock_at())
    dead_write(storage, BATCH, clock_at())
    assert len(data_files(storage)) == 4
    return storage


def recover_on(storage: MemoryStorage, faults: Faults) -> None:
    recover(writer_on(FaultyStorage(storage, faults), clock_at()))


def test_a_recovery_that_dies_twice_is_finished_by_the_third(killed: MemoryStorage) -> None:
    for first in range(1, 30, 3):
        once = killed.copy()
        outcome(lambda at=first, storage=once: recover_on(storage, Faults(Fault.DEATH, at)))
        for second in range(1, 30, 2):
            storage = once.copy()
            faults = Faults(Fault.DEATH, second)
            outcome(lambda faults=faults, storage=storage: recover_on(storage, faults))
            recover_on(storage, Faults())
            assert leftovers(storage) == [], (first, second)
            assert read_rows(storage) == OLD


def test_a_full_disk_gives_way_to_the_rollback_of_what_filled_it(killed: MemoryStorage) -> None:
    """The plan is written once the files of the failed write are gone."""
    storage = killed.copy()
    size = sum(map(len, storage.files.values()))

    class Full(FaultyStorage):
        def create(self, path: str, data: bytes) -> None:
            if sum(map(len, self.inner.files.values())) + len(data) > size:
                self.faults.kind, self.faults.at = Fault.ERROR, self.faults.calls + 1
            super().create(path, data)

    recover(writer_on(Full(storage, Faults()), clock_at()))
    assert leftovers(storage) == []
    assert read_rows(storage) == OLD
