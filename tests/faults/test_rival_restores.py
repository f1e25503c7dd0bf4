"""Rollbacks and restores while others write, save or undo, at every call of theirs."""

from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.storage.storage import Storage
from tests.support.crash_cases import COPIED, LOGGED
from tests.support.faulty import Visited
from tests.support.in_process import (
    NOW_MS,
    clock_at,
    outcome,
    read_rows,
    savepoint,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import STEP
from tests.support.undo_cases import (
    LAST,
    NEXT,
    OLD,
    UNDOING,
    UndoCase,
    Undoing,
    latest_write,
    remains,
    whole_restore,
)

Rival = Callable[[Storage], object]


def meet(case: Undoing, at: int, rival: Rival) -> tuple[MemoryStorage, object, object]:
    """Let a rival come before one of the calls; the table, and what each of both raised."""
    storage, raised = case.storage.copy(), [None]
    storage.now_ms = NOW_MS + 100_000  # or heartbeats are as old as the table

    def visit(number: int) -> None:
        if number == at:
            raised[0] = outcome(partial(rival, storage))

    own = outcome(lambda: case.do(Visited(storage, visit), storage))
    for each in (own, raised[0]):
        assert each is None or isinstance(each, (ConflictError, RequestError)), (at, each)
    return storage, own, raised[0]


def calls_of(case: Undoing) -> int:
    counted: list[int] = []
    storage = case.storage.copy()
    case.do(Visited(storage, counted.append), storage)
    return len(counted)


def write_next(storage: Storage) -> None:
    write(storage, NEXT, clock_at(NOW_MS + 150_000))


@pytest.mark.parametrize("kind", [COPIED, LOGGED])
def test_a_writer_that_meets_a_rollback_lands_before_it_or_after_it_or_is_told(kind: str) -> None:
    case, seen = latest_write(kind), set()
    for at in range(1, calls_of(case) + 1, STEP):
        storage, own, rival = meet(case, at, write_next)
        rows = {**OLD, **(LAST if own else {}), **({} if rival else NEXT)}
        assert read_rows(storage) == rows, (at, own, rival)
        write_nothing(storage, clock_at(NOW_MS + 200_000))
        assert read_rows(storage) == rows
        assert remains(storage) == []
        seen.add((own is None, rival is None))
    assert seen == {(True, True), (True, False), (False, True)}


@pytest.mark.parametrize("kind", [COPIED, LOGGED])
def test_a_write_that_is_rolled_back_has_no_savepoint_and_one_with_a_savepoint_stays(
    kind: str,
) -> None:
    case, seen = latest_write(kind), set()
    save = partial(savepoint, clock=clock_at(NOW_MS + 150_000), instant=case.instant)
    for at in range(1, calls_of(case) + 1, STEP):
        storage, own, rival = meet(case, at, save)
        is_saved = any(path.endswith(".savepoint") for path in storage.files)
        assert is_saved == (rival is None), (at, own, rival)
        assert not (own is None and is_saved), (at, own, rival)
        assert read_rows(storage) == (OLD if own is None else {**OLD, **LAST})
        seen.add((own is None, rival is None))
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize("undone", UNDOING, ids=[each.name for each in UNDOING])
def test_who_undoes_what_another_is_undoing_does_no_harm(undone: UndoCase) -> None:
    case = undone.make()
    for at in range(1, calls_of(case) + 1, 2 * STEP):
        storage, own, rival = meet(case, at, lambda table: case.act(table, NOW_MS + 150_000))
        assert own is None or rival is None, (at, own, rival)
        assert read_rows(storage) == case.after, (at, own, rival)
        write_nothing(storage, clock_at(NOW_MS + 200_000))
        assert remains(storage) == [], (at, own, rival)


@pytest.mark.parametrize("kind", [COPIED, LOGGED])
def test_a_writer_that_meets_a_restore_is_undone_by_it_or_lands_after_it_or_is_told(
    kind: str,
) -> None:
    case = whole_restore(kind)
    for at in range(1, calls_of(case) + 1, 2 * STEP):
        storage, own, rival = meet(case, at, write_next)
        assert own is None or isinstance(own, HudiError)
        if own is not None:
            continue
        found = read_rows(storage)
        assert found in (case.after, {**case.after, **NEXT}), (at, own, rival)
        assert rival is None or found == case.after, (at, own, rival)
        write_nothing(storage, clock_at(NOW_MS + 200_000))
        assert read_rows(storage) == found
        assert remains(storage) == []
