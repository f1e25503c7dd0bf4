"""Plan a compaction, run it, or take the plan back.

::

    schedule ── P.compaction.requested ──▶ new log files name P as their base
       run: heartbeat ── inflight ── base files ──▶ P.commit (the commit point)
                         └── any failure: files deleted, inflight deleted, the plan stays

Writers go on all the while. Only planning and taking back need that nobody writes: a writer chooses
the names of its log files by the plans that it sees when it begins. In table versions 8 and 9 no
name tells the plan: what is completed after it was requested lies on top of it.

Source: ScheduleCompactionActionExecutor, RunCompactionActionExecutor, HoodieTable
.rollbackInflightCompaction and CompactionAdminClient, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.options.clean import FAILED_WRITES
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.errors import ConflictError, RequestError, WriterAtWorkError
from pyhudi.filegroup.names import parse_base_file_name
from pyhudi.filegroup.slices import FileSlice, GroupId
from pyhudi.services.compaction.plan import is_due, plan_compaction
from pyhudi.services.compaction.slices import planned_slices
from pyhudi.services.recovery import recover
from pyhudi.services.rollback import revert_compaction, rollback_target, rollbacks_of
from pyhudi.table.table import Table
from pyhudi.timeline.active import Metadata, Seen
from pyhudi.timeline.clock import wait_until_after
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.heartbeat import Heartbeat, give_heartbeat_up
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import MarkedFile, read_markers
from pyhudi.transaction.optimistic.others import groups_marked
from pyhudi.transaction.spans import nobody_committing, take_heartbeat

_RUNS = 1_000_000_000
_NAMES = {Action.COMPACTION: "compaction", Action.LOG_COMPACTION: "log compaction"}
_log = logging.getLogger(__name__)


def schedule(
    writer: Writer,
    config: CompactionConfig,
    full_file_bytes: int,
    extra: Mapping[str, str] | None = None,
) -> str | None:
    """Plan a compaction if one is due; its instant, or None when there is nothing to do.

    What dead writers left is undone first. ``extra`` goes into the plan.

    Guarantees: no writer is at work while the plan is made, so none writes log files that neither
        the plan nor its instant knows of. Where writers go on beside each other, one that does so
        finds the plan when it commits, and is refused.

    Raises:
        ConflictError: another writer is at work.
        OptionError: a strategy that does not suit the table's partitions.
    """
    with undisturbed(writer) as (table, own):
        at = writer.active.next_time(writer.clock, table.timeline.latest_time)
        if not is_due(table.timeline, config, at):
            return None
        slices, claimed = table.latest_slices(), claimed_groups(table)
        if writer.gate.is_shared:
            claimed |= groups_being_written(table)
        plan = plan_compaction(
            slices,
            claimed,
            config,
            at=at,
            full_file_bytes=full_file_bytes,
        )
        _check_undisturbed(writer, own)
        requested = request(table, _compaction(at), plan, extra)
        if requested is not None:
            try:
                _check_undisturbed(writer, own)
            except ConflictError:
                # Others may go on from a plan that they have seen.
                if not _logs_on_top(table, at):
                    writer.active.remove(_compaction(at))
                raise
            _let_clocks_pass(writer, at)
        return requested


def _let_clocks_pass(writer: Writer, at: str) -> None:
    """Keep the lock until whoever completes a write afterwards does so later than a plan.

    What is completed earlier lies below it, and its base file would hide that. Others draw the time
    by clocks of their own.
    """
    config, concurrency = writer.table.config, writer.concurrency
    if writer.gate.is_shared and config.version.logs_name_their_write:
        wait_until_after(writer.clock, at, config.timezone, concurrency.clock_skew_ms)


def _check_undisturbed(writer: Writer, own: str) -> None:
    """Refuse to plan when others took this one for dead, and may be writing what no plan names.

    Raises:
        ConflictError: its instant, or the lock, is gone.
    """
    if writer.gate.is_shared:
        with writer.gate.hold() as lock:
            lock.confirm()
    elif not writer.active.load().contains(own):
        raise ConflictError(
            f"the planning of a compaction (instant {own}) was taken for dead by another writer; "
            "retry",
            where=writer.storage.uri,
        )


def unschedule(writer: Writer, instant: str) -> None:
    """Take the plan of a compaction back that has not run.

    Raises:
        RequestError: there is no such plan, it has begun to run, or log files were written on top
            of it, which only running it makes part of a slice that stays.
        ConflictError: another writer is at work, or the compaction runs.
    Source: CompactionAdminClient.unscheduleCompactionPlan, Hudi 0.15, which renames such log files;
    storages that cannot rename would show their rows twice or not at all meanwhile.
    """
    storage, active = writer.storage, writer.active
    take_heartbeat(writer, _compaction(instant))
    try:
        with nobody_committing(writer):
            found = find_unstarted(writer, Action.COMPACTION, instant)
            if on_top := _logs_on_top(writer.table, instant):
                raise RequestError(
                    f"{len(on_top)} log files were written on top of compaction {instant}, the "
                    f"first is {on_top[0]}; run the compaction instead",
                    where=storage.uri,
                )
            active.remove(found)
    finally:
        give_heartbeat_up(storage, instant)


def _logs_on_top(table: Table, instant: str) -> list[str]:
    logs = table.listing.files().log_files
    return [log.path for log in logs if log.name.base_instant == instant]


def find_unstarted(writer: Writer, action: Action, instant: str) -> Instant:
    """The planned instant of an action, which has not run.

    Raises:
        RequestError: there is no such plan, or it has begun to run.
    """
    found = find_planned_instant(writer.active.load(), action, instant)
    if found is None or found.state is not State.REQUESTED:
        what = "not planned" if found is None else f"{found.state.name.lower()} already"
        name = _NAMES[action]
        raise RequestError(f"{name} {instant} is {what}", where=writer.storage.uri)
    return found


def claimed_groups(table: Table) -> frozenset[GroupId]:
    """The file groups that a compaction or clustering is about to rewrite."""
    return frozenset({*table.pending_compactions(), *table.clustered_groups()})


def groups_being_written(table: Table) -> frozenset[GroupId]:
    """The file groups that writes are about to change, as their markers tell.

    To be asked after the files were listed. A plan leaves them out: it would name log files that go
    when such a write does not complete.
    """
    pending = table.timeline.pending_writes()
    return frozenset(group for each in pending for group in groups_marked(table, each))


def request(
    table: Table, requested: Instant, plan: CompactionPlan, extra: Mapping[str, str] | None
) -> str | None:
    """Put a plan on the timeline; its instant, or None for a plan without operations."""
    if not plan.operations:
        return None
    at = requested.time
    table.active.request(requested, replace(plan, extra_metadata=dict(extra or {})))
    count, what = len(plan.operations), requested.action.value
    _log.info("%s: %s %s of %d slices", table.storage.uri, what, at, count)
    return at


def find_planned_instant(timeline: Timeline, action: Action, instant: str) -> Instant | None:
    """The compaction or log compaction planned at an instant, in whatever state it is."""
    states = (action, action.completes_as)
    found = (each for each in timeline if each.time == instant and each.action in states)
    return next(found, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionWork:
    """What a run is to do: its plan, the table when it began, and the slices to compact.

    ``number`` takes the place of the stage in the write tokens of the run's files: that tells them
    from those of other runs of the same plan.
    """

    run: InstantRun
    table: Table
    plan: CompactionPlan
    slices: tuple[FileSlice, ...]
    number: int


@contextmanager
def compaction_run(writer: Writer, instant: str) -> Iterator[CompactionWork]:
    """One run of a planned compaction: entering makes it inflight, ``run.complete`` commits it.

    What an earlier run left is rolled back first. Leaving without ``complete`` rolls this one back,
    and the plan stays; when even that fails, the next run does it.

    Guarantees: of several that run one plan at most one goes on, the others get ConflictError.
    """
    planned, exclusion = _compaction(instant), OneRunOfAPlan()
    with InstantRun(writer, planned.action, planned=instant, exclusion=exclusion) as run:
        found = _not_yet_run(writer, writer.active.load(), instant)
        revert_compaction(writer.table, writer.clock, planned, writer.delete)
        plan = writer.active.read_compaction_plan(found)
        table = writer.table.refresh()
        # One that was slow, not dead, may have completed before it was undone.
        _not_yet_run(writer, table.timeline, instant)
        slices = planned_slices(plan, table, instant)
        number = run_number(writer)
        exclusion.remember(writer, table, instant, number)
        run.start(None, exclusion.undone_before)
        yield CompactionWork(run=run, table=table, plan=plan, slices=slices, number=number)


def _not_yet_run(writer: Writer, timeline: Timeline, instant: str) -> Instant:
    found = find_planned_instant(timeline, Action.COMPACTION, instant)
    if found is None:
        raise RequestError(f"there is no compaction {instant}", where=writer.storage.uri)
    if found.is_completed:
        raise ConflictError(f"compaction {instant} has just been run", where=writer.storage.uri)
    return found


class OneRunOfAPlan:
    """Writers pass by; other runs of the same plan are kept out.

    A run that was taken for dead is told by the rollback that the other made of it: those of
    earlier runs are ``undone_before``.
    """

    def __init__(self) -> None:
        self._earlier: frozenset[MarkedFile] = frozenset()
        self.undone_before: tuple[Instant, ...] = ()
        self._known: frozenset[str] = frozenset()
        self._number = 0

    def remember(self, writer: Writer, table: Table, instant: str, number: int) -> None:
        """What there is of earlier runs: of this run's time only what is not among it can be.

        The writes of the ``table`` are those whose log files the run knows.
        """
        self._number, self._known = number, _below(table.timeline, instant)
        self._earlier = frozenset(read_markers(writer.storage, instant))
        self.undone_before = rollbacks_of(writer.active, writer.active.load(), instant)

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Take the heartbeat, which only one run at a time has."""
        take_heartbeat(writer, instant)

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Refuse to go on where there are files of a later run."""
        if not all(each in self._earlier or self._is_own(each) for each in marked):
            raise _taken_over(writer, instant)
        self._check_not_taken_over(writer, instant)

    def check_held(
        self, writer: Writer, instant: Instant, _: Collection[str], __: Heartbeat
    ) -> None:
        """Whoever takes a run for dead rolls it back before anything else.

        A write that was taken back meanwhile may be in the files of the run.
        """
        self._check_not_taken_over(writer, instant)

    def _check_not_taken_over(self, writer: Writer, instant: Instant) -> None:
        timeline = writer.active.load()
        is_there = instant.in_state(State.INFLIGHT) in timeline.instants
        if (
            not is_there
            or rollbacks_of(writer.active, timeline, instant.time) != self.undone_before
        ):
            raise _taken_over(writer, instant)
        late = (each for each in _below(timeline, instant.time) if each not in self._known)
        if (found := next(late, None)) is not None:
            raise ConflictError(
                f"the write {found} has completed at a time before compaction {instant.time}, "
                "which does not know its log files and would hide them; run the compaction again",
                where=writer.storage.uri,
            )

    def agree(self, _: Writer, __: Instant, metadata: Metadata | None) -> Metadata | None:
        """Writers have seen the plan, and keep out of its way."""
        return metadata

    def overlooked(self, writer: Writer, instant: Instant, seen: Seen | None) -> None:
        """Whoever runs the plan has its heartbeat, with a lock or without."""

    def _is_own(self, marked: MarkedFile) -> bool:
        name = parse_base_file_name(marked.path.rpartition("/")[2])
        return name is not None and name.write_token.split("-")[1:2] == [str(self._number)]


def _below(timeline: Timeline, instant: str) -> frozenset[str]:
    """The writes whose log files lie below a compaction, where completion times tell."""
    done = timeline.completions()
    return frozenset(time for time, ended in done.items() if ended < instant)


def _being_undone(writer: Writer, timeline: Timeline) -> Iterator[str]:
    """The instants that pending rollbacks are about."""
    for found in timeline.pending():
        target = rollback_target(writer.active, found)
        if target is not None:
            yield target.time


def _taken_over(writer: Writer, instant: Instant) -> ConflictError:
    return ConflictError(
        f"compaction {instant.time} was taken over by another job", where=writer.storage.uri
    )


def _compaction(instant: str) -> Instant:
    return Instant(time=instant, action=Action.COMPACTION, state=State.REQUESTED)


@contextmanager
def undisturbed(writer: Writer) -> Iterator[tuple[Table, str]]:
    """A span in which nobody else writes and no dead write waits: the table, and an own instant.

    What dead writers left is undone first. Where writers go on beside each other, they do so, but
    none begins or commits meanwhile, and there is no own instant.

    Raises:
        ConflictError: another writer is at work.
    """
    recover(writer)
    with nobody_committing(writer) as own:
        table = writer.table.refresh()
        if not writer.gate.is_shared:
            _check_no_dead_write(writer, table, own)
        yield table, own


def run_number(writer: Writer) -> int:
    """What tells the files of a run from those of other runs of the same plan."""
    return writer.clock.now_ms() % _RUNS


def _check_no_dead_write(writer: Writer, table: Table, own: str) -> None:
    """Refuse to plan while a write waits to be rolled back: that deletes its log files."""
    for instant in table.timeline.pending_writes():
        if instant.time != own and table.active.clustered_groups(instant) is None:
            if not writer.undoes_dead:
                raise ConflictError(
                    f"the write {instant.time} has died, and {FAILED_WRITES.key} leaves it as it "
                    "is; roll it back first",
                    where=table.storage.uri,
                )
            raise WriterAtWorkError(
                f"the write {instant.time} has just died; retry, which rolls it back first",
                where=table.storage.uri,
            )
