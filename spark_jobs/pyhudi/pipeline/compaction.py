"""Compaction from request to result: plan it, run it over tasks, or take the plan back."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.known import check_known
from pyhudi.config.options.clean import FailedWritesPolicy
from pyhudi.config.options.compaction import INLINE
from pyhudi.config.table import TableType
from pyhudi.config.write import WriteConfig
from pyhudi.errors import RequestError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.reading import SliceReading
from pyhudi.jobs.compaction import (
    COMPACTION_KIND,
    LOG_COMPACTION,
    LOG_COMPACTION_KIND,
    CompactionRequest,
)
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.files.routing import STAT_SCHEMA, stat_batch, stats_of
from pyhudi.pipeline.stopwatch import Stopwatch
from pyhudi.pipeline.undo.deletion import deleting_over_tasks
from pyhudi.pipeline.write_run import WriteRun, note_files
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.compaction.job import (
    check_compactable,
    compaction_job,
    compaction_merge,
    compaction_metadata,
)
from pyhudi.services.compaction.kinds import CompactionKind, WriteSlice, compaction_kind
from pyhudi.services.compaction.plan import is_due
from pyhudi.services.compaction.run import CompactionWork, find_planned_instant
from pyhudi.services.recovery import writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.committed import METRICS, STAMP, EarlierCommit, find_committed, look_back
from pyhudi.table.metadata_table import disable
from pyhudi.table.pending import find_planned
from pyhudi.table.result import job_result
from pyhudi.table.table import Table, load_table
from pyhudi.timeline.instant import Instant
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.gate import Gate
from pyhudi.transaction.optimistic.conditions import check_no_metadata_table
from pyhudi.transaction.turn import Turn
from pyhudi.write.context import WriteContext
from pyhudi.write.encoding import full_file_bytes
from pyhudi.write.plan.sharing import share_tasks

# Slices share a task as long as neither their base files nor their log files are much.
_TASK_BASE_BYTES = 32 << 20
_TASK_LOG_BYTES = 8 << 20

T = TypeVar("T")

_log = logging.getLogger(__name__)


def compact_table(environment: Environment, request: CompactionRequest) -> JobResult:
    """Carry out a request for compactions of a table.

    Raises:
        RequestError: options and table do not fit, or there is no such compaction.
        ConflictError: another job runs the compaction, or writers were at work for too long.
        PlatformError: disk, network or runner failed; a compaction that was planned stays planned.
    """
    request.check()
    options = request.options()
    check_known(options)
    service = compaction_service(
        environment,
        compaction_kind(request.kind),
        environment.open_storage(request.base_path),
        WriteConfig.from_options(options),
        request.commit_metadata,
    )
    named = _named_instant(request, service.table)
    match request.mode:
        case "unschedule":
            return service.unschedule(named)
        case "execute":
            return service.execute(named or service.oldest_pending())
        case "schedule":
            return service.schedule()
        case _:
            return service.schedule_and_execute()


def _named_instant(request: CompactionRequest, table: Table) -> str:
    """The instant that a request names, in the digits of the table's timeline; empty for none."""
    if not request.instant:
        return ""
    return parse_exact_instant(request.instant).on(table.config.timezone)


def compact_after(run: WriteRun, result: JobResult) -> None:
    """Plan and run compactions after a write, as its options ask for.

    Those that are pending are run first. Where nothing is asked for, the log says when a compaction
    is due.

    Raises:
        HudiError: a compaction failed; one that was planned stays planned.
    Source: BaseHoodieTableServiceClient.runTableServicesInline, Hudi 0.15 and 1.1.
    """
    config = run.config.compaction
    is_asked = config.is_inline or config.is_scheduled_inline or config.is_log_inline
    if run.target.config.table_type is not TableType.MERGE_ON_READ:
        return
    if not is_asked:
        _say_when_due(run, result)
        return
    service = partial(
        compaction_service,
        run.environment,
        storage=run.target.storage,
        config=run.config,
        commit_metadata={},
    )
    with run.watch.stage("compact"):
        if config.is_inline:
            service(kind=compaction_kind(COMPACTION_KIND)).execute_all()
        elif config.is_scheduled_inline:
            service(kind=compaction_kind(COMPACTION_KIND)).schedule_unless_pending()
        if config.is_log_inline:
            service(kind=compaction_kind(LOG_COMPACTION_KIND)).execute_all()


def _say_when_due(run: WriteRun, result: JobResult) -> None:
    table = run.target.table
    if not table or not result.instant:
        return
    if is_due(table.timeline, run.config.compaction, result.instant):
        _log.info(
            "%s: a compaction is due: reads merge the log files of every write since the last one; "
            "PyhudiCompactionOperator, pyhudi.spark.compact or %s=true compacts them",
            result.table,
            INLINE.key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionService:
    """The compactions of one kind of a table. ``extra`` goes into plans and commits."""

    environment: Environment
    kind: CompactionKind
    table: Table
    config: WriteConfig
    extra: Mapping[str, str]
    watch: Stopwatch
    turn: Turn
    gate: Gate

    def schedule(self) -> JobResult:
        """Plan a compaction where one is due."""
        table, key = self.table.refresh(), self.extra.get(STAMP)
        # The plan that an earlier try of this request made stands for it.
        found = find_planned(table.active, table.timeline, key, self.kind.action) if key else None
        if found is None:
            found = self._in_turn(partial(self._plan, table))
        if found is None:
            return self._nothing("due")
        return self._result("scheduled", found)

    def schedule_and_execute(self) -> JobResult:
        """Plan a compaction where one is due and run it, unless an earlier try of it has."""
        key, table = self.extra.get(STAMP), self.table.refresh()
        earlier = self._earlier(table, key) if key else None
        if earlier is not None:
            return self._result("already_committed", earlier.instant, earlier.stats)
        planned = self.schedule()
        return planned if planned.instant is None else self.execute(planned.instant)

    def execute_all(self) -> None:
        """Run what is planned, then what is due."""
        while pending := self.oldest_pending():
            self.execute(pending)
        self.schedule_and_execute()

    def schedule_unless_pending(self) -> None:
        """Plan what is due, where nothing is planned."""
        if self.oldest_pending() is None:
            self.schedule()

    def execute(self, instant: str | None) -> JobResult:
        """Run a planned compaction; without one there is nothing to do."""
        if instant is None:
            return self._nothing("pending")
        table = self.table.refresh()
        found = find_planned_instant(table.timeline, self.kind.action, instant)
        if found is not None and found.is_completed:
            return self._result("already_committed", instant, self._stats_at(table, found))
        key = self.extra.get(STAMP)
        earlier = self._earlier(table, key) if found is None and key else None
        if earlier is not None and earlier.instant == instant:
            return self._result("already_committed", instant, earlier.stats)
        if self.gate.is_shared:
            check_no_metadata_table(table)
        if found is not None and table.config.metadata_partitions:
            disable(table.storage, table.config)
        with ExitStack() as held:
            run = partial(self.kind.run, self._writer(table), instant)
            work = self._in_turn(lambda: held.enter_context(run()))
            merge = compaction_merge(work.table, instant, self.config)
            context = compaction_job(work.table, instant, self.config, merge)
            with self.watch.stage("write") as noted:
                stats = _write(self.environment.runner, work, context, merge, self.kind.write_slice)
                note_files(noted, stats)
            with self.watch.stage("commit"):
                paths = frozenset(stat.path for stat in stats if stat.path)
                extra = {**self.extra, METRICS: json.dumps(self.watch.stages())}
                name = self.kind.commit_name
                metadata = compaction_metadata(work.table, stats, extra, name)
                work.run.complete(metadata, paths)
        return self._result("committed", instant, tuple(stats))

    def unschedule(self, instant: str) -> JobResult:
        """Take a plan back that has not run."""
        self._in_turn(partial(self.kind.unschedule, self._writer(self.table), instant))
        return self._result("unscheduled", instant)

    def oldest_pending(self) -> str | None:
        """The instant of the oldest compaction that is planned and not done."""
        return self.kind.oldest_pending(self.table.active.load())

    def _earlier(self, table: Table, key: str) -> EarlierCommit | None:
        """The commit that an earlier try of this request made."""
        now_ms = self.environment.clock.now_ms()
        since = look_back(self.config.idempotency.since, now_ms, table.config.timezone)
        return find_committed(table, key, since=since)

    def _stats_at(self, table: Table, completed: Instant) -> tuple[WriteStat, ...]:
        metadata = table.active.read_commit(completed)
        if metadata.operation_type not in ("UNKNOWN", self.kind.commit_name):
            raise RequestError(
                f"instant {completed.time} is of the operation {metadata.operation_type} and not "
                f"{self.kind.commit_name}",
                where=table.storage.uri,
            )
        return tuple(metadata.write_stats)

    def _plan(self, table: Table) -> str | None:
        file_format = BaseFileFormat(table.config.base_file_format)
        with self.watch.stage("plan"):
            return self.kind.schedule(
                self._writer(table),
                self.config.compaction,
                full_file_bytes(self.config, file_format),
                self.extra,
            )

    def _in_turn(self, attempt: Callable[[], T]) -> T:
        """What an attempt gives, once no other writer is in its way."""
        return self.turn.take(lambda: self._writer(self.table), attempt)

    def _writer(self, table: Table) -> Writer:
        policy = self.config.services.clean.failed_writes
        writer = writer_of(
            table,
            self.environment.clock,
            self.config.heartbeat,
            self.turn,
            undoes_dead=policy is not FailedWritesPolicy.NEVER,
            gate=self.gate,
            concurrency=self.config.concurrency,
        )
        return deleting_over_tasks(writer, self.environment.runner, self.config)

    def _nothing(self, what: str) -> JobResult:
        kind = "log compaction" if self.kind.operation == LOG_COMPACTION else "compaction"
        return replace(self._result("nothing_to_do", None), reason=f"no {kind} is {what}")

    def _result(
        self, status: Status, instant: str | None, stats: tuple[WriteStat, ...] = ()
    ) -> JobResult:
        table = self.table.refresh()
        return job_result(
            status,
            operation=self.kind.operation,
            table=table.config.name,
            base_path=table.storage.uri,
            instant=instant,
            completion_time=None if instant is None else table.completion_time(instant),
            stats=stats,
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
        )


def compaction_service(
    environment: Environment,
    kind: CompactionKind,
    storage: Storage,
    config: WriteConfig,
    commit_metadata: Mapping[str, str],
) -> CompactionService:
    """The compactions of one kind of the table in a storage.

    Raises:
        UnsupportedError: a table that cannot be compacted.
    """
    table = replace(load_table(storage), skips_damaged=config.skip_damaged)
    check_compactable(table.config, storage.uri)
    extra = {**config.commit_metadata, **commit_metadata}
    if config.idempotency.key:
        extra[STAMP] = config.idempotency.key
    watch = Stopwatch(table.config.name, environment.runner)
    return CompactionService(
        environment=environment,
        kind=kind,
        table=table,
        config=config,
        extra=extra,
        watch=watch,
        turn=Turn(config.concurrency.wait, partial(watch.stage, "wait")),
        gate=environment.gate(storage, config),
    )


def _write(
    runner: Runner,
    work: CompactionWork,
    context: WriteContext,
    merge: SliceReading,
    write_slice: WriteSlice,
) -> list[WriteStat]:
    """Write what every slice becomes, and give the statistics of the files that count."""
    tasks, number_of_run = _tasks(work.slices, runner.parallelism), work.number
    if not tasks:
        return []

    def compact(task: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        own = replace(task, stage_id=number_of_run)
        for found in tasks[number]:
            yield from (stat_batch([stat]) for stat in write_slice(context, own, found, merge))

    stats = stats_of(runner.tasks(len(tasks), compact, STAT_SCHEMA))
    # It takes no rows in that could be ignored.
    return [replace(stat, num_ignored=None) for stat in stats]


def _tasks(slices: tuple[FileSlice, ...], parallelism: int) -> tuple[tuple[FileSlice, ...], ...]:
    """Which slices one task compacts after another, the largest tasks first."""
    sizes = [
        (
            0 if each.base_file is None else each.base_file.bytes_to_read,
            sum(log.size_bytes for log in each.log_files),
        )
        for each in slices
    ]
    bounds = (
        min(_TASK_BASE_BYTES, sum(base for base, _ in sizes) // (parallelism * 4)),
        min(_TASK_LOG_BYTES, sum(logs for _, logs in sizes) // (parallelism * 4)),
    )
    tasks = share_tasks(sizes, bounds=bounds)
    # Spark starts tasks in their order; with a large one last, all other cores would wait for it.
    ordered = sorted(tasks, key=lambda task: sum(sum(sizes[n]) for n in task), reverse=True)
    return tuple(tuple(slices[number] for number in task) for task in ordered)
