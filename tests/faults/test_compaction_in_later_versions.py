"""Compactions of tables of versions 8 and 9, where completion times tell what lies on top."""

from functools import partial

import pytest

from pyhudi.errors import HudiError
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.services.compaction import log_run
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from tests.faults.test_crash_in_compaction import Kind, calls_of, check_stopped
from tests.support.crash_cases import LOG, LOGGED, OLD
from tests.support.faulty import Fault, Faults, Visited, bury
from tests.support.golden import expected_rows
from tests.support.golden_memory import NOW_MS as AFTERWARDS
from tests.support.golden_memory import clock_at as later_at
from tests.support.golden_memory import golden_in_memory, leftovers, read_texts, values
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    options_of,
    outcome,
    read_rows,
    run_pending,
    write,
    write_nothing,
)
from tests.support.in_process import leftovers as leftovers_of_ours
from tests.support.memory import MemoryStorage
from tests.support.points import STEP

pytestmark = pytest.mark.usefixtures("no_waiting")

NINE = {"hoodie.write.table.version": "9"}
OPTIONS = {**options_of(LOGGED), **NINE}
LATE: Rows = {("x", "a"): (7, "late")}
OTHER: Rows = {("y", "c"): (8, "other")}


@pytest.fixture(scope="module")
def compacting() -> Kind:
    """Hudi's plan of a compaction, with log files that were completed after it."""
    table = "v9_mor_pending_compaction"
    return Kind(
        name=COMPACTION_KIND,
        planned=golden_in_memory(table),
        instant="20261121105733360",
        rows=values(expected_rows(table)),
    )


@pytest.fixture(scope="module")
def log_compacting() -> Kind:
    """Hudi's plan of a log compaction, as it was before that ran."""
    storage, planned, later = golden_in_memory("v9_mor_log_compacted"), "20261121111147104", 148327
    for path in list(storage.files):
        name = parse_log_file_name(path.rpartition("/")[2])
        is_plan = path.endswith(f"{planned}.logcompaction.requested")
        is_later = f"/{planned}" in path or f"/20261121111{later}" in path
        if (is_later and not is_plan) or (name is not None and name.base_instant >= planned):
            storage.delete(path)
    rows = read_texts(storage)
    return Kind(name=LOG_COMPACTION_KIND, planned=storage, instant=planned, rows=rows)


@pytest.fixture(params=["compacting", "log_compacting"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.getfixturevalue(request.param)
    return found


def test_a_plan_of_hudi_s_is_run(kind: Kind) -> None:
    storage = kind.planned.copy()
    assert kind.run(storage).status == "committed"
    assert leftovers(storage) == []
    assert kind.read(storage) == kind.rows
    if kind.name == COMPACTION_KIND:
        assert kind.read(storage, query_type="read_optimized") != kind.rows
    kind.plan(storage, later_at(AFTERWARDS + 5_000))
    run_pending(storage, later_at(AFTERWARDS + 6_000))
    kind.check_compacted(storage, kind.rows, "compacted again")


@pytest.mark.parametrize("fault", [Fault.DEATH, Fault.LATE_ERROR])
def test_a_run_that_stops_is_done_by_the_next(kind: Kind, fault: Fault) -> None:
    total = calls_of(kind, Kind.run, kind.planned)
    step = STEP * (23 if fault is Fault.DEATH else 41)
    for at in range(STEP, total + 1, step):
        check_stopped(kind, kind.planned.copy(), Kind.run, Faults(fault, at))


def test_a_plan_is_taken_back_whatever_was_written_since(compacting: Kind) -> None:
    """No name of a log file depends on it."""
    storage = compacting.planned.copy()
    compacting.service(storage, later_at()).unschedule(compacting.instant)
    assert leftovers(storage) == []
    assert compacting.read(storage) == compacting.rows
    assert compacting.plan(storage, later_at(AFTERWARDS + 5_000))
    run_pending(storage, later_at(AFTERWARDS + 6_000))
    compacting.check_compacted(storage, compacting.rows, "planned again")


def with_logs() -> MemoryStorage:
    storage = MemoryStorage(now_ms=NOW_MS)
    write(storage, OLD, clock_at(), "insert", OPTIONS)
    write(storage, {**LOG, **OTHER}, clock_at(NOW_MS + 2_000), "upsert", OPTIONS)
    return storage


def plan(storage: Storage, now_ms: int) -> str | None:
    return compaction(storage, clock_at(now_ms), COMPACTION_KIND).schedule().instant


def write_more(storage: Storage, rows: Rows) -> Rows:
    write(storage, rows, clock_at(NOW_MS + 8_000), "upsert", OPTIONS)
    return rows


def test_a_write_that_was_seen_after_the_plan_and_completed_before_it_loses_nothing() -> None:
    """Its log file is in no plan and lies below the compaction, whose base file would hide it."""
    storage = with_logs()
    known = set(storage.files)
    write(storage, LATE, clock_at(NOW_MS + 4_000), "upsert", OPTIONS)
    rows = {**OLD, **LOG, **OTHER, **LATE}
    unseen = {path: storage.files[path] for path in set(storage.files) - known}
    for path in unseen:
        if path.startswith(".hoodie/timeline"):
            storage.delete(path)
    planned = plan(storage, NOW_MS + 6_000)
    storage.files.update(unseen)
    written = load_table(storage).timeline.completed().instants[-1]
    assert written.time < written.completion_time < planned
    done = compaction(storage, clock_at(NOW_MS + 7_000), COMPACTION_KIND).execute(planned)
    assert (done.status, done.files["created"] + done.files["rewritten"]) == ("committed", 1)
    assert read_rows(storage) == rows
    rows |= write_more(storage, {("y", "c"): (9, "more")})
    assert plan(storage, NOW_MS + 9_000)
    run_pending(storage, clock_at(NOW_MS + 10_000))
    assert read_rows(storage) == rows
    assert read_rows(storage, query_type="read_optimized") == rows


def test_a_write_that_stops_as_it_ends_is_undone_before_a_compaction_is_planned() -> None:
    """Its completion time is noted and earlier than the plan, and it wakes after the compaction."""
    logged, noted = with_logs(), list[int]()
    before, storage = {**OLD, **LOG, **OTHER}, logged.copy()

    def look(call: int) -> None:
        if any(".ending-" in path for path in storage.files):
            noted.append(call)

    late = partial(write, rows=LATE, operation="upsert", options=OPTIONS)
    late(Visited(storage, look), clock=clock_at(NOW_MS + 4_000))
    assert noted
    for at in (noted[0] - 1, *noted, noted[-1] + 1):
        woken = logged.copy()

        def visit(call: int, storage: MemoryStorage = woken, at: int = at) -> None:
            if call == at:
                bury(storage)
                service = compaction(storage, clock_at(NOW_MS + 5_000))
                assert service.schedule_and_execute().status == "committed", at

        raised = outcome(partial(late, Visited(woken, visit), clock=clock_at(NOW_MS + 4_000)))
        assert raised is None or isinstance(raised, HudiError), (at, raised)
        rows = {**before, **LATE} if raised is None else before
        assert read_rows(woken) == rows, (at, raised)
        bury(woken)
        write_nothing(woken, clock_at(NOW_MS + 60_000), OPTIONS)
        assert read_rows(woken) == rows, (at, raised)
        assert leftovers_of_ours(woken) == [], at


@pytest.mark.parametrize("is_planned", [False, True], ids=["by ours", "planned by others"])
def test_log_blocks_with_parts_of_rows_are_left_for_a_compaction(
    is_planned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What such rows lack is in base files, and would be lost in a block of whole rows."""
    storage = golden_in_memory("v9_mor_sql")
    ended = ".compaction.requested"
    (plan_of,) = [path for path in storage.files if path.endswith(ended)]
    instant = plan_of.rpartition("/")[2].removesuffix(ended)
    for path in list(storage.files):
        if f"/{instant}" in path or path.endswith(f"_{instant}.parquet"):
            storage.delete(path)
    rows = read_texts(storage)
    service = compaction(storage, later_at(), LOG_COMPACTION_KIND)
    if is_planned:
        with monkeypatch.context() as patched:
            patched.setattr(log_run, "columns_of_parts", lambda _: None)
            planned = service.schedule().instant
        assert planned
        assert service.execute(planned).files["appended"] == 0
    else:
        assert service.schedule().status == "nothing_to_do"
    assert read_texts(storage) == rows
    compaction(storage, later_at(AFTERWARDS + 5_000)).schedule_and_execute()
    assert values(read_texts(storage, query_type="read_optimized")) == values(rows)
    assert values(rows) == values(expected_rows("v9_mor_sql"))
