"""Cleans and archivers beside savepoints, rollbacks and restores, in every order."""

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
from tests.support.crash_cases import COPIED, LOGGED, aged, archiving, clean_died
from tests.support.faulty import Visited
from tests.support.in_process import (
    NOW_MS,
    Options,
    archive,
    cleaning,
    clock_at,
    data_files,
    outcome,
    read_rows,
    restore,
    roll_back,
    savepoint,
    write_nothing,
)
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.schedule import run_in_turns
from tests.support.undo_cases import remains

pytestmark = pytest.mark.usefixtures("no_waiting")

TABLE_TYPES = pytest.mark.parametrize("table_type", [COPIED, LOGGED])
CLEANED, RIVAL, AFTER = NOW_MS + 10_000, NOW_MS + 11_000, NOW_MS + 400_000_000
VERSIONS = {"hoodie__clean__policy": "KEEP_LATEST_FILE_VERSIONS"}
ONE_VERSION = {**VERSIONS, "hoodie__clean__fileversions__retained": "1"}
POLICIES = pytest.mark.parametrize("policy", [{}, ONE_VERSION], ids=["commits", "versions"])

CALLS, ORDERS = (1, 60) if IS_WHOLE else (4 * STEP, 12 // STEP)
"""A rival comes before every so many-th call, and takes turns in so many orders."""

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
                check_served(ours, at)
                found.append(Met(storage, theirs, at))
            at += STEP
    chooser = random.Random(17)
    for _ in range(ORDERS):
        storage, burst = before.copy(), chooser.choice([1, 2, 5])
        order = [who for _ in range(150 // burst) for who in [chooser.randrange(3)] * burst]
        raised_by = run_in_turns(storage, order, act, rival, act)
        check_served(raised_by[0], order)
        check_served(raised_by[2], order)
        found.append(Met(storage, raised_by[1], order))
    odd = [met for met in found if not isinstance(met.raised, Refusal | None)]
    assert not odd, odd
    return found


def check_served(raised: BaseException | None, order: object) -> None:
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


@TABLE_TYPES
@POLICIES
def test_a_restore_ends_with_the_savepoint_whatever_is_cleaned_meanwhile(
    table_type: str, policy: Options
) -> None:
    before = aged(table_type).table
    first, *_ = commits(before)
    past = read_rows(before, as_of=first)
    savepoint(before, clock_at(CLEANED - 5_000), instant=first)
    go_back = partial(restore, clock=clock_at(RIVAL), instant=first)
    for met in meetings(before, partial(clean, policy=policy), go_back):
        assert met.raised is None, met
        assert read_rows(met.storage) == past, met
        clean(met.storage, policy, AFTER)
        write_nothing(met.storage, clock_at(AFTER))
        assert read_rows(met.storage) == past, met
        assert remains(met.storage) == [], met


@TABLE_TYPES
def test_a_savepoint_is_refused_or_keeps_its_write_and_all_later_ones_from_the_archive(
    table_type: str,
) -> None:
    (_, archiving_alone) = archiving(table_type)
    before, results = archiving_alone.prepare().table, set[bool]()
    for number in (0, 1, -1):
        saved = commits(before)[number]
        seen = read_rows(before, as_of=saved)
        save = partial(savepoint, clock=clock_at(RIVAL), instant=saved)
        for met in meetings(before, partial(archive, clock=clock_at(CLEANED)), save):
            archive(met.storage, clock_at(AFTER))
            results.add(met.raised is None)
            if met.raised is None:
                assert set(commits(before)[number:]) <= set(commits(met.storage)), met
                restore(met.storage, clock_at(AFTER), saved)
                assert read_rows(met.storage) == seen, met
            else:
                assert saved_in(met.storage) == frozenset(), met
    assert results == {True, False}
