"""Plan a compaction, run it, or take the plan back.

::

    schedule ── P.compaction.requested ──▶ new log files name P as their base
       run: sign P ── inflight ── base files ──▶ P.commit (the commit point)
                         └── any failure: files deleted, inflight deleted, the plan stays

Writers go on all the while. Only planning and taking back need that nobody writes: a writer chooses
the names of its log files by the plans that it sees when it begins.

Source: ScheduleCompactionActionExecutor, RunCompactionActionExecutor, HoodieTable
.rollbackInflightCompaction and CompactionAdminClient, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    RequestError,
)
from pyhudi.filegroup.listing import StorageListing
from pyhudi.filegroup.names import parse_base_file_name
from pyhudi.filegroup.slices import FileSlice
from pyhudi.filegroup.view import GroupId
from pyhudi.services.compaction_plan import is_due, plan_compaction
from pyhudi.services.rollback import recover, revert_compaction, rollbacks_of
from pyhudi.storage.storage import Storage
from pyhudi.table.pending import read_plan
from pyhudi.table.table import Table, load_table
from pyhudi.timeline import active
from pyhudi.timeline.clock import next_instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.clustering import clustered_by, pending_clustering_groups
from pyhudi.transaction.completion import delete_markers_after_commit, land
from pyhudi.transaction.heartbeat import Heartbeat, forget, is_alive, sign, unsign
from pyhudi.transaction.markers import MarkedFile, read_markers
from pyhudi.transaction.transaction import Transaction, Writer

_RUNS = 1_000_000_000
_log = logging.getLogger(__name__)


def schedule(
    writer: Writer,
    config: CompactionConfig,
    *,
    full_file_bytes: int,
    extra: Mapping[str, str] | None = None,
) -> str | None:
    """Plan a compaction if one is due; its instant, or None when there is nothing to do.

    What dead writers left is undone first. ``extra`` goes into the plan.

    Guarantees: no writer is at work while the plan is made, so none writes log files that neither
        the plan nor its instant knows of.

    Raises:
        ConflictError: another writer is at work.
        OptionError: a strategy that does not suit the table's partitions.
    """
    with undisturbed(writer) as (table, _):
        after = table.timeline.latest_time
        at = next_instant_time(writer.clock, writer.config.timezone, after)
        if not is_due(table.timeline, config, at):
            return None
        plan = plan_compaction(
            table.latest_slices(),
            claimed_groups(table),
            config,
            at=at,
            full_file_bytes=full_file_bytes,
        )
        return request(table, _compaction(at, State.REQUESTED), plan, extra)


def unschedule(writer: Writer, instant: str) -> None:
    """Take the plan of a compaction back that has not run.

    Raises:
        RequestError: there is no such plan, it has begun to run, or log files were written on top
            of it, which only running it makes part of a slice that stays.
        ConflictError: another writer is at work, or the compaction runs.
    Source: CompactionAdminClient.unscheduleCompactionPlan, Hudi 0.15, which renames such log files;
    storages that cannot rename would show their rows twice or not at all meanwhile.
    """
    storage, version = writer.storage, writer.config.version
    _claim(writer, instant)
    try:
        with nobody_writing(writer):
            found = find_compaction(active.load(storage, version), instant)
            if found is None or found.state is not State.REQUESTED:
                what = "not planned" if found is None else f"{found.state.name.lower()} already"
                raise RequestError(f"compaction {instant} is {what}", where=storage.uri)
            _, logs = StorageListing(storage).base_and_log_files()
            on_top = [log.path for log in logs if log.name.base_instant == instant]
            if on_top:
                raise RequestError(
                    f"{len(on_top)} log files were written on top of compaction {instant}, the "
                    f"first is {on_top[0]}; run the compaction instead",
                    where=storage.uri,
                )
            active.remove(storage, version, found)
    finally:
        unsign(storage, instant)


def claimed_groups(table: Table) -> frozenset[GroupId]:
    """The file groups that a compaction or clustering is about to rewrite."""
    storage, version = table.storage, table.config.version
    clustered = pending_clustering_groups(storage, version, table.timeline)
    return frozenset({*table.pending_compactions(), *clustered})


def request(
    table: Table, requested: Instant, plan: CompactionPlan, extra: Mapping[str, str] | None
) -> str | None:
    """Put a plan on the timeline; its instant, or None for a plan without operations."""
    if not plan.operations:
        return None
    storage, at = table.storage, requested.time
    body = replace(plan, extra_metadata=dict(extra or {})).to_bytes()
    active.write_state(storage, table.config.version, requested, body)
    count, what = len(plan.operations), requested.action.value
    _log.info("%s: %s %s of %d slices", storage.uri, what, at, count)
    return at


def find_compaction(timeline: Timeline, instant: str) -> Instant | None:
    """The compaction planned at an instant, in whatever state it is."""
    states = (Action.COMPACTION, Action.COMMIT)
    found = (each for each in timeline if each.time == instant and each.action in states)
    return next(found, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionWork:
    """What a run is to do: its plan, the table when it began, and the slices to compact.

    ``run`` takes the place of the stage in the write tokens of its files: that tells them from
    those of other runs of the same plan.
    """

    table: Table
    plan: CompactionPlan
    slices: tuple[FileSlice, ...]
    run: int


class CompactionRun:
    """One run of a planned compaction as a context: entering makes it inflight.

    What an earlier run left is rolled back first. Leaving without ``complete`` rolls this one back,
    and the plan stays; when even that fails, the next run does it.

    Guarantees: of several that run one plan at most one goes on, the others get ConflictError.
    """

    def __init__(self, writer: Writer, instant: str) -> None:
        self._writer, self._instant = writer, instant
        self._is_complete = False

    def __enter__(self) -> CompactionWork:
        writer = self._writer
        _claim(writer, self._instant)
        self._heartbeat = Heartbeat(writer.storage, self._instant, writer.heartbeat)
        self._heartbeat.__enter__()
        try:
            return self._begin()
        except BaseException:
            self._heartbeat.__exit__(None, None, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if not self._is_complete:
                self._undo()
        finally:
            self._heartbeat.__exit__(None, None, None)

    def complete(self, metadata: bytes, committed: frozenset[str]) -> None:
        """Commit: the files in ``committed`` become the table's, all others of the instant go.

        Raises:
            ConflictError: the run was taken for dead, and another has rolled it back.
        """
        storage, version = self._writer.storage, self._writer.config.version
        for path in self._strays(committed):
            storage.delete(path)
        self._check_still_ours()
        done = _compaction(self._instant, State.COMPLETED)
        land(storage, version, done, metadata)  # the commit point
        self._is_complete = True
        delete_markers_after_commit(storage, self._instant)

    def _begin(self) -> CompactionWork:
        writer, instant = self._writer, self._instant
        storage, version = writer.storage, writer.config.version
        found = find_compaction(active.load(storage, version), instant)
        if found is None:
            raise RequestError(f"there is no compaction {instant}", where=storage.uri)
        if found.is_completed:
            raise ConflictError(f"compaction {instant} has just been run", where=storage.uri)
        revert_compaction(storage, writer.config, writer.clock, instant)
        plan = read_plan(storage, version, found)
        table = load_table(storage)
        slices = _slices_of(plan, storage)
        self._run = run_number(writer)
        self._earlier = frozenset(read_markers(storage, instant))
        self._rollbacks = self._rollbacks_now()
        active.write_state(storage, version, _compaction(instant, State.INFLIGHT), b"")
        return CompactionWork(table=table, plan=plan, slices=slices, run=self._run)

    def _rollbacks_now(self) -> tuple[str, ...]:
        writer = self._writer
        timeline = active.load(writer.storage, writer.config.version)
        return rollbacks_of(writer.storage, writer.config, timeline, self._instant)

    def _strays(self, committed: frozenset[str]) -> tuple[str, ...]:
        """The files of this run's and earlier runs' attempts that do not count."""
        marked = read_markers(self._writer.storage, self._instant)
        if not all(each in self._earlier or self._is_own(each) for each in marked):
            raise self._taken_over()
        self._check_still_ours()
        return tuple(each.path for each in marked if each.path not in committed)

    def _is_own(self, marked: MarkedFile) -> bool:
        name = parse_base_file_name(marked.path.rpartition("/")[2])
        return name is not None and name.write_token.split("-")[1:2] == [str(self._run)]

    def _check_still_ours(self) -> None:
        """Whoever takes a run for dead rolls it back before anything else."""
        writer = self._writer
        timeline = active.load(writer.storage, writer.config.version)
        is_there = _compaction(self._instant, State.INFLIGHT) in timeline.instants
        if not is_there or self._rollbacks_now() != self._rollbacks:
            raise self._taken_over()

    def _taken_over(self) -> ConflictError:
        return ConflictError(
            f"compaction {self._instant} was taken over by another job",
            where=self._writer.storage.uri,
        )

    def _undo(self) -> None:
        writer = self._writer
        try:
            if self._rollbacks_now() == self._rollbacks:
                revert_compaction(writer.storage, writer.config, writer.clock, self._instant)
        except HudiError as failure:
            _log.warning(
                "compaction %s is left for its next run to roll back: %s", self._instant, failure
            )


def _compaction(instant: str, state: State) -> Instant:
    action = Action.COMMIT if state is State.COMPLETED else Action.COMPACTION
    return Instant(time=instant, action=action, state=state)


@contextmanager
def undisturbed(writer: Writer) -> Iterator[tuple[Table, str]]:
    """A span in which nobody else writes and no dead write waits: the table, and an own instant.

    What dead writers left is undone first.

    Raises:
        ConflictError: another writer is at work.
    """
    recover(writer)
    with nobody_writing(writer) as own:
        table = load_table(writer.storage)
        _check_no_dead_write(table, own)
        yield table, own


def run_number(writer: Writer) -> int:
    """What tells the files of a run from those of other runs of the same plan."""
    return writer.clock.now_ms() % _RUNS


def _check_no_dead_write(table: Table, own: str) -> None:
    """Refuse to plan while a write waits to be rolled back: that deletes its log files."""
    storage, version = table.storage, table.config.version
    for instant in table.timeline.pending_writes():
        if instant.time != own and clustered_by(storage, version, instant) is None:
            raise ConflictError(
                f"the write {instant.time} has just died; retry, which rolls it back first",
                where=storage.uri,
            )


@contextmanager
def nobody_writing(writer: Writer) -> Iterator[str]:
    """A span in which no other writer can begin: an instant, given here, is withdrawn at its end.

    Raises:
        ConflictError: another writer is at work.
    """
    with Transaction(writer, Action.DELTA_COMMIT) as lock:
        try:
            yield lock.instant
        finally:
            lock.withdraw()


def _claim(writer: Writer, instant: str) -> None:
    """Sign a compaction's heartbeat, or take it from one that died.

    Raises:
        ConflictError: another job runs the compaction.
    """
    storage = writer.storage
    if sign(storage, instant):
        return
    if _is_alive(writer, instant):
        raise _runs_already(storage, instant)
    # Of several that find it dead only one may take it, so nobody else may be here.
    with nobody_writing(writer):
        if _is_alive(writer, instant):
            raise _runs_already(storage, instant)
        forget(storage, instant)
        if not sign(storage, instant):
            raise _runs_already(storage, instant)


def _is_alive(writer: Writer, instant: str) -> bool:
    now_ms = writer.clock.now_ms()
    return is_alive(writer.storage, instant, now_ms=now_ms, config=writer.heartbeat)


def _runs_already(storage: Storage, instant: str) -> ConflictError:
    return ConflictError(
        f"another job runs compaction {instant}; retry when it has ended", where=storage.uri
    )


def _slices_of(plan: CompactionPlan, storage: Storage) -> tuple[FileSlice, ...]:
    """The slices of a plan with the sizes of their files.

    Raises:
        CorruptTableError: a file of the plan is gone.
    """
    partitions = sorted({operation.partition for operation in plan.operations})
    files, logs = StorageListing(storage).base_and_log_files(partitions)
    bases = {(file.partition, file.name): file for file in files}
    by_name = {(log.partition, str(log.name)): log for log in logs}
    found = []
    for each in plan.operations:
        wanted = [(each.partition, name) for name in each.log_files]
        base = None if each.base_file is None else (each.partition, each.base_file)
        lost = [name for _, name in wanted if (each.partition, name) not in by_name]
        if base is not None and base not in bases:
            lost.append(base[1])
        if lost:
            raise CorruptTableError(
                f"the compaction plan names {lost[0]} in partition {each.partition!r}, which is "
                "not there; unschedule the compaction and plan another",
                where=storage.uri,
            )
        found.append(
            FileSlice(
                partition=each.partition,
                file_id=each.file_id,
                base_instant=each.base_instant,
                base_file=None if base is None else bases[base],
                log_files=tuple(by_name[name] for name in wanted),
            )
        )
    return tuple(found)
