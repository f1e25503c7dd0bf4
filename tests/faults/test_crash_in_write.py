"""A write that fails, or dies, at any of its calls: readers see all of it or nothing."""

from __future__ import annotations

from functools import partial

import pytest

from pyhudi.errors import ConflictError, HudiError
from pyhudi.table.create import create_table
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.memory import MemoryStorage
from tests.support.plain_write import (
    CONFIG,
    MERGE_ON_READ,
    Rows,
    clock_at,
    leftovers,
    new_table,
    outcome,
    read_rows,
    upsert,
)

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
# An update, an insert into an old file, and a new partition.
BATCH: Rows = {("x", "a"): (2, "new"), ("x", "d"): (2, "new"), ("z", "e"): (2, "new")}
NEXT: Rows = {("x", "b"): (3, "next"), ("z", "f"): (3, "next")}


@pytest.fixture(scope="module", params=[CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
def written(request: pytest.FixtureRequest) -> MemoryStorage:
    storage = new_table(request.param)
    upsert(storage, OLD, clock_at())
    return storage


def calls_of_a_write(storage: MemoryStorage) -> int:
    faults = Faults()
    upsert(FaultyStorage(storage.copy(), faults), BATCH, clock_at())
    return faults.calls


@pytest.mark.parametrize("kind", [kind for kind in Fault if kind is not Fault.NONE])
def test_a_write_that_stops_anywhere_is_seen_whole_or_not_at_all(
    written: MemoryStorage, kind: Fault
) -> None:
    total = calls_of_a_write(written)
    assert total > 40
    for at in range(1, total + 1):
        storage = written.copy()
        raised = outcome(
            lambda at=at, storage=storage: upsert(
                FaultyStorage(storage, Faults(kind, at)), BATCH, clock_at()
            )
        )
        check_state(storage, raised, f"{kind.name} at call {at}: {raised!r}", kind)


def check_state(
    storage: MemoryStorage, raised: BaseException | None, what: str, kind: Fault
) -> None:
    assert raised is None or isinstance(raised, (HudiError, Killed, OSError)), what
    seen = read_rows(storage)
    assert seen in (OLD, {**OLD, **BATCH}), what
    if raised is None:
        assert seen == {**OLD, **BATCH}, what
    elif not isinstance(raised, Killed):
        assert seen == OLD, what
    if kind is Fault.DEATH:
        bury(storage)
    upsert(storage, NEXT, clock_at())
    assert read_rows(storage) == {**seen, **NEXT}, what
    assert leftovers(storage) == [], what


def test_a_first_write_that_dies_anywhere_leaves_an_empty_table() -> None:
    faults = Faults()
    upsert(FaultyStorage(new_table(), faults), OLD, clock_at())
    for at in range(1, faults.calls + 1):
        storage = new_table()
        raised = outcome(
            lambda at=at, storage=storage: upsert(
                FaultyStorage(storage, Faults(Fault.DEATH, at)), OLD, clock_at()
            )
        )
        assert isinstance(raised, Killed)
        seen = read_rows(storage)
        assert seen in ({}, OLD)
        bury(storage)
        upsert(storage, NEXT, clock_at())
        assert read_rows(storage) == {**seen, **NEXT}, at
        assert leftovers(storage) == [], at


def test_a_dead_writer_of_another_machine_is_waited_for(written: MemoryStorage) -> None:
    """Only the age of its heartbeat tells, and meanwhile the table stays as it is."""
    storage, clock = written.copy(), clock_at()
    storage.now_ms = clock.now_ms()
    faults = Faults(Fault.DEATH, calls_of_a_write(written) // 2)
    assert isinstance(outcome(lambda: upsert(FaultyStorage(storage, faults), BATCH, clock)), Killed)
    bury(storage)
    for path in storage.below(".hoodie/.heartbeat"):
        storage.put(path, b"")
    before = dict(storage.files)
    assert isinstance(outcome(lambda: upsert(storage, NEXT, clock)), ConflictError)
    assert storage.files == before
    clock.advance(120_001)
    upsert(storage, NEXT, clock)
    assert read_rows(storage) == {**OLD, **NEXT}
    assert leftovers(storage) == []


def test_a_table_whose_making_died_anywhere_can_be_made() -> None:
    whole = Faults()
    create_table(FaultyStorage(MemoryStorage(), whole), CONFIG)
    for at in range(1, whole.calls + 2):
        storage = MemoryStorage()
        dying = FaultyStorage(storage, Faults(Fault.DEATH, at))
        raised = outcome(partial(create_table, dying, CONFIG))
        if at > whole.calls:
            assert raised is None
        else:
            assert isinstance(raised, Killed)
            create_table(storage, CONFIG)
        upsert(storage, OLD, clock_at())
        assert read_rows(storage) == OLD
