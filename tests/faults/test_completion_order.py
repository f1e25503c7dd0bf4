"""Writers beside each other where completion times say who came first (versions 8 and 9)."""

from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.errors import ConflictError
from pyhudi.jobs.compaction import COMPACTION_KIND
from pyhudi.services.compaction import run as compacting
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import instant_time
from tests.support.clocks import FakeClock
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    leftovers,
    options_of,
    read_rows,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.rivals import SEVERAL, LossyLock, Meanwhile, optimistic, write_under

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
OWN: Rows = {("x", "a"): (3, "own")}
ELSEWHERE: Rows = {("y", "c"): (2, "elsewhere")}
LOGGED = "MERGE_ON_READ"
TYPES = ("COPY_ON_WRITE", LOGGED)
SKEW = "hoodie.time.generator.max_expected_clock_skew_ms"
NAMED = {name.replace(".", "__"): value for name, value in SEVERAL.items()}


def optimistic_on(table_type: str, version: str = "9", **more: str) -> dict[str, str]:
    return {**optimistic(table_type, **more), "hoodie.write.table.version": version}


def made(table_type: str, version: str = "9") -> tuple[MemoryStorage, FakeClock]:
    storage, clock = MemoryStorage(now_ms=NOW_MS), clock_at()
    write(storage, OLD, clock, options=optimistic_on(table_type, version))
    return storage, clock


def completions(storage: MemoryStorage) -> dict[str, str]:
    return load_table(storage).timeline.completions()


def once(act: Callable[[], object]) -> Callable[[], None]:
    left = [act]
    return lambda: left and left.pop()()


@pytest.mark.parametrize("version", ["8", "9"])
@pytest.mark.parametrize("table_type", TYPES)
def test_who_was_overtaken_since_it_drew_its_time_draws_a_later_one(
    table_type: str, version: str
) -> None:
    """The other wrote elsewhere and is in no way in conflict, but was seen first."""
    storage, clock = made(table_type, version)
    options = optimistic_on(table_type, version)
    other = partial(write, storage, ELSEWHERE, clock, options=options)
    lock = LossyLock(before_confirm=once(other))
    done = write_under(lock, storage, OWN, clock, options)
    assert (done.status, done.conflicts, done.anomaly) == ("committed", 1, None)
    ends = completions(storage)
    last = max(ends.values())
    assert ends[done.instant] == last == done.completion_time
    seen = sorted(ends.values())[-2]
    assert read_rows(storage, query_type="incremental", begin=seen) == OWN
    assert read_rows(storage) == {**OLD, **ELSEWHERE, **OWN}
    assert leftovers(storage) == []


def test_in_version_6_it_is_committed_as_it_is() -> None:
    storage, clock = MemoryStorage(now_ms=NOW_MS), clock_at()
    write(storage, OLD, clock, options=optimistic())
    other = partial(write, storage, ELSEWHERE, clock, options=optimistic())
    done = write_under(LossyLock(before_confirm=once(other)), storage, OWN, clock, optimistic())
    assert (done.conflicts, done.anomaly) == (0, None)


def test_who_lost_the_lock_since_it_drew_its_time_draws_again() -> None:
    storage, clock = made("COPY_ON_WRITE")
    options = optimistic_on("COPY_ON_WRITE")
    drawn = list[str]()

    def other() -> None:
        drawn.append(write(storage, ELSEWHERE, clock, options=options).completion_time)

    done = write_under(LossyLock(lost=1, before_confirm=once(other)), storage, OWN, clock, options)
    assert done.conflicts == 0
    assert done.completion_time > drawn[0]
    assert read_rows(storage) == {**OLD, **ELSEWHERE, **OWN}


@pytest.mark.parametrize("runs", [False, True], ids=["planned", "run"])
def test_a_plan_that_was_made_since_a_time_was_drawn_hides_no_log_file(
    runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Hudi plans, which leaves no file group out that somebody writes."""
    monkeypatch.setattr(compacting, "groups_being_written", lambda _: frozenset())
    storage, clock = made(LOGGED)
    options = optimistic_on(LOGGED)
    write(storage, {("x", "b"): (2, "log")}, clock, options=options)

    def plan() -> None:
        service = compaction(storage, clock, **NAMED)
        planned = service.schedule().instant
        assert planned
        if runs:
            service.execute(planned)

    done = write_under(LossyLock(before_confirm=once(plan)), storage, OWN, clock, options)
    assert (done.conflicts, done.anomaly) == (1, None)
    wanted = {**OLD, ("x", "b"): (2, "log"), **OWN}
    assert read_rows(storage) == wanted
    compaction(storage, clock, **NAMED).execute_all()
    assert read_rows(storage) == wanted
    assert read_rows(storage, query_type="read_optimized") == wanted


def test_a_run_of_a_compaction_is_not_committed_over_a_log_file_that_came_late() -> None:
    """A write that has drawn its time before the plan appears while the plan is run."""
    storage, clock = made(LOGGED)
    options = optimistic_on(LOGGED)
    write(storage, {("x", "b"): (2, "log")}, clock, options=options)
    known = set(storage.files)
    write(storage, OWN, clock, options=options)
    unseen = {path: storage.files[path] for path in set(storage.files) - known}
    for path in unseen:
        storage.delete(path)
    planned = compaction(storage, clock, **NAMED).schedule().instant
    assert planned
    late = partial(storage.files.update, unseen)
    beside = Meanwhile(storage, late, before=".marker.")
    with pytest.raises(ConflictError, match="does not know its log files and would hide them"):
        compaction(beside, clock, **NAMED).execute(planned)
    wanted = {**OLD, ("x", "b"): (2, "log"), **OWN}
    assert read_rows(storage) == wanted
    compaction(storage, clock, **NAMED).execute_all()
    assert read_rows(storage) == wanted, "the plan leaves the slice as it is"
    write(storage, ELSEWHERE, clock, options=options)
    wanted |= ELSEWHERE
    compaction(storage, clock, **NAMED).execute_all()
    assert read_rows(storage) == wanted
    assert read_rows(storage, query_type="read_optimized") == wanted


def test_a_write_and_a_plan_keep_the_lock_until_other_clocks_have_passed_their_times() -> None:
    """A writer of Hudi draws its time by a clock that may be so far behind, and looks at none."""
    storage, clock = made(LOGGED)
    options = {**optimistic_on(LOGGED), SKEW: "5000"}
    zone = load_table(storage).config.timezone

    class Watched(LossyLock):
        def hold(self):  # type: ignore[no-untyped-def]
            held = super().hold()
            return _leaving(held, lambda: left.append(instant_time(clock.now_ms() - 5_000, zone)))

    left = list[str]()
    done = write_under(Watched(), storage, {("x", "b"): (2, "log")}, clock, options)
    assert done.completion_time < left[-1]
    before = clock.now_ms()
    planned = compaction(storage, clock, **NAMED, **{SKEW.replace(".", "__"): "5000"}).schedule()
    assert clock.now_ms() >= before + 5_000
    assert planned.instant <= instant_time(clock.now_ms() - 5_000, zone)
    before = clock.now_ms()
    alone = {**options_of(LOGGED), "hoodie.write.table.version": "9"}
    write(storage, OWN, clock, options=alone)
    compaction(storage, clock, COMPACTION_KIND).execute_all()
    assert clock.now_ms() < before + 5_000, "nobody is beside a single writer"


class _leaving:  # noqa: N801 - used as a function
    """A context that does something before it is left."""

    def __init__(self, inner, act) -> None:  # type: ignore[no-untyped-def]
        self._inner, self._act = inner, act

    def __enter__(self):  # type: ignore[no-untyped-def]
        return self._inner.__enter__()

    def __exit__(self, *error: object):  # type: ignore[no-untyped-def]
        self._act()
        return self._inner.__exit__(*error)


@pytest.mark.parametrize("is_base", [True, False], ids=["a base file", "a log file"])
def test_who_goes_on_from_a_commit_before_its_writer_has_looked_loses_no_row(is_base: bool) -> None:
    """Log files say nothing of what they lie on; of a base file the inflight instant does."""
    storage, clock = made(LOGGED)
    options = optimistic_on(LOGGED, hoodie__parquet__small__file__limit="0")
    own: Rows = {("x", "n"): (3, "own")} if is_base else OWN
    other: Rows = dict.fromkeys(own, (4, "other"))
    go_on = partial(write, storage, other, clock, options=options)
    beside = _Completed(storage, once(go_on))
    done = write_under(LossyLock(), beside, own, clock, options)
    assert (done.conflicts, done.anomaly) == (0 if is_base else 1, None)
    assert read_rows(storage) == {**OLD, **other}


class _Completed(Meanwhile):
    """Does something once, right after a completed file has been created."""

    def __init__(self, inner: MemoryStorage, act: Callable[[], object]) -> None:
        super().__init__(inner, act, before="no such path")
        self._then = act

    def create(self, path: str, data: bytes) -> None:
        super().create(path, data)
        if path.endswith("commit"):
            self._then()
