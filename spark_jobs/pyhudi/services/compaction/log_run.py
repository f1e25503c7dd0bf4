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
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.errors import ConflictError, HudiError, RequestError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.logs import counted_blocks
from pyhudi.fileslice.reader import known_writes
from pyhudi.logfile.contents import columns_of_parts
from pyhudi.services.compaction.log_plan import candidates, plan_log_compaction, unchanged_slices
from pyhudi.services.compaction.run import (
    CompactionWork,
    claimed_groups,
    find_planned_instant,
    find_unstarted,
    request,
    run_number,
    undisturbed,
)
from pyhudi.services.recovery import recover
from pyhudi.table.pending import pending_log_compactions
from pyhudi.table.slice_reading import archived_writes
from pyhudi.table.table import Table
from pyhudi.timeline.active import Metadata, Seen
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.conflicts.conflict import ConflictRules
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.heartbeat import (
    Heartbeat,
    delete_heartbeat,
    give_heartbeat_up,
    start_heartbeat,
)
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import MarkedFile, delete_written
from pyhudi.transaction.optimistic.exclusion import Shared
from pyhudi.transaction.spans import nobody_committing, take_heartbeat

_READERS = 16
_FEW_SLICES = 16
_log = logging.getLogger(__name__)


def schedule_log_compaction(
    writer: Writer,
    config: CompactionConfig,
    full_file_bytes: int,
    extra: Mapping[str, str] | None = None,
) -> str | None:
    """Plan a log compaction where enough log blocks have gathered; its instant, or None.

    What dead writers left is undone first. ``extra`` goes into the plan.

    Raises:
        ConflictError: another writer is at work.
    """
    with undisturbed(writer) as (table, _):
        plan = log_compaction_now(table, config, full_file_bytes)
        at = writer.active.next_time(writer.clock, table.timeline.latest_time)
        return request(table, _log_compaction(at), plan, extra)


def log_compaction_now(
    table: Table, config: CompactionConfig, full_file_bytes: int
) -> CompactionPlan:
    """The log compaction that would be planned now; without operations when there is none."""
    planned = pending_log_compactions(table.active, table.timeline)
    claimed = claimed_groups(table) | planned
    blocks = _blocks_of(table, candidates(table.latest_slices(), claimed))
    return plan_log_compaction(blocks, config, full_file_bytes=full_file_bytes)


def unschedule_log_compaction(writer: Writer, instant: str) -> None:
    """Take the plan of a log compaction back that has not run.

    Raises:
        RequestError: there is no such plan, or it has run.
        ConflictError: another writer is at work, or the log compaction runs.
    """
    with nobody_committing(writer):
        writer.active.remove(find_unstarted(writer, Action.LOG_COMPACTION, instant))


@contextmanager
def log_compaction_run(writer: Writer, instant: str) -> Iterator[CompactionWork]:
    """One run of a planned log compaction: entering makes it inflight, ``run.complete`` commits it.

    Leaving without ``complete`` rolls it back, and the plan goes with it; when even that fails, the
    next writer does it.

    Guarantees: nobody else writes meanwhile, so that its blocks follow those that they stand for
        directly. Where writers go on beside each other, it is refused at its commit when others
        have written to its slices, as they are when it commits first.
    """
    if writer.gate.is_shared:
        with _run_beside_writers(writer, instant) as work:
            yield work
        return
    action = Action.LOG_COMPACTION
    with undisturbed(writer) as (table, lock):
        _check_planned(table, instant)
        exclusion = WritersKeptOut(lock)
        with InstantRun(writer, action, planned=instant, exclusion=exclusion) as run:
            plan = writer.active.read_compaction_plan(_log_compaction(instant))
            slices = _slices_of(plan, table, instant)
            run.start(None)
            number = run_number(writer)
            yield CompactionWork(run=run, table=table, plan=plan, slices=slices, number=number)


@contextmanager
def _run_beside_writers(writer: Writer, instant: str) -> Iterator[CompactionWork]:
    recover(writer)
    action, exclusion = Action.LOG_COMPACTION, ARunBesideWriters(writer)
    with InstantRun(writer, action, planned=instant, exclusion=exclusion) as run:
        table = exclusion.shared.table
        _check_planned(table, instant)
        plan = writer.active.read_compaction_plan(_log_compaction(instant))
        slices = _slices_of(plan, table, instant)
        run.start(None)
        number = run_number(writer)
        yield CompactionWork(run=run, table=table, plan=plan, slices=slices, number=number)


class ARunBesideWriters:
    """Writers go on, and whoever of them and the run commits second gives way."""

    def __init__(self, writer: Writer) -> None:
        self.shared = Shared(ConflictRules.of(writer.concurrency), is_planned=True)
        self.check_marked = self.shared.check_marked
        self.check_held = self.shared.check_held
        self.agree = self.shared.agree
        self.overlooked = self.shared.overlooked

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Take the heartbeat, which only one run at a time has, and the snapshot."""
        take_heartbeat(writer, instant)
        try:
            self.shared.begin(writer, instant)
        except HudiError:
            give_heartbeat_up(writer.storage, instant.time)
            raise


class WritersKeptOut:
    """All writers are kept out by a pending delta commit, the ``lock``."""

    def __init__(self, lock: str) -> None:
        self._lock = lock

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Start the heartbeat; one that an earlier run left behind is deleted first."""
        delete_heartbeat(writer.storage, instant.time)
        start_heartbeat(writer.storage, instant.time)

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Nobody else has files at this instant."""

    def check_held(
        self, writer: Writer, instant: Instant, files: Collection[str], _: Heartbeat
    ) -> None:
        """Whoever takes the run for dead rolls it back, and the lock with it."""
        timeline = writer.active.load()
        is_there = instant.in_state(State.INFLIGHT) in timeline.instants
        if is_there and timeline.contains(self._lock):
            return
        # The markers went with the rollback, and tasks may have gone on after it.
        delete_written(writer.storage, instant.time, files)
        raise ConflictError(
            f"log compaction {instant.time} was rolled back by another writer; plan another",
            where=writer.storage.uri,
        )

    def agree(self, _: Writer, __: Instant, metadata: Metadata | None) -> Metadata | None:
        """Nobody else has committed anything."""
        return metadata

    def overlooked(self, writer: Writer, instant: Instant, seen: Seen | None) -> None:
        """There is no lock."""


def _check_planned(table: Table, instant: str) -> None:
    found = find_planned_instant(table.timeline, Action.LOG_COMPACTION, instant)
    if found is None:
        raise RequestError(
            f"there is no log compaction {instant}; one that failed has taken its plan with it, so "
            "plan another",
            where=table.storage.uri,
        )
    if found.is_completed:
        raise ConflictError(f"log compaction {instant} has just been run", where=table.storage.uri)


def _slices_of(plan: CompactionPlan, table: Table, instant: str) -> tuple[FileSlice, ...]:
    """The slices of a plan that are as they were planned."""
    partitions = sorted({operation.partition for operation in plan.operations})
    slices = unchanged_slices(plan, table.latest_slices(partitions), claimed_groups(table))
    if len(slices) < len(plan.operations):
        _log.warning(
            "%s: of %d file slices of log compaction %s only %d are as they were planned",
            table.storage.uri,
            len(plan.operations),
            instant,
            len(slices),
        )
    return slices


def _log_compaction(instant: str) -> Instant:
    return Instant(time=instant, action=Action.LOG_COMPACTION, state=State.REQUESTED)


def _blocks_of(
    table: Table, slices: Iterable[FileSlice]
) -> list[tuple[FileSlice, tuple[str, ...]]]:
    """Each slice with the instants of its log blocks that count, found by reading their headers.

    Without any where some hold parts of rows, which stay as they are until a compaction fills them.
    """
    is_committed = table.timeline.committed_test()
    archived = archived_writes(table)

    def instants(found: FileSlice) -> tuple[str, ...]:
        names = [log.path for log in found.log_files]
        writes = known_writes(table.storage, found, archived)
        blocks = counted_blocks(names, table.storage.open_input, is_committed, writes=writes)
        has_parts = any(columns_of_parts(block) is not None for block in blocks)
        return () if has_parts else tuple(block.instant for block in blocks)

    chosen = list(slices)
    if len(chosen) < _FEW_SLICES:
        return [(each, instants(each)) for each in chosen]
    with ThreadPoolExecutor(max_workers=_READERS) as threads:
        return list(zip(chosen, threads.map(instants, chosen), strict=True))
