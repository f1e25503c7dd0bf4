"""Plan a log compaction, run it, or take the plan back.

::

    schedule ── L.logcompaction.requested
       run: nobody else writes ── inflight ── log files ──▶ L.deltacommit (the commit point)
                                     └── any failure: log files, inflight and plan deleted

Unlike a compaction it is a write like others while it runs: it appends to log files that writers
append to. Its plan binds nobody, and is carried out where it still fits.

Source: ScheduleCompactionActionExecutor, LogCompactionExecutionHelper, BaseHoodieTableServiceClient
.logCompact and HoodieTable.rollbackInflightLogCompaction, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.logs import counted_blocks
from pyhudi.services.compaction import (
    CompactionWork,
    claimed_groups,
    nobody_writing,
    request,
    run_number,
    undisturbed,
)
from pyhudi.services.log_compaction_plan import (
    candidates,
    plan_log_compaction,
    unchanged_slices,
)
from pyhudi.services.rollback import roll_back
from pyhudi.table.pending import pending_log_compactions, read_plan
from pyhudi.table.table import Table
from pyhudi.timeline import active
from pyhudi.timeline.clock import next_instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.completion import delete_markers_after_commit, land
from pyhudi.transaction.heartbeat import Heartbeat, forget, sign
from pyhudi.transaction.markers import delete_strays
from pyhudi.transaction.transaction import Writer

_READERS = 16
_FEW_SLICES = 16
_log = logging.getLogger(__name__)


def schedule_log_compaction(
    writer: Writer,
    config: CompactionConfig,
    *,
    full_file_bytes: int,
    extra: Mapping[str, str] | None = None,
) -> str | None:
    """Plan a log compaction where enough log blocks have gathered; its instant, or None.

    What dead writers left is undone first. ``extra`` goes into the plan.

    Raises:
        ConflictError: another writer is at work.
    """
    with undisturbed(writer) as (table, _):
        version = table.config.version
        planned = pending_log_compactions(table.storage, version, table.timeline)
        claimed = claimed_groups(table) | planned
        blocks = _blocks_of(table, candidates(table.latest_slices(), claimed))
        plan = plan_log_compaction(blocks, config, full_file_bytes=full_file_bytes)
        at = next_instant_time(writer.clock, writer.config.timezone, table.timeline.latest_time)
        return request(table, _log_compaction(at, State.REQUESTED), plan, extra)


def unschedule_log_compaction(writer: Writer, instant: str) -> None:
    """Take the plan of a log compaction back that has not run.

    Raises:
        RequestError: there is no such plan, or it has run.
        ConflictError: another writer is at work, or the log compaction runs.
    """
    storage, version = writer.storage, writer.config.version
    with nobody_writing(writer):
        found = find_log_compaction(active.load(storage, version), instant)
        if found is None or found.state is not State.REQUESTED:
            what = "not planned" if found is None else f"{found.state.name.lower()} already"
            raise RequestError(f"log compaction {instant} is {what}", where=storage.uri)
        active.remove(storage, version, found)


def find_log_compaction(timeline: Timeline, instant: str) -> Instant | None:
    """The log compaction planned at an instant, in whatever state it is."""
    states = (Action.LOG_COMPACTION, Action.DELTA_COMMIT)
    found = (each for each in timeline if each.time == instant and each.action in states)
    return next(found, None)


class LogCompactionRun:
    """One run of a planned log compaction as a context: entering makes it inflight.

    Leaving without ``complete`` rolls it back, and the plan goes with it; when even that fails, the
    next writer does it.

    Guarantees: nobody else writes meanwhile, so that its blocks follow those that they stand for
        directly.
    """

    def __init__(self, writer: Writer, instant: str) -> None:
        self._writer, self._instant = writer, instant
        self._is_complete = False
        self._own = ""
        self._held = ExitStack()

    def __enter__(self) -> CompactionWork:
        with ExitStack() as held:
            table, self._own = held.enter_context(undisturbed(self._writer))
            self._check_planned(table)
            held.enter_context(_heartbeat(self._writer, self._instant))
            work = self._start(table)
            self._held = held.pop_all()
        return work

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._held:
            if not self._is_complete:
                self._undo()

    def complete(self, metadata: bytes, committed: frozenset[str]) -> None:
        """Commit: the log files in ``committed`` become the table's, all others of the run go.

        Raises:
            ConflictError: the run was taken for dead, and another writer has rolled it back.
        """
        storage, version = self._writer.storage, self._writer.config.version
        delete_strays(storage, self._instant, committed)
        timeline = active.load(storage, version)
        inflight = _log_compaction(self._instant, State.INFLIGHT)
        if inflight not in timeline.instants or not timeline.contains(self._own):
            # The markers went with the rollback, and tasks may have gone on after it.
            for path in committed:
                storage.delete(path)
            raise ConflictError(
                f"log compaction {self._instant} was rolled back by another writer; plan another",
                where=storage.uri,
            )
        done = _log_compaction(self._instant, State.COMPLETED)
        land(storage, version, done, metadata)  # the commit point
        self._is_complete = True
        delete_markers_after_commit(storage, self._instant)

    def _check_planned(self, table: Table) -> None:
        storage = table.storage
        found = find_log_compaction(table.timeline, self._instant)
        if found is None:
            raise RequestError(
                f"there is no log compaction {self._instant}; one that failed has taken its plan "
                "with it, so plan another",
                where=storage.uri,
            )
        if found.is_completed:
            raise ConflictError(
                f"log compaction {self._instant} has just been run", where=storage.uri
            )

    def _start(self, table: Table) -> CompactionWork:
        storage, version = self._writer.storage, self._writer.config.version
        requested = _log_compaction(self._instant, State.REQUESTED)
        plan = read_plan(storage, version, requested, Action.LOG_COMPACTION)
        partitions = sorted({operation.partition for operation in plan.operations})
        slices = unchanged_slices(plan, table.latest_slices(partitions), claimed_groups(table))
        if len(slices) < len(plan.operations):
            _log.warning(
                "%s: of %d file slices of log compaction %s only %d are as they were planned",
                storage.uri,
                len(plan.operations),
                self._instant,
                len(slices),
            )
        inflight = _log_compaction(self._instant, State.INFLIGHT)
        active.write_state(storage, version, inflight, b"")
        return CompactionWork(table=table, plan=plan, slices=slices, run=run_number(self._writer))

    def _undo(self) -> None:
        writer = self._writer
        try:
            roll_back(writer.storage, writer.config, writer.clock, self._instant)
        except HudiError as failure:
            _log.warning(
                "log compaction %s is left for the next writer to roll back: %s",
                self._instant,
                failure,
            )


def _log_compaction(instant: str, state: State) -> Instant:
    is_done = state is State.COMPLETED
    action = Action.DELTA_COMMIT if is_done else Action.LOG_COMPACTION
    return Instant(time=instant, action=action, state=state)


@contextmanager
def _heartbeat(writer: Writer, instant: str) -> Iterator[None]:
    """The sign of life of a run; one that an earlier run left behind is taken away first."""
    forget(writer.storage, instant)
    sign(writer.storage, instant)
    with Heartbeat(writer.storage, instant, writer.heartbeat):
        yield


def _blocks_of(
    table: Table, slices: Iterable[FileSlice]
) -> list[tuple[FileSlice, tuple[str, ...]]]:
    """Each slice with the instants of its log blocks that count, found by reading their headers."""
    is_committed = table.timeline.committed_test()

    def instants(found: FileSlice) -> tuple[str, ...]:
        names = [log.path for log in found.log_files]
        blocks = counted_blocks(names, table.storage.open_input, is_committed)
        return tuple(block.instant for block in blocks)

    chosen = list(slices)
    if len(chosen) < _FEW_SLICES:
        return [(each, instants(each)) for each in chosen]
    with ThreadPoolExecutor(max_workers=_READERS) as threads:
        return list(zip(chosen, threads.map(instants, chosen), strict=True))
