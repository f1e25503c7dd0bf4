"""Savepoints and restores where writers go on beside each other."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from pyhudi.errors import LockError, LostLockError, WriterAtWorkError
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.timeline.instant import Action
from tests.support.clocks import FakeClock
from tests.support.faulty import bury
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    Rows,
    Surroundings,
    cleaning,
    clock_at,
    compaction,
    dead_write,
    new_table,
    outcome,
    read_rows,
    restore,
    savepoint,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import WAIT
from tests.support.rivals import (
    SEVERAL,
    WRITTEN,
    LossyLock,
    Meanwhile,
    optimistic,
    write_under,
)
from tests.support.timelines import active_of
from tests.support.undo_cases import remains

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
LATER: Rows = {("x", "a"): (2, "later"), ("z", "d"): (2, "later")}
LAST: Rows = {("x", "b"): (3, "last"), ("y", "c"): (3, "last")}
FRESH: Rows = {("x", "a"): (8, "fresh"), ("z", "d"): (8, "fresh")}
NEXT: Rows = {("x", "b"): (9, "next"), ("w", "e"): (9, "next")}
ALONE_IN_LINE = {**SEVERAL, WAIT: "0"}
NAMED = {key.replace(".", "__"): value for key, value in SEVERAL.items()}


def made(table_type: str) -> tuple[MemoryStorage, FakeClock, str]:
    """A table with a savepoint and two writes after it."""
    storage = new_table(CONFIG if table_type == TYPES[0] else MERGE_ON_READ)
    clock, options = clock_at(), optimistic(table_type)
    write(storage, OLD, clock, options=options)
    saved = savepoint(storage, clock, options=SEVERAL)
    assert (saved.status, saved.files) == ("committed", {"saved": 2})
    for rows in (LATER, LAST):
        write(storage, rows, clock, options=options)
    return storage, clock, str(saved.instant)


def go_on(storage: MemoryStorage, clock: FakeClock, table_type: str) -> None:
    """The next writer finds the table as it was saved, and nothing that nobody accounts for."""
    clock.advance(300_000)
    before = read_rows(storage)
    write(storage, NEXT, clock, options=optimistic(table_type))
    cleaning(storage, clock, **NAMED).schedule_and_execute()
    assert read_rows(storage) == {**before, **NEXT}
    assert remains(storage) == []


@pytest.mark.parametrize("is_dead", [False, True], ids=["completed writes", "a dead write"])
@pytest.mark.parametrize("table_type", TYPES)
def test_what_came_after_a_savepoint_is_taken_back(table_type: str, is_dead: bool) -> None:
    storage, clock, saved = made(table_type)
    if table_type == TYPES[1]:
        compaction(storage, clock, **NAMED).schedule_and_execute()
    if is_dead:
        dead_write(storage, LATER, clock)
    assert restore(storage, clock, saved, SEVERAL).status == "committed"
    assert read_rows(storage) == OLD
    assert restore(storage, clock, saved, SEVERAL).status == "already_committed"
    assert savepoint(storage, clock, options=SEVERAL, mode="delete", instant=saved).instant == saved
    go_on(storage, clock, table_type)


@pytest.mark.parametrize("table_type", TYPES)
def test_a_writer_that_slept_while_it_was_undone_writes_again_on_what_was_restored(
    table_type: str,
) -> None:
    storage, clock, saved = made(table_type)

    def restore_what_seems_dead() -> None:
        clock.advance(200_000)
        bury(storage)
        restore(storage, clock, saved, SEVERAL)

    late = Meanwhile(storage, restore_what_seems_dead, before=WRITTEN)
    done = write(late, FRESH, clock, options=optimistic(table_type))
    assert (done.status, done.conflicts) == ("committed", 1)
    assert read_rows(storage) == {**OLD, **FRESH}
    go_on(storage, clock, table_type)


REQUEST, *LATER_ON = MOMENTS = (
    (".restore.requested", 0),
    (".restore.inflight", 0),
    (".rollback.requested", 0),
    (".restore", 2),
)
"""When a rival comes: before the first file whose name has this, or so many later."""


def begun_meanwhile(
    storage: MemoryStorage,
    clock: FakeClock,
    saved: str,
    rival: Callable[[], object],
    at: tuple[str, int],
) -> tuple[BaseException | None, BaseException | None]:
    """A restore, and a rival before one of its files is made: what each of both raised."""
    raised: list[BaseException | None] = []
    before, skips = at
    beside = Meanwhile(storage, lambda: raised.append(outcome(rival)), before=before, skips=skips)
    own = outcome(lambda: restore(beside, clock, saved, ALONE_IN_LINE))
    (rivals,) = raised
    return own, rivals


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize("table_type", TYPES)
def test_nobody_begins_while_a_table_is_restored(table_type: str, at: tuple[str, int]) -> None:
    storage, clock, saved = made(table_type)
    rival = partial(write, storage, NEXT, clock, options=optimistic(table_type))
    own, other = begun_meanwhile(storage, clock, saved, rival, at)
    assert own is None
    assert isinstance(other, LockError)
    assert read_rows(storage) == OLD
    go_on(storage, clock, table_type)


@pytest.mark.parametrize("table_type", TYPES)
def test_what_was_written_before_a_restore_was_there_to_be_seen_stays(table_type: str) -> None:
    """The restore has lost the lock, and its plan knows nothing of it."""
    storage, clock, saved = made(table_type)
    rival = partial(write_under, LossyLock(), storage, NEXT, clock, optimistic(table_type))
    own, other = begun_meanwhile(storage, clock, saved, rival, REQUEST)
    assert isinstance(own, WriterAtWorkError)
    assert "retry, which takes that back too" in str(own)
    assert other is None
    assert read_rows(storage) == {**OLD, **LATER, **LAST, **NEXT}
    assert not [each for each in active_of(storage).load() if each.action is Action.RESTORE]
    assert restore(storage, clock, saved, SEVERAL).status == "committed"
    assert read_rows(storage) == OLD
    go_on(storage, clock, table_type)


@pytest.mark.parametrize("at", LATER_ON)
@pytest.mark.parametrize("table_type", TYPES)
def test_who_comes_though_a_table_is_restored_finishes_that_first(
    table_type: str, at: tuple[str, int]
) -> None:
    storage, clock, saved = made(table_type)
    rival = partial(write_under, LossyLock(), storage, NEXT, clock, optimistic(table_type))
    own, other = begun_meanwhile(storage, clock, saved, rival, at)
    assert (own, other) == (None, None)
    assert read_rows(storage) == {**OLD, **NEXT}
    assert list(active_of(storage).load().pending()) == []
    go_on(storage, clock, table_type)


def test_a_restore_that_lost_the_lock_begins_nothing() -> None:
    storage, clock, saved = made(TYPES[0])
    before = dict(storage.files)
    environment = Surroundings(clock).environment(storage)
    lossy = replace(environment, open_lock=lambda *_: LossyLock(lost=1))
    request = RestoreRequest(base_path=storage.uri, instant=saved, hoodie_conf=ALONE_IN_LINE)
    with pytest.raises(LostLockError):
        restore_table(lossy, request)
    assert storage.files == before
