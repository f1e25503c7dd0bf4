"""Cleans beside savepoints and rollbacks of completed writes, in every order: no file is missed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pytest

from pyhudi.errors import ConflictError, CorruptTableError, MissingFileError, RequestError
from pyhudi.services.clean import pending_cleans
from pyhudi.storage.storage import Storage
from pyhudi.table.savepoints import saved_files
from pyhudi.table.table import load_table
from tests.faults.test_crash_in_restore import remains
from tests.support.crash_cases import COPIED, LOGGED, aged, clean_died
from tests.support.faulty import Visited
from tests.support.in_process import (
    NOW_MS,
    Options,
    cleaning,
    clock_at,
    data_files,
    outcome,
    read_rows,
    roll_back,
    savepoint,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.schedule import run_in_turns

pytestmark = pytest.mark.usefixtures("no_waiting")

TABLE_TYPES = pytest.mark.parametrize("table_type", [COPIED, LOGGED])
CLEANED, RIVAL, AFTER = NOW_MS + 10_000, NOW_MS + 11_000, NOW_MS + 400_000_000
VERSIONS = {"hoodie__clean__policy": "KEEP_LATEST_FILE_VERSIONS"}
ONE_VERSION = {**VERSIONS, "hoodie__clean__fileversions__retained": "1"}
POLICIES = pytest.mark.parametrize("policy", [{}, ONE_VERSION], ids=["commits", "versions"])

CALLS = 1 if IS_WHOLE else 2 * STEP
"""A rival comes before every so many-th call."""

Refusal: TypeAlias = ConflictError | RequestError
Act: TypeAlias = Callable[[Storage], object]


def clean(storage: Storage, policy: Options, now_ms: int = CLEANED) -> object:
    return cleaning(storage, clock_at(now_ms), **policy).schedule_and_execute()


def commits(storage: Storage) -> list[str]:
    return [each.time for each in load_table(storage).timeline.write_instants().completed()]


def worlds(table_type: str, policy: Options) -> list[MemoryStorage]:
    """A table to be cleaned, one whose clean is planned, and one whose clean died midway."""
    fresh = aged(table_type).table
    planned = fresh.copy()
    cleaning(planned, clock_at(CLEANED - 5_000), **policy).schedule()
    assert pending_cleans(load_table(planned))
    return [fresh, planned, *([] if policy else [clean_died(table_type).table])]


@dataclass(frozen=True)
class Met:
    """A table after a clean and a rival of it, and what the rival raised."""

    storage: MemoryStorage
    raised: BaseException | None
    order: object


def meetings(before: MemoryStorage, act: Act, rival: Act) -> list[Met]:
    """Each of both between any two calls of the other, and both taking turns."""
    found: list[Met] = []
    before.now_ms = CLEANED  # or heartbeats are as old as the table
    for outer, inner in ((act, rival), (rival, act)):
        at = calls = 1
        while at <= calls:
            storage, raised = before.copy(), list[BaseException | None]()

            def visit(call: int, storage: MemoryStorage = storage, at: int = at) -> None:
                if call == at:
                    raised.append(outcome(partial(inner, storage)))  # noqa: B023 - called at once

            visited = Visited(storage, visit)
            own = outcome(partial(outer, visited))
            calls = visited.calls
            if raised:
                theirs, ours = (raised[0], own) if inner is rival else (own, raised[0])
                check_clean(ours, at)
                found.append(Met(storage, theirs, at))
            at += STEP
    chooser = random.Random(17)
    for _ in range(0, 20, CALLS):
        storage, burst = before.copy(), chooser.choice([1, 2, 5])
        order = [who for _ in range(150 // burst) for who in [chooser.randrange(3)] * burst]
        raised_by = run_in_turns(storage, order, act, rival, act)
        check_clean(raised_by[0], order)
        check_clean(raised_by[2], order)
        found.append(Met(storage, raised_by[1], order))
    odd = [met for met in found if not isinstance(met.raised, Refusal | None)]
    assert not odd, odd
    return found


def check_clean(raised: BaseException | None, order: object) -> None:
    """It is done, or a commit that it was about to read was rolled back: it is to be repeated."""
    assert isinstance(raised, MissingFileError | None), (order, raised)


@TABLE_TYPES
@POLICIES
def test_a_savepoint_is_refused_or_has_all_its_files(table_type: str, policy: Options) -> None:
    for before in worlds(table_type, policy):
        results = set()
        for time in commits(before)[-3:]:
            whole = files_at(before, time)
            save = partial(savepoint, clock=clock_at(RIVAL), instant=time)
            for met in meetings(before, partial(clean, policy=policy), save):
                clean(met.storage, policy, AFTER)
                saved = saved_in(met.storage)
                if met.raised is None:
                    assert saved == whole, met
                    assert saved <= data_files(met.storage), met
                else:
                    assert saved == frozenset(), met
                results.add(met.raised is None)
        assert results == {True, False}


def saved_in(storage: MemoryStorage) -> frozenset[str]:
    table = load_table(storage)
    return saved_files(table.active, table.timeline)


def files_at(storage: MemoryStorage, time: str) -> frozenset[str] | None:
    """The files of the table as of a write; None where some are gone."""
    try:
        slices = load_table(storage).latest_slices(as_of=time)
    except CorruptTableError:
        return None
    bases = {each.base_file.path for each in slices if each.base_file is not None}
    return frozenset({*bases, *(log.path for each in slices for log in each.log_files)})


@TABLE_TYPES
@POLICIES
def test_a_rollback_is_refused_or_finds_all_that_the_write_had_replaced(
    table_type: str, policy: Options
) -> None:
    fresh = aged(table_type).table
    *_, earlier, last = commits(fresh)
    now, past = read_rows(fresh), read_rows(fresh, as_of=earlier)
    results = set[bool]()
    for before in worlds(table_type, policy):
        undo = partial(roll_back, clock=clock_at(RIVAL), instant=last)
        for met in meetings(before, partial(clean, policy=policy), undo):
            wanted = past if met.raised is None else now
            assert read_rows(met.storage) == wanted, met
            clean(met.storage, policy, AFTER)
            write_nothing(met.storage, clock_at(AFTER))
            assert read_rows(met.storage) == wanted, met
            assert remains(met.storage) == [], met
            results.add(met.raised is None)
    assert results == ({True, False} if policy else {True})
