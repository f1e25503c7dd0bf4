"""One write from request to result: what was asked, what it means, what came of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TypeAlias

import pyarrow as pa

from pyhudi.actions.commit import (
    CommitMetadata,
    ReplaceCommitMetadata,
    WriteStat,
    count_ignored,
)
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.known import check_known
from pyhudi.config.options.clean import FailedWritesPolicy
from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.write import WriteConfig
from pyhudi.errors import MissingFileError
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.batch.failed import Failures
from pyhudi.pipeline.earlier import find_earlier, stamps
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.stopwatch import Stage, Stopwatch
from pyhudi.pipeline.target import Target, resolve_target
from pyhudi.pipeline.undo.deletion import deleting_over_tasks
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import Tell, tell_nobody
from pyhudi.schema.avro import dumps
from pyhudi.services.recovery import writer_of
from pyhudi.storage.schemes import check_writable
from pyhudi.storage.storage import Storage
from pyhudi.table.committed import METRICS, SCHEMA_CHANGES, EarlierCommit
from pyhudi.table.keying import without_record_keys
from pyhudi.table.result import job_result
from pyhudi.table.table import Table
from pyhudi.timeline.instant import METADATA_BOOTSTRAP
from pyhudi.transaction.exclusion import Writer, at_work, live_writers
from pyhudi.transaction.gate import Gate
from pyhudi.transaction.turn import Turn
from pyhudi.write.context import WriteContext
from pyhudi.write.encoding import (
    bloom_parameters,
    file_encoding,
    full_file_bytes,
    parquet_encoding,
)
from pyhudi.write.failed import keep_saved
from pyhudi.write.plan.kept import FilesWritten
from pyhudi.write.plan.sizing import CommitTotals, average_record_size

_log = logging.getLogger(__name__)

# In a table of small commits, reading its whole timeline would cost more than it gives.
_COMMITS_TO_LEARN_FROM = 30

Replaced: TypeAlias = Mapping[str, tuple[str, ...]]
"""File ids by partition path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write made: the files that count, what they hide, and the records that failed.

    ``replaced`` is None unless the operation replaces file groups; ``ignored`` counts ignored rows
    where the statistics of the files do not know it. ``files`` are there where some of them can be
    kept when the write meets a conflict.
    """

    stats: tuple[WriteStat, ...] = ()
    replaced: Replaced | None = None
    failures: Failures = field(default_factory=Failures)
    ignored: int | None = None
    files: FilesWritten | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written, nothing is hidden and nothing failed."""
        is_hiding = any((self.replaced or {}).values())
        return not (self.stats or is_hiding or self.failures.report.count)

    def metadata_of(self, commit: CommitMetadata) -> CommitMetadata | ReplaceCommitMetadata:
        """What the completed instant says."""
        if self.replaced is None:
            return commit
        return ReplaceCommitMetadata(commit=commit, partition_to_replaced_file_ids=self.replaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRun:
    """One write: what was asked, and what it means for its table.

    ``earlier`` is the commit that stands for it, if any, and ``replaced`` are those whose rows go
    for its own. ``turn`` is its place
    among those that wait for other writers, and ``gate`` where those begin and commit that do not.
    ``prepare`` resolves the same request again. ``tell`` hears how many new rows are written.
    """

    environment: Environment
    config: WriteConfig
    target: Target
    extra: Mapping[str, str]
    earlier: EarlierCommit | None
    replaced: tuple[EarlierCommit, ...]
    watch: Stopwatch
    turn: Turn
    gate: Gate
    prepare: Callable[[], WriteRun]
    failures: Failures = field(default_factory=Failures)
    tell: Tell = tell_nobody

    @property
    def runner(self) -> Runner:
        """Who runs its tasks."""
        return self.environment.runner

    def again(self) -> WriteRun:
        """The same write, held against the table as it is now.

        Raises: whatever is wrong with the request by now, see ``resolve_target``.
        """
        return replace(
            self.prepare(),
            watch=self.watch,
            turn=self.turn,
            gate=self.gate,
            failures=self.failures,
        )

    def after_others(self) -> WriteRun:
        """The same write, once no other is seen at work: to be asked before rows are read.

        Raises:
            WriterAtWorkError: others were at work for too long.
        """
        table = self.target.table
        if self.gate.is_shared or table is None or not table.timeline.pending_writes():
            return self
        writer = self.writer(table)
        found = live_writers(writer)
        if not found:
            return self
        try:
            self.turn.wait(writer, at_work(writer, found))
        finally:
            self.turn.leave()
        return self.again()

    def writer(self, table: Table) -> Writer:
        """One who writes the table."""
        policy = self.config.services.clean.failed_writes
        writer = writer_of(
            table,
            self.environment.clock,
            self.config.heartbeat,
            self.turn,
            undoes_dead=policy is FailedWritesPolicy.EAGER,
            gate=self.gate,
            concurrency=self.config.concurrency,
        )
        return deleting_over_tasks(writer, self.environment.runner, self.config)

    def with_failures(self, failures: Failures) -> WriteRun:
        """The same write, knowing what of it failed."""
        return replace(self, failures=failures)

    def failed_storage(self) -> Storage | None:
        """Where failed records are saved; None when they are not."""
        path = self.config.failures.path
        return None if path is None else self.environment.open_storage(path)

    def drop_saved(self, *instants: str) -> None:
        """Delete the failed records that writes saved which are not committed."""
        storage = self.failed_storage()
        if storage is None:
            return
        for instant in instants:
            keep_saved(storage, instant, ())

    def committed_meanwhile(self, table: Table) -> EarlierCommit | None:
        """The commit for this write that was made since it was prepared.

        Raises:
            TableChangedError: one was made whose rows this write is to replace.
        """
        before = self.target.table
        found = find_earlier(
            self.config,
            table,
            self.environment.clock.now_ms(),
            seen=frozenset() if before is None else frozenset(before.timeline.completed()),
            has_meta_columns=not self.target.virtual_keys,
        )
        found.check_nothing_to_replace(table.storage.uri)
        return found.commit

    def has_other_schema(self, table: Table) -> bool:
        """Whether another writer has changed the schema since the target was resolved by it.

        Columns it added would be lost from the files that this write rewrites.
        """
        before = self.target.table
        if before is None:
            return table.timeline.last_completed is not None
        last = before.timeline.last_completed
        if last == table.timeline.last_completed:
            return False
        if last is not None and not table.timeline.write_instants().completed().contains(last.time):
            return True  # it was rolled back meanwhile, and what it said is gone
        return not table.schema().equals(before.schema())

    def context(self, table: Table, instant: str) -> WriteContext:
        """The write as its tasks see it."""
        config, target = self.config, self.target
        kind = BaseFileFormat(target.config.base_file_format)
        is_insert = config.operation is Operation.INSERT
        is_bulk = config.operation is Operation.BULK_INSERT
        return WriteContext(
            storage=table.storage,
            version=table.config.version,
            instant=instant,
            schema=target.schema,
            avro_schema=target.avro_schema_with_meta,
            encoding=file_encoding(config, kind),
            bloom=None if target.virtual_keys else bloom_parameters(config.bloom),
            max_file_size_bytes=full_file_bytes(config, kind),
            rule=target.rule,
            combine_batch=config.combines_batch,
            is_concatenating=is_bulk or (is_insert and config.batch.allow_duplicates_on_insert),
            is_deleting=config.operation is Operation.DELETE,
            drops_stored=config.stored_keys is StoredKeys.DROP,
            generates_keys=target.keying.generator.generates_keys,
            virtual_keys=target.virtual_keys,
            logs=config.logs,
            log_encoding=parquet_encoding(config),
            tell=self.tell,
        )

    def record_size(self, table: Table) -> int:
        """Bytes a record of the table takes, about."""
        sizing = self.config.sizing
        return average_record_size(
            _commit_totals(table),
            estimate_bytes=sizing.record_size_estimate,
            threshold_bytes=sizing.record_size_threshold * sizing.small_file_limit,
        )

    def metadata(self, stats: Mapping[str, tuple[WriteStat, ...]]) -> CommitMetadata:
        """The metadata of the write's instant with these statistics by partition."""
        return CommitMetadata(
            partition_to_write_stats=stats,
            extra_metadata={
                **self.extra,
                **self._metrics(),
                **self._changes(),
                "schema": dumps(self.target.avro_schema),
            },
            operation_type=self.config.recorded_operation.commit_name,
        )

    def _metrics(self) -> dict[str, str]:
        stages = self.watch.stages()
        return {METRICS: json.dumps(stages)} if stages else {}

    def _changes(self) -> dict[str, str]:
        changes = self.target.schema_changes
        return {SCHEMA_CHANGES: json.dumps(changes)} if changes else {}

    def is_nothing(self, written: Written) -> bool:
        """Whether no commit is to be made: nothing was written and nothing is hidden."""
        return written.is_empty and not self.config.batch.allow_empty_commit

    def already(self, earlier: EarlierCommit) -> JobResult:
        """The result of a write that an earlier attempt of it has made."""
        written = Written(
            stats=earlier.stats,
            replaced=earlier.replaced,
            failures=self.failures,
            ignored=earlier.ignored,
        )
        found = self.result("already_committed", earlier.instant, earlier.completion_time, written)
        return replace(found, schema_changes=earlier.schema_changes)

    def nothing(self, reason: str, ignored: int = 0) -> JobResult:
        """The result of a write that found nothing to write, and why."""
        written = Written(failures=self.failures, ignored=ignored)
        return replace(self.result("nothing_to_do", None, None, written), reason=reason)

    def result(
        self, status: Status, instant: str | None, completion_time: str | None, written: Written
    ) -> JobResult:
        """What the job answers."""
        found = job_result(
            status,
            operation=self.config.operation.value,
            table=self.target.config.name,
            base_path=self.target.storage.uri,
            instant=instant,
            completion_time=completion_time,
            stats=written.stats,
            replaced=written.replaced,
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
            failures=written.failures.summary(),
            failed_records=written.failures.report.count,
            ignored=written.ignored,
        )
        is_new = status == "committed"
        return replace(found, schema_changes=self.target.schema_changes) if is_new else found


def note_files(stage: Stage, stats: Sequence[WriteStat]) -> None:
    """Note the rows and bytes of the files that a stage wrote, and what tasks took for them."""
    stage.moved(sum(s.num_writes for s in stats), sum(s.total_write_bytes for s in stats))
    milliseconds = {
        "merge": sum(stat.total_upsert_time or 0 for stat in stats),
        "create": sum(stat.total_create_time or 0 for stat in stats),
    }
    for name, total in milliseconds.items():
        stage.details[f"{name}_task_seconds"] = round(total / 1000, 3)
    ignored = count_ignored(stats)
    if ignored is not None:
        stage.details["ignored"] = ignored


def prepare(
    environment: Environment,
    rows: pa.Schema | None,
    path: str,
    options: Mapping[str, str],
    commit_metadata: Mapping[str, str] | None,
) -> WriteRun:
    """Resolve what a request means; nothing is written.

    ``rows`` is None for an operation that takes none.

    Raises: whatever is wrong with the request, see ``resolve_target``.
    """
    check_known(options)
    config = WriteConfig.from_options(options)
    storage = environment.open_storage(path)
    check_writable(storage)
    target = resolve_target(storage, config, rows)
    if target.keying.generator.generates_keys:
        asked, config = config, without_record_keys(config)
        if config.operation is not asked.operation:
            _log.warning("the table has no record key: rows are inserted and none is updated")
    found = find_earlier(
        config,
        target.table,
        environment.clock.now_ms(),
        has_meta_columns=not target.virtual_keys,
    )
    config = found.told_to(config)
    watch = Stopwatch(target.config.name, environment.runner)
    return WriteRun(
        environment=environment,
        config=config,
        target=target,
        extra={**config.commit_metadata, **(commit_metadata or {}), **stamps(config)},
        earlier=found.commit,
        replaced=found.replaced,
        watch=watch,
        turn=Turn(config.concurrency.wait, partial(watch.stage, "wait")),
        gate=environment.gate(target.storage, config),
        prepare=partial(prepare, environment, rows, path, options, commit_metadata),
    )


def _commit_totals(table: Table) -> Iterator[CommitTotals]:
    completed = reversed(table.timeline.write_instants().completed().instants)
    for instant in islice(completed, _COMMITS_TO_LEARN_FROM):
        if instant.time == METADATA_BOOTSTRAP:
            continue  # its files have the meta columns of their records alone
        try:
            found = table.active.read_commit(instant).write_stats
        except MissingFileError:  # archived, or undone, since the timeline was listed
            continue
        # Records in log files are encoded otherwise.
        stats = [stat for stat in found if stat.log_files is None]
        yield CommitTotals(
            records=sum(stat.num_writes for stat in stats),
            size_bytes=sum(stat.total_write_bytes for stat in stats),
        )
