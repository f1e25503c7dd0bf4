"""Cleaning from request to result: plan it, and delete what the plan names over tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.known import check_known
from pyhudi.config.options.clean import FailedWritesPolicy
from pyhudi.config.write import WriteConfig
from pyhudi.errors import MissingFileError, RequestError, UnsupportedError
from pyhudi.filegroup.names import file_path
from pyhudi.jobs.clean import CLEAN, CleanRequest
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.stopwatch import Stopwatch
from pyhudi.pipeline.undo.deletion import deleting_over_tasks
from pyhudi.pipeline.write_run import WriteRun
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.clean import (
    Decision,
    Finished,
    decide_clean,
    finish_clean,
    pending_cleans,
    planned_files,
    request_clean,
    still_planned,
)
from pyhudi.services.clean_plan import may_be_due
from pyhudi.services.clean_sources import delete_sources
from pyhudi.services.recovery import undo_dead_writes, writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.create import why_not_cleaned
from pyhudi.table.metadata_table import disable
from pyhudi.table.result_line import result_line
from pyhudi.table.table import Table, load_table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.gate import Gate
from pyhudi.transaction.optimistic.conditions import check_no_metadata_table
from pyhudi.write.failed import keep_saved

# So few files are gone before a runner has started a task.
_IN_DRIVER = 16
_TRIES = 5
_FILES_OF_TASK = 50
_NOTHING = "the policy keeps every file, or no commit was made since the last clean"
_DELETED = pa.schema([("files", pa.int64())])

_log = logging.getLogger(__name__)


def clean_table(environment: Environment, request: CleanRequest) -> JobResult:
    """Carry out a request to clean a table.

    Raises:
        RequestError: options and table do not fit, or there is no such clean.
        PlatformError: disk, network or runner failed; a clean that was planned stays planned, and
            is finished by whoever cleans next.
    """
    request.check()
    options = request.options()
    check_known(options)
    service = clean_service(
        environment,
        environment.open_storage(request.base_path),
        WriteConfig.from_options(options),
    )
    named = None
    if request.instant:
        named = parse_exact_instant(request.instant).on(service.table.config.timezone)
    if request.dry_run:
        return service.look(request.mode, named)
    match request.mode:
        case "schedule":
            return service.schedule()
        case "execute":
            return service.execute(named)
        case _:
            return service.schedule_and_execute()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanService:
    """One run of cleans of a table, which is as it was when the service was made."""

    environment: Environment
    table: Table
    config: WriteConfig
    watch: Stopwatch
    gate: Gate

    def schedule(self) -> JobResult:
        """Plan a clean where one is due, unless one is planned already."""
        table = self._begun()
        waiting = pending_cleans(table)
        if waiting and not self.config.services.clean.allows_several:
            return self._nothing(f"clean {waiting[0].time} is planned already")
        planned = self._planned(table)
        if planned is None:
            return self._nothing(_NOTHING)
        instant, decision = planned
        return replace(
            self._result("scheduled", instant.time),
            partitions=tuple(sorted(decision.files.sizes)),
            files={"planned": decision.files.count},
        )

    def execute(self, instant: str | None = None) -> JobResult:
        """Finish the clean that was planned at an instant, or all that are planned.

        Raises:
            RequestError: there is no such clean.
        """
        table = self._begun()
        waiting = pending_cleans(table)
        if instant is not None:
            waiting = tuple(found for found in waiting if found.time == instant)
            if not waiting:
                return self._done_before(table, instant)
        done = self._finished(table, waiting)
        return self._cleaned(done) if done else self._nothing("no clean is planned")

    def schedule_and_execute(self) -> JobResult:
        """Finish what is planned, then clean what is due."""
        table = self._begun()
        done = self._finished(table, pending_cleans(table))
        table = table.refresh() if done else table
        planned = self._planned(table)
        if planned is not None:
            done.append(self._finish(table, *planned))
        return self._cleaned(done) if done else self._nothing(_NOTHING)

    def look(self, mode: str, instant: str | None = None) -> JobResult:
        """What one of the modes would delete; nothing is written."""
        by_partition = counted_by_partition(self.decisions(mode, instant))
        if not by_partition:
            return self._nothing(_NOTHING)
        return replace(
            self._result("planned", None),
            partitions=tuple(by_partition),
            by_partition=by_partition,
            files={"planned": sum(each["files"] for each in by_partition.values())},
            reason="it was only to look",
        )

    def decisions(self, mode: str, instant: str | None = None) -> tuple[Decision, ...]:
        """What one of the modes would carry out: what is planned, then what is due."""
        table, found = self.table, list[Decision]()
        if mode != "schedule":
            waiting = (each for each in pending_cleans(table) if instant in (None, each.time))
            planned = (planned_files(table, each) for each in waiting)
            found += [each for each in planned if each is not None]
        if mode != "execute":
            decision = decide_clean(table, self.config.services.clean, self.environment.clock)
            found += [] if decision is None else [decision]
        return tuple(found)

    def _begun(self) -> Table:
        """The table, without dead writes where cleans undo them."""
        table = self.table
        if self.config.services.clean.failed_writes is not FailedWritesPolicy.LAZY:
            return table
        undone, saved_to = undo_dead_writes(self._writer(table)), self.config.failures.path
        if undone and saved_to is not None:
            storage = self.environment.open_storage(saved_to)
            for instant in undone:
                keep_saved(storage, instant, ())
        return table.refresh() if undone else table

    def _planned(self, table: Table) -> tuple[Instant, Decision] | None:
        with self.watch.stage("plan"):
            decision = self._decided(table)
            if decision is None:
                return None
            return request_clean(self._writer(table), decision), decision

    def _decided(self, table: Table) -> Decision | None:
        """What is due now; looked for again where others archive what it is told by meanwhile."""
        config, clock = self.config.services.clean, self.environment.clock
        for _ in range(_TRIES - 1):
            try:
                return decide_clean(table, config, clock)
            except MissingFileError:  # noqa: PERF203 - the timeline is read again in between
                table = table.refresh()
        return decide_clean(table, config, clock)

    def _finished(self, table: Table, waiting: Iterable[Instant]) -> list[Finished | None]:
        return [self._finish(table, each) for each in waiting]

    def _finish(
        self, table: Table, clean: Instant, planned: Decision | None = None
    ) -> Finished | None:
        with self.watch.stage("delete"):
            found = self._with_own_sources(still_planned(table, clean, planned))
            if self.gate.is_shared:
                check_no_metadata_table(table)
            if table.config.metadata_partitions:
                disable(table.storage, table.config)
            return finish_clean(self._writer(table), clean, found, partial(self._delete, table))

    def _with_own_sources(self, decision: Decision | None) -> Decision | None:
        """The decision, with files outside the table only where this request wants them gone."""
        if decision is None or self.config.services.clean.deletes_sources:
            return decision
        return replace(decision, plan=replace(decision.plan, sources={}))

    def _delete(self, table: Table, clean: Instant, decision: Decision) -> None:
        storage, active = table.storage, table.active
        sources = decision.plan.sources.values()
        delete_sources(storage, (uri for uris in sources for uri in uris))
        if decision.files.count <= _IN_DRIVER:
            storage.delete_all(_paths(decision.files.sizes))
            return
        wanted = -(-decision.files.count // _FILES_OF_TASK)
        tasks = min(wanted, self.config.services.clean.parallelism)
        kept = _planned_paths(active, clean) - frozenset(_paths(decision.plan.names))

        # The files may be many: each task reads the plan, rather than gets its share of it.
        def delete(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
            own = sorted(_planned_paths(active, clean) - kept)[number::tasks]
            storage.delete_all(own)
            yield pa.RecordBatch.from_pydict({"files": [len(own)]}, schema=_DELETED)

        self.environment.runner.tasks(tasks, delete, _DELETED).collect("files")

    def _done_before(self, table: Table, instant: str) -> JobResult:
        found = (each for each in table.timeline.completed() if each.action is Action.CLEAN)
        if instant not in {each.time for each in found}:
            raise RequestError(f"there is no clean {instant}", where=table.storage.uri)
        return self._result("already_committed", instant)

    def _cleaned(self, done: Iterable[Finished | None]) -> JobResult:
        found = [each for each in done if each is not None]
        if not found:
            return self._nothing("the plan was empty, and is taken back")
        partitions = {path for each in found for path in each.metadata.partitions}
        return replace(
            self._result("committed", found[-1].instant),
            partitions=tuple(sorted(partitions)),
            files={"deleted": sum(each.metadata.files_deleted for each in found)},
            bytes_deleted=sum(each.size_bytes for each in found),
        )

    def _writer(self, table: Table) -> Writer:
        writer = writer_of(
            table,
            self.environment.clock,
            self.config.heartbeat,
            gate=self.gate,
            concurrency=self.config.concurrency,
        )
        return deleting_over_tasks(writer, self.environment.runner, self.config)

    def _nothing(self, reason: str) -> JobResult:
        return replace(self._result("nothing_to_do", None), reason=reason)

    def _result(self, status: Status, instant: str | None) -> JobResult:
        table = self.table
        return JobResult(
            status=status,
            operation=CLEAN,
            table=table.config.name,
            base_path=table.storage.uri,
            instant=instant,
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
        )


def counted_by_partition(decisions: Iterable[Decision]) -> dict[str, dict[str, int]]:
    """The files that decisions delete, by partition path: how many, and their bytes."""
    sizes: dict[str, dict[str, int]] = {}
    for each in decisions:
        for partition, files in each.files.sizes.items():
            sizes.setdefault(partition, {}).update(files)
    return {
        partition: {"files": len(sizes[partition]), "bytes": sum(sizes[partition].values())}
        for partition in sorted(sizes)
        if sizes[partition]
    }


def clean_service(
    environment: Environment, storage: Storage, config: WriteConfig, known: Table | None = None
) -> CleanService:
    """The cleans of the table in a storage; it may be ``known`` as it was earlier.

    Raises:
        UnsupportedError: a table that cannot be cleaned.
    """
    table = load_table(storage) if known is None else known.refresh()
    what = why_not_cleaned(table.config)
    if what is not None:
        raise UnsupportedError(
            f"the table {table.config.name} at {storage.uri} {what}, and cannot be cleaned yet"
        )
    watch = Stopwatch(table.config.name, environment.runner)
    return CleanService(
        environment=environment,
        table=table,
        config=config,
        watch=watch,
        gate=environment.gate(storage, config),
    )


def clean_after(run: WriteRun, _: JobResult) -> None:
    """Clean after a write, where that can have anything to do.

    Raises:
        HudiError: the clean failed; what it had planned is finished by the next.
    Source: BaseHoodieWriteClient.autoCleanOnCommit, Hudi 0.15 and 1.1.
    """
    config, before = run.config.services.clean, run.target.table
    if before is None or not config.is_automatic:
        return
    is_lazy = config.failed_writes is FailedWritesPolicy.LAZY
    is_freeing = is_lazy and len(before.timeline.pending_writes()) > 0
    if not is_freeing and not may_be_due(before.timeline, config):
        return
    with run.watch.stage("clean"):
        cleaned = clean_service(run.environment, run.target.storage, run.config, before)
        done = cleaned.schedule_and_execute()
    if done.instant is not None:
        _log.info("%s", result_line(done))


def _planned_paths(active: ActiveTimeline, clean: Instant) -> frozenset[str]:
    plan = active.read_clean_plan(clean)
    return frozenset() if plan is None else frozenset(_paths(plan.names))


def _paths(names: Mapping[str, Iterable[str]]) -> list[str]:
    """The paths of files relative to the table."""
    return [file_path(partition, name) for partition in sorted(names) for name in names[partition]]
