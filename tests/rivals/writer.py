"""One process that writes the table until the time is up.

    python -m tests.rivals.writer PLAN NUMBER LIFE

``LIFE`` counts how often this writer was started again.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa

from pyhudi.config.options.locks import LockConfig
from pyhudi.config.write import WriteConfig
from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.runner.runner import Runner
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock, SystemClock
from pyhudi.transaction.heartbeat import is_alive
from pyhudi.transaction.lock.lock import HeldLock, TableLock
from pyhudi.transaction.lock.opening import open_lock
from pyhudi.transaction.optimistic.exclusion import Shared
from tests.rivals.notes import Notes
from tests.rivals.orders import SERVICES, Drawing, Order
from tests.rivals.plan import ORDER, Plan
from tests.support.local_rows import LocalRows

SCHEMA = pa.schema({"id": pa.string(), "part": pa.string(), "ts": pa.int64(), "value": pa.string()})
_KEYS = pa.schema([SCHEMA.field("id"), SCHEMA.field("part")])
Write = Callable[[Order, dict[str, str]], JobResult]


class NotedLock:
    """A lock whose holder notes when it asked, got it, confirmed it and gave it back."""

    def __init__(self, lock: TableLock, notes: Notes) -> None:
        self._lock, self._notes = lock, notes

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Have the lock."""
        note = partial(self._notes.add, is_safe=False)
        asked = time.monotonic()
        with self._lock.hold() as held:
            got = time.monotonic()
            note("locked", asked=asked, got=got)
            try:
                yield _NotedHeld(held, note, got)
            finally:
                note("unlocking", got=got, left=time.monotonic())


class _NotedHeld:
    def __init__(self, held: HeldLock, note: Callable[..., None], got: float) -> None:
        self._held, self._note, self._got = held, note, got

    def confirm(self) -> None:
        """See to it that the lock is this writer's still."""
        began = time.monotonic()
        self._held.confirm()
        self._note("confirmed", got=self._got, began=began)


def rows_of(order: Order) -> pa.Table | None:
    """The rows of an order as a source has them; of a delete the keys alone."""
    if not order.rows:
        return None
    if order.operation == "delete":
        return pa.Table.from_pylist([{"id": k, "part": p} for p, k in order.rows], _KEYS)
    return pa.Table.from_pylist(
        [
            {"id": key, "part": part, "ts": ts, "value": value}
            for (part, key), (ts, value) in order.rows.items()
        ],
        SCHEMA,
    )


def options_of(plan: Plan, order: Order) -> dict[str, str]:
    """The options by which an order is carried out."""
    chosen = {
        **plan.options,
        ORDER: order.name,
        "hoodie.datasource.write.operation": order.operation,
    }
    if order.partitions:
        chosen["hoodie.datasource.write.partitions.to.delete"] = ",".join(order.partitions)
    return chosen


class Writer:
    """Carries out orders on the table of a plan."""

    def __init__(self, plan: Plan, notes: Notes, *, write: Write | None = None) -> None:
        self._plan = plan
        self._runner = InProcessRunner()
        self._environment = self.environment(self._runner, plan, notes)
        self._write = write or self._write_here

    @staticmethod
    def environment(runner: Runner, plan: Plan, notes: Notes) -> Environment:
        """Storages of the plan, and locks that are noted."""

        def noted_lock(storage: Storage, config: LockConfig, clock: Clock) -> TableLock:
            return NotedLock(open_lock(storage, config, clock), notes)

        return Environment(
            runner=runner,
            clock=SystemClock(),
            open_storage=partial(open_storage, storage_options=plan.storage_options),
            open_lock=noted_lock,
        )

    def carry_out(self, order: Order) -> JobResult | None:
        """Do what an order says; None where there was nothing to try."""
        if order.operation not in SERVICES:
            return self._write(order, options_of(self._plan, order))
        return self._serve(order.operation)

    def _write_here(self, order: Order, options: dict[str, str]) -> JobResult:
        table = rows_of(order)
        rows = None if table is None else LocalRows.of(self._runner, table)
        return write_rows(self._environment, rows, self._plan.uri, options)

    def _serve(self, service: str) -> JobResult | None:
        asked = {"base_path": self._plan.uri, "hoodie_conf": self._options_of_services()}
        match service:
            case "clean":
                return clean_table(self._environment, CleanRequest(**asked))
            case "archive":
                return archive_table(self._environment, ArchiveRequest(**asked))
            case "rollback":
                return self._roll_a_dead_one_back(asked)
        modes = {"plan_compaction": "schedule", "run_compaction": "execute"}
        mode = modes.get(service, "schedule_and_execute")
        return compact_table(self._environment, CompactionRequest(mode=mode, **asked))

    def _roll_a_dead_one_back(self, asked: dict[str, object]) -> JobResult | None:
        """Roll the oldest dead write back; to name a live one would take it back if it ends."""
        storage = self._environment.open_storage(self._plan.uri)
        heartbeat = WriteConfig.from_options(self._plan.options).heartbeat
        for pending in load_table(storage).timeline.pending_writes():
            now_ms = self._environment.clock.now_ms()
            if not is_alive(storage, pending.time, now_ms=now_ms, config=heartbeat):
                request = RollbackRequest(instant=pending.time, **asked)
                return rollback_table(self._environment, request)
        return None

    def _options_of_services(self) -> dict[str, str]:
        return {
            name: value
            for name, value in self._plan.options.items()
            if not name.startswith("hoodie.datasource.write") and name != "hoodie.table.name"
        }


def carry_out_noted(writer: Writer, notes: Notes, order: Order) -> None:
    """Note an order, carry it out, and note what came of it."""
    notes.add("begin", order=order.as_dict())
    try:
        done = writer.carry_out(order)
    except HudiError as error:
        is_told = isinstance(error, (ConflictError, RequestError))
        said = str(error) if is_told else traceback.format_exc()
        notes.add("refused", order=order.name, error=type(error).__name__, said=said)
        return
    except Exception:  # noqa: BLE001 - the checker tells of it
        notes.add("failed", order=order.name, said=traceback.format_exc())
        return
    if done is None:
        notes.add("done", order=order.name, status="nothing_to_do", instant=None)
        return
    notes.add(
        "done",
        order=order.name,
        status=done.status,
        instant=done.instant,
        conflicts=done.conflicts,
        anomaly=done.anomaly,
    )


def look_away() -> None:
    """Take the look for conflicts out of this process."""

    def agree(self: Shared, writer: object, instant: object, metadata: object) -> object:
        return metadata

    Shared.agree = agree  # type: ignore[method-assign]
    Shared.overlooked = lambda *_: None  # type: ignore[method-assign]


def main() -> None:
    plan, number, life = Plan.load(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    notes = Notes(plan.notes(f"writer{number}"))
    write = None
    if number < plan.spark:
        from tests.rivals.spark import spark_write

        write = spark_write(plan)
    if plan.unchecked:
        look_away()
    writer = Writer(plan, notes, write=write)
    drawing = Drawing(plan, number, life)
    notes.add("up", life=life)
    began = plan.began()
    while (elapsed_s := time.monotonic() - began) < plan.seconds:
        carry_out_noted(writer, notes, drawing.next(elapsed_s))
        time.sleep(drawing.pause_s())
    notes.add("ended", life=life)


if __name__ == "__main__":
    main()
