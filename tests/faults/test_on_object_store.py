"""Writes and services on an object store: the same rows, whatever becomes of single requests."""

import json
from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.errors import HudiError
from pyhudi.storage.objects import storage as objects
from pyhudi.storage.objects.patience import Patience
from pyhudi.storage.objects.requests import Kind
from tests.faults.test_crash_in_bootstrap import check_whole, count_rows, go_on
from tests.support.bootstrap_courses import BOOTSTRAPS, SOURCE_ROWS, BootstrapCase
from tests.support.console import Shell
from tests.support.crash_cases import Case, cases
from tests.support.crashes import World
from tests.support.faulty import Killed, bury
from tests.support.in_process import (
    NOW_MS,
    clock_at,
    leftovers,
    outcome,
    read_rows,
    write_nothing,
)
from tests.support.object_store import Answer, StoreServer, always, nth
from tests.support.points import IS_FEW, IS_WHOLE
from tests.support.undo_cases import UNDOING, UndoCase, remains

CASES = {case.name: case for case in cases()}
STOPPED = (
    "upsert-copy_on_write-simple",
    "upsert-merge_on_read-simple",
    "insert_overwrite-copy_on_write-simple",
    "upsert,_first-copy_on_write-simple",
    "compaction,_run-merge_on_read-simple",
    "clean,_run-copy_on_write-simple",
    "recovery-merge_on_read-simple",
)
ALSO_STOPPED = (
    "upsert,_beside_others-copy_on_write-simple",
    "upsert,_beside_others-merge_on_read-simple",
    "upsert-copy_on_write-bucket",
    "upsert-merge_on_read-bucket",
    "delete-copy_on_write-simple",
    "delete-merge_on_read-simple",
    "bulk_insert-copy_on_write-simple",
    "delete_partition-copy_on_write-simple",
    "archive-copy_on_write-simple",
    "log_compaction,_run-merge_on_read-simple",
)
"""Of these few deaths are tried, unless all are asked for; so of what is taken back."""

TAKEN_BACK = {
    each.name: each
    for each in UNDOING
    if each.operation.startswith(("rollback of a write", "savepoint"))
    or each.operation == "restore"
}
BAD = (Answer.LOST, Answer.BUSY, Answer.BROKEN, Answer.UNHEARD)
STEP = 1 if IS_WHOLE else 23
"""Of the requests of a case every so many-th is tried; which, differs among cases."""

DEATH_STEP = 23 if IS_FEW else 1
"""The same for deaths, which cost little: but for `make unit` there is one at every request."""

SPARSE_STEP = 1 if IS_WHOLE else 291 if IS_FEW else 97


class OnStore:
    """The world of a case on an object store."""

    def __init__(self, store: StoreServer, case: Case | BootstrapCase) -> None:
        self._store, self._case = store, case
        world = case.prepare()
        self.table, self.failed = store.filled(world.table), store.filled(world.failed)

    def act(self) -> None:
        """What the case does."""
        self._case.act(self.table, self.failed)

    def world(self) -> World:
        """What it has left, in memory."""
        contents = partial(self._store.contents, now_ms=NOW_MS)
        return World(table=contents(self.table), failed=contents(self.failed))


@pytest.fixture(autouse=True)
def probed(store: StoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bucket counts as one that was found to honour conditions."""
    monkeypatch.setattr("pyhudi.storage.objects.creating.Creator._probe", lambda _: None)


def count_of(store: StoreServer, case: Case | BootstrapCase) -> int:
    """How many requests the case makes."""
    whole = OnStore(store, case)
    with store.counting() as seen:
        whole.act()
    return seen.total()


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_what_is_read(store: StoreServer, name: str) -> None:
    case = CASES[name]
    found = OnStore(store, case)
    assert read_rows(found.table) == case.before
    found.act()
    assert read_rows(found.table) == case.after
    check_next(case, found.world())


@pytest.mark.parametrize("case", UNDOING, ids=[each.name for each in UNDOING])
def test_what_is_taken_back_is_gone(store: StoreServer, case: UndoCase) -> None:
    undoing = case.make()
    table = store.filled(undoing.storage)
    undoing.do(table, table)
    assert read_rows(table) == undoing.after
    undoing.again(table)
    assert read_rows(table) == undoing.after


@pytest.mark.parametrize("name", STOPPED)
def test_one_bad_answer_to_any_request_changes_nothing(
    store: StoreServer, name: str, quick: None
) -> None:
    case, first = CASES[name], STOPPED.index(name)
    for at in range(1 if IS_WHOLE else 1 + first, count_of(store, case) + 1, STEP):
        found, answer = OnStore(store, case), BAD[at % len(BAD)]
        with store.answering(nth(at, answer, lambda seen: True)):
            found.act()
        assert read_rows(found.world().table) == case.after, f"{answer} at request {at}"
        check_next(case, found.world())


def deaths_of(name: str) -> tuple[int, int]:
    """The first request of a case before which a death is tried, and how many later each next."""
    if name in STOPPED:
        return 1 + 2 * (STOPPED.index(name) if IS_FEW else 0), DEATH_STEP
    return 1 + 7 * [*ALSO_STOPPED, *TAKEN_BACK].index(name) % SPARSE_STEP, SPARSE_STEP


@pytest.mark.parametrize("name", [*STOPPED, *ALSO_STOPPED])
def test_a_death_before_any_request_leaves_all_or_nothing(
    store: StoreServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, (first, step) = CASES[name], deaths_of(name)
    for at in range(first, count_of(store, case) + 1, step):
        found = OnStore(store, case)
        with monkeypatch.context() as patched:
            patched.setattr(objects, "note", dying_at(at))
            assert isinstance(outcome(found.act), (Killed, type(None))), at
        world = found.world()
        seen = read_rows(world.table)
        assert seen in (case.before, case.after), at
        bury(world.table)
        check_next(case, world, seen)


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_a_death_before_any_request_of_what_takes_back_leaves_it_to_be_finished(
    store: StoreServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    undoing, (first, step) = TAKEN_BACK[name].make(), deaths_of(name)
    whole, before = store.filled(undoing.storage), undoing.before
    with store.counting() as made:
        undoing.do(whole, whole)
    for at in range(first, made.total() + 1, step):
        table = store.filled(undoing.storage)
        with monkeypatch.context() as patched:
            patched.setattr(objects, "note", dying_at(at))
            raised = outcome(partial(undoing.do, table, table))
        assert isinstance(raised, (Killed, type(None))), at
        left = store.contents(table, now_ms=NOW_MS)
        assert read_rows(left) in (before, undoing.after), at
        bury(left)
        undoing.again(left)
        write_nothing(left, clock_at(NOW_MS + 400_000))
        assert read_rows(left) == undoing.after, at
        assert remains(left) == [], at


@pytest.mark.parametrize("name", STOPPED)
def test_a_store_that_no_longer_answers_leaves_all_or_nothing(
    store: StoreServer, name: str, impatient: None
) -> None:
    case, first = CASES[name], STOPPED.index(name)
    start, step = (1, 1) if IS_WHOLE else (1 + 3 * first, 3 * STEP)
    for at in range(start, count_of(store, case) + 1, step):
        found, answer = OnStore(store, case), BAD[at % len(BAD)]
        count = iter(range(1, 1_000_000))
        with store.answering(always(answer, lambda seen, count=count, at=at: next(count) >= at)):
            raised = outcome(found.act)
        assert raised is None or isinstance(raised, (HudiError, OSError)), raised
        world = found.world()
        seen = read_rows(world.table)
        assert seen == (case.after if raised is None else case.before) or (
            raised is not None and answer in (Answer.LOST, Answer.BROKEN) and seen == case.after
        ), f"{answer} from request {at}: {raised!r}"
        bury(world.table)
        check_next(case, world, seen)


def test_a_bootstrap_on_a_store_is_whole_or_not_there(
    store: StoreServer, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = BOOTSTRAPS[2]
    count = count_of(store, case)
    step = 1 if IS_WHOLE else STEP // 2
    for at in range(2, count + 1, step):
        found, answer = OnStore(store, case), BAD[at % len(BAD)]
        with store.answering(nth(at, answer, lambda seen: True)):
            found.act()
        check_whole(found.world(), f"{answer} at request {at}")
    for at in range(5, count + 1, step):
        found = OnStore(store, case)
        with monkeypatch.context() as patched:
            patched.setattr(objects, "note", dying_at(at))
            assert isinstance(outcome(found.act), (Killed, type(None))), at
        world = found.world()
        assert count_rows(world.table) in (None, 0, SOURCE_ROWS), at
        bury(world.table)
        go_on(case, world, f"death at request {at}")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again soon."""
    patience = Patience(first_s=0.001, longest_s=0.01)
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", patience)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried for long."""
    patience = Patience(first_s=0.001, longest_s=0.002, total_s=0.01)
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", patience)


def check_next(case: Case, world: World, seen: object = None) -> None:
    """What comes after it finds whole rows, and leaves nothing that no commit accounts for."""
    before = read_rows(world.table) if seen is None else seen
    added = case.go_on(world, 0)
    assert read_rows(world.table) == {**before, **added}
    assert leftovers(world.table, world.failed) == []


def dying_at(number: int) -> Callable[..., None]:
    """Counts requests, and ends the process before one of them and all later ones."""
    made = iter(range(1, 1_000_000))

    def note(where: str, kind: Kind, path: str, times: int = 1) -> None:
        if next(made) >= number:
            raise Killed

    return note


def test_the_command_reads_and_serves_a_table_on_a_store(
    store: StoreServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES["upsert-merge_on_read-simple"]
    found = OnStore(store, case)
    found.act()
    secrets = {name: store.options[name] for name in ("access_key", "secret_key")}
    monkeypatch.setenv("PYHUDI_SECRETS", json.dumps({"storage_options": secrets}))
    pyhudi, plain = Shell(capsys), store.options.items() - secrets.items()
    place = [found.table.uri, *(f"--storage-option={name}={value}" for name, value in plain)]
    assert len(pyhudi.json("timeline", *place)["timeline"]) == 3
    assert pyhudi.json("count", *place)["rows"] == len(case.after)
    checked = pyhudi.json("validate", *place)
    assert (checked["errors"], checked["orphans"], checked["findings"]) == (0, 0, [])
    few = ("--kind=log_compaction", "--hoodie-conf=hoodie.log.compaction.blocks.threshold=2")
    with store.counting() as seen:
        done = pyhudi.json("compact", *place, *few)
    assert done["status"] == "committed", done
    assert 5 <= done["requests"]["put"] <= seen["put"]
    assert read_rows(found.table) == case.after
