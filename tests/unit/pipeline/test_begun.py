"""What another writer does between the look at the table and the begin of the write."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.config.write import RECORD_KEY_FIELD, HeartbeatConfig
from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    RequestError,
    SchemaError,
    TableMismatchError,
)
from pyhudi.pipeline import write as module
from pyhudi.runner.in_process import Batches, InProcessRows, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.recovery import writer_of
from pyhudi.table import table as opening
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action, State
from pyhudi.transaction.instant_run import InstantRun
from tests.support import in_process
from tests.support.in_process import NOW_MS, Rows, clock_at, data_files, options_of
from tests.support.memory import MemoryStorage
from tests.support.orders import OPTIONS, WAIT, many, orders, rows_of, tuples, write
from tests.support.timelines import active_of
from tests.support.tree import tree

KEYED = {**OPTIONS, "pyhudi.idempotency.key": "run-7"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write(tmp_path / "table", many(range(4), 1, "old"), "insert")
    return tmp_path / "table"


def after_staging(monkeypatch: pytest.MonkeyPatch, rival: Callable[[], object]) -> None:
    """Let something happen once the next write has read its source."""
    stage = module.stage

    def staged_late(*given: object) -> object:
        monkeypatch.setattr(module, "stage", stage)
        staged = stage(*given)
        rival()
        return staged

    monkeypatch.setattr(module, "stage", staged_late)


def test_rows_of_a_rival_that_committed_meanwhile_are_kept(table: Path, monkeypatch) -> None:
    rows = orders(("k0000", "p0", 2, "rival"), ("new", "p0", 2, "rival"))
    after_staging(monkeypatch, lambda: write(table, rows))
    result = write(table, orders(("new", "p0", 3, "mine"), ("k0002", "p0", 3, "mine")))
    assert result.records["updated"] == 2
    expected = [("k0000", "p0", 2, "rival"), ("k0002", "p0", 3, "mine"), ("new", "p0", 3, "mine")]
    assert [row for row in rows_of(table) if row[1] == "p0"] == expected


def test_columns_that_a_rival_added_meanwhile_are_not_lost(table: Path, monkeypatch) -> None:
    wider = orders(("k0000", "p0", 2, "rival")).append_column("added", pa.array([7]))
    mine = orders(("k0002", "p0", 3, "mine"))
    after_staging(monkeypatch, lambda: write(table, wider))
    with pytest.raises(SchemaError, match="column added") as caught:
        write(table, mine)
    assert not caught.value.retryable
    found = pyhudi.read_table(table, columns=["id", "added"]).to_pylist()
    assert {"id": "k0000", "added": 7} in found
    assert not pyhudi.open_table(str(table)).timeline.pending()


@pytest.mark.parametrize("wait_s", [0, 60])
def test_rows_are_read_again_for_columns_that_a_rival_added_meanwhile(
    wait_s: int, table: Path, monkeypatch
) -> None:
    wider = orders(("k0000", "p0", 2, "rival")).append_column("added", pa.array([7]))
    options = {**OPTIONS, WAIT: str(wait_s), "hoodie.write.set.null.for.missing.columns": "true"}
    mine = orders(("k0002", "p0", 3, "mine"))
    after_staging(monkeypatch, lambda: write(table, wider))
    if not wait_s:
        with pytest.raises(ConflictError, match="schema meanwhile; retry"):
            write(table, mine, "upsert", options)
        assert not pyhudi.open_table(str(table)).timeline.pending()
        return
    assert write(table, mine, "upsert", options).status == "committed"
    found = pyhudi.read_table(table, columns=["id", "added", "value"]).to_pylist()
    assert {"id": "k0000", "added": 7, "value": "rival"} in found
    assert {"id": "k0002", "added": None, "value": "mine"} in found


def test_rows_that_fit_a_changed_schema_as_they_are_are_not_read_again(
    table: Path, monkeypatch
) -> None:
    wider = orders(("k0000", "p0", 2, "rival")).append_column("added", pa.array([7]))
    after_staging(monkeypatch, lambda: write(table, wider))
    mine = orders(("k0002", "p0", 3, "mine")).append_column("added", pa.array([8]))
    assert write(table, mine).status == "committed"
    found = pyhudi.read_table(table, columns=["id", "added"]).to_pylist()
    assert {"id": "k0000", "added": 7} in found
    assert {"id": "k0002", "added": 8} in found


def test_another_attempt_that_landed_meanwhile_is_not_repeated(table: Path, monkeypatch) -> None:
    rows = orders(("new", "p0", 2, "once"))
    seen = []

    def land() -> None:
        seen.append(write(table, rows, "insert", KEYED))
        seen.append(tree(table))

    after_staging(monkeypatch, land)
    again = write(table, rows, "insert", KEYED)
    assert (again.status, again.instant) == ("already_committed", seen[0].instant)
    assert tree(table) == seen[1]
    assert rows_of(table) == tuples(many(range(4), 1, "old"), rows)


def test_of_two_that_make_one_table_the_second_opens_it(tmp_path: Path, monkeypatch) -> None:
    table, rows = tmp_path / "new", many(range(2), 1, "first")
    after_staging(monkeypatch, lambda: write(table, rows))
    assert write(table, many(range(1, 3), 2, "second")).records["updated"] == 1
    assert rows_of(table) == tuples(rows.slice(0, 1), many(range(1, 3), 2, "second"))


def test_of_two_that_make_different_tables_the_second_is_told_the_difference(
    tmp_path: Path, monkeypatch
) -> None:
    table, rows = tmp_path / "new", many(range(2), 1, "first")
    after_staging(monkeypatch, lambda: write(table, rows))
    with pytest.raises(TableMismatchError, match="record key id, the request says value"):
        write(table, rows, "upsert", {**OPTIONS, RECORD_KEY_FIELD.key: "value"})
    assert rows_of(table) == tuples(rows)
    assert not pyhudi.open_table(str(table)).timeline.pending()


def test_a_table_that_another_process_is_making_is_opened(table: Path, monkeypatch) -> None:
    """Hudi's properties are seen half while they are written."""
    properties = table / ".hoodie" / "hoodie.properties"
    whole, waits = properties.read_bytes(), list[float]()
    properties.write_bytes(b"")

    def slept(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            properties.write_bytes(whole)

    monkeypatch.setattr(opening.time, "sleep", slept)
    assert write(table, orders(("new", "p0", 2, "mine"))).status == "committed"
    assert len(waits) == 2
    properties.write_bytes(b"")
    with pytest.raises(CorruptTableError):
        write(table, orders(("newer", "p0", 2, "mine")))
    assert sum(waits) < 3


def test_who_finds_a_writer_at_work_waits_before_its_rows_are_read(
    table: Path, monkeypatch
) -> None:
    staged, options = [], {**OPTIONS, WAIT: "60"}
    writer = writer_of(pyhudi.open_table(str(table)), SystemClock(), HeartbeatConfig())
    rival = InstantRun(writer, Action.COMMIT)
    rival.__enter__()

    def slept(_: float) -> None:
        assert staged == []
        if list((table / ".hoodie" / ".heartbeat").glob(".waiting-*")):
            rival.withdraw()
            rival.__exit__(None, None, None)

    stage = module.stage
    monkeypatch.setattr(module, "stage", lambda *given: staged.append(1) or stage(*given))
    monkeypatch.setattr("time.sleep", slept)
    result = write(table, orders(("new", "p0", 2, "mine")), "upsert", options)
    assert (result.status, staged) == ("committed", [1])
    assert result.seconds["wait"] >= 0
    assert not list((table / ".hoodie" / ".heartbeat").iterdir())


def test_who_does_not_wait_is_told_before_its_rows_are_read(table: Path, monkeypatch) -> None:
    writer = writer_of(pyhudi.open_table(str(table)), SystemClock(), HeartbeatConfig())
    monkeypatch.setattr(module, "stage", lambda *_: pytest.fail("read"))
    with InstantRun(writer, Action.COMMIT) as rival:
        with pytest.raises(ConflictError, match=rival.instant):
            write(table, orders(("new", "p0", 2, "mine")))
        rival.withdraw()


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "insert_overwrite"])
def test_no_file_is_written_before_the_instant_is_inflight(operation: str, table_type: str) -> None:
    """Whoever looks at the timeline meanwhile sees that the write is at work."""
    storage, states = MemoryStorage(now_ms=NOW_MS), []

    def looking(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        before = data_files(storage)
        found = run_once(function, task, batches)
        if data_files(storage) - before:
            states.append(active_of(storage).load().pending_writes().instants[-1].state)
        return found

    rows: Rows = {("x", "a"): (1, "new"), ("y", "b"): (1, "new")}
    runner = InProcessRunner(run_task=looking)
    in_process.write(storage, rows, clock_at(), operation, options_of(table_type), runner=runner)
    assert set(states) == {State.INFLIGHT}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_BLOOM", "BUCKET"])
def test_every_row_that_is_held_is_released(index: str, fails: bool, monkeypatch) -> None:
    held, hold = [], InProcessRows.hold

    def holding(rows: InProcessRows) -> InProcessRows:
        held.append(hold(rows))
        return held[-1]

    def releasing(rows: InProcessRows) -> None:
        held[:] = [each for each in held if each is not rows]

    def fail(*_: object, **__: object) -> None:
        assert held
        raise RequestError("asked for")

    storage = MemoryStorage(now_ms=NOW_MS)
    rows: Rows = {("x", "a"): (1, "old"), ("y", "b"): (1, "old")}
    in_process.write(storage, rows, clock_at(), "upsert", options_of(index=index))
    monkeypatch.setattr(InProcessRows, "hold", holding)
    monkeypatch.setattr(InProcessRows, "release", releasing)
    if fails:
        monkeypatch.setattr("pyhudi.pipeline.staged.write_buckets", fail)
    moved: Rows = {("y", "a"): (2, "moved"), ("x", "c"): (2, "new")}
    with pytest.raises(RequestError) if fails else nullcontext():
        in_process.write(storage, moved, clock_at(), "upsert", options_of(index=index))
    assert held == []
