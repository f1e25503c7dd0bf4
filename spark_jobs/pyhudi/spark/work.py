"""One write from request to result: what was asked, what it means, what came of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

import pyarrow as pa

from pyhudi.actions.commit import (
    CommitMetadata,
    ReplaceCommitMetadata,
    WriteStat,
    stats_by_partition,
)
from pyhudi.actions.replace import requested_replace
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.known import check_known
from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.config.write import WriteConfig
from pyhudi.errors import AlreadyExistsError, ConflictError
from pyhudi.jobs import JobResult, Status
from pyhudi.schema.avro import dumps
from pyhudi.services.rollback import recover, writer_of
from pyhudi.spark.batch.failed import Failures
from pyhudi.spark.stopwatch import Stage, Stopwatch
from pyhudi.spark.target import Target, resolve_target
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.committed import STAMP, EarlierCommit, find_committed
from pyhudi.table.create import create_table
from pyhudi.table.keying import without_record_keys
from pyhudi.table.metadata_table import disable
from pyhudi.table.result import job_result
from pyhudi.table.table import Table, open_table
from pyhudi.timeline import active
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.transaction import Transaction
from pyhudi.write.encoding import (
    bloom_parameters,
    file_encoding,
    full_file_bytes,
    parquet_encoding,
)
from pyhudi.write.job import WriteContext
from pyhudi.write.plan.sizing import CommitTotals, average_record_size

METRICS = "pyhudi.metrics"
"""The key of a commit's extra metadata that holds what its stages took, as JSON."""

_log = logging.getLogger(__name__)

# In a table of small commits, reading its whole timeline would cost more than it gives.
_COMMITS_TO_LEARN_FROM = 30

Replaced: TypeAlias = Mapping[str, tuple[str, ...]]
"""File ids by partition path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One write. ``landed`` is the commit that an earlier attempt of it made, if any."""

    config: WriteConfig
    target: Target
    storage_options: Mapping[str, str] | None
    extra: Mapping[str, str]
    landed: EarlierCommit | None
    watch: Stopwatch
    failures: Failures = field(default_factory=Failures)

    def with_failures(self, failures: Failures) -> Work:
        """The same write, knowing what of it failed."""
        known = replace(failures, storage_options=self.storage_options)
        return replace(self, failures=known)

    def failed_storage(self) -> Storage | None:
        """Where failed records are saved; None when they are not."""
        path = self.config.failures.path
        return None if path is None else open_storage(path, self.storage_options)

    def begin(self) -> Transaction:
        """Create the table if need be, and undo what dead writers left in it.

        The transaction is to be entered yet.
        """
        target = self.target
        if target.table is None:
            self._create()
        table = self.open()
        if table.config.metadata_partitions:
            disable(table.storage, table.config)
        writer = writer_of(table, SystemClock(), self.config.heartbeat)
        recover(writer)
        if self.config.recorded_operation.replaces:
            return Transaction(writer, Action.REPLACE_COMMIT, requested_replace())
        is_delta = table.config.table_type is TableType.MERGE_ON_READ
        return Transaction(writer, Action.DELTA_COMMIT if is_delta else Action.COMMIT)

    def _create(self) -> None:
        target = self.target
        try:
            create_table(open_storage(target.path, self.storage_options), target.config)
        except AlreadyExistsError as error:
            raise ConflictError(
                "another writer has just created this table; retry", where=target.path
            ) from error

    def open(self) -> Table:
        """The table as it is now."""
        return open_table(self.target.path, self.storage_options)

    def landed_meanwhile(self, table: Table) -> EarlierCommit | None:
        """The commit that another attempt of this write made since this one was prepared."""
        key = self.config.idempotency_key
        if not key:
            return None
        before = self.target.table
        known = set() if before is None else set(before.timeline.completed())
        fresh = Timeline.of(found for found in table.timeline.completed() if found not in known)
        return find_committed(table.storage, table.config.version, fresh, key)

    def has_other_schema(self, table: Table) -> bool:
        """Whether another writer has changed the schema since the target was settled by it.

        Columns it added would be lost from the files that this write rewrites.
        """
        before = self.target.table
        if before is None:
            return table.timeline.last_completed is not None
        if before.timeline.last_completed == table.timeline.last_completed:
            return False
        return not table.schema().equals(before.schema())

    def job(self, table: Table, instant: str) -> WriteContext:
        """The write as its tasks see it."""
        config, target = self.config, self.target
        kind = BaseFileFormat(target.config.base_file_format)
        is_insert = config.operation is Operation.INSERT
        is_bulk = config.operation is Operation.BULK_INSERT
        return WriteContext(
            storage=table.storage,
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
                "schema": dumps(self.target.avro_schema),
            },
            operation_type=self.config.recorded_operation.commit_name,
        )

    def _metrics(self) -> dict[str, str]:
        stages = self.watch.stages()
        return {METRICS: json.dumps(stages)} if stages else {}

    def is_nothing(self, stats: Sequence[WriteStat], replaced: Replaced | None) -> bool:
        """Whether no commit is to be made: nothing was written and nothing is hidden."""
        is_empty = not (stats or any((replaced or {}).values()) or self.failures.report.count)
        return is_empty and not self.config.batch.allow_empty_commit

    def commit(
        self, transaction: Transaction, stats: Sequence[WriteStat], replaced: Replaced | None
    ) -> JobResult:
        """Commit what was written and what it replaces, or withdraw when that is nothing.

        Shapes: ``replaced`` is None unless the operation replaces file groups.
        """
        if self.is_nothing(stats, replaced):
            # An empty source, or nothing but deletes of keys that are nowhere.
            transaction.withdraw()
            return self.nothing()
        with self.watch.stage("commit"):
            self.failures.save(transaction.instant)
            stats = self.failures.on(stats)
            metadata = self.metadata(stats_by_partition(stats))
            body = metadata.to_bytes()
            if replaced is not None:
                body = ReplaceCommitMetadata(
                    commit=metadata, partition_to_replaced_file_ids=replaced
                ).to_bytes()
            transaction.complete(body, frozenset(stat.path for stat in stats if stat.path))
        return self.result("committed", transaction.instant, stats, replaced)

    def already(self, landed: EarlierCommit) -> JobResult:
        """The result of a write that an earlier attempt of it has made."""
        return self.result("already_committed", landed.instant, landed.stats, landed.replaced)

    def nothing(self) -> JobResult:
        """The result of a write that found nothing to write."""
        return self.result("nothing_to_do", None, (), None)

    def result(
        self,
        status: Status,
        instant: str | None,
        stats: Sequence[WriteStat],
        replaced: Replaced | None,
    ) -> JobResult:
        """What the job answers."""
        return job_result(
            status,
            operation=self.config.operation.value,
            table=self.target.config.name,
            base_path=self.target.path,
            instant=instant,
            completion_time=None if instant is None else self.open().completion_time(instant),
            stats=stats,
            replaced=replaced,
            seconds=self.watch.seconds(),
            stages=self.watch.stages(),
            failures=self.failures.summary(),
            failed_records=self.failures.report.count,
        )


def note_files(stage: Stage, stats: Sequence[WriteStat]) -> None:
    """Note the rows and bytes of the files that a stage wrote, and what tasks took for them."""
    stage.moved(sum(s.num_writes for s in stats), sum(s.total_write_bytes for s in stats))
    milliseconds = {
        "merge": sum(stat.total_upsert_time or 0 for stat in stats),
        "create": sum(stat.total_create_time or 0 for stat in stats),
    }
    for name, total in milliseconds.items():
        stage.details[f"{name}_task_seconds"] = round(total / 1000, 3)


def prepare(
    rows: pa.Schema | None,
    path: str,
    options: Mapping[str, str],
    storage_options: Mapping[str, str] | None,
    commit_metadata: Mapping[str, str] | None,
) -> Work:
    """Settle what a request means; nothing is written.

    ``rows`` is None for an operation that takes none.

    Raises: whatever is wrong with the request, see ``resolve_target``.
    """
    check_known(options)
    config = WriteConfig.from_options(options)
    target = resolve_target(path, config, rows, storage_options)
    if target.keying.generator.generates_keys:
        asked, config = config, without_record_keys(config)
        if config.operation is not asked.operation:
            _log.warning("the table has no record key: rows are inserted and none is updated")
    extra = {**config.commit_metadata, **(commit_metadata or {})}
    landed = None
    if config.idempotency_key:
        extra[STAMP] = config.idempotency_key
        table = target.table
        if table is not None:
            version = table.config.version
            landed = find_committed(table.storage, version, table.timeline, config.idempotency_key)
    return Work(
        config=config,
        target=target,
        storage_options=storage_options,
        extra=extra,
        landed=landed,
        watch=Stopwatch(target.config.name),
    )


def _commit_totals(table: Table) -> Iterator[CommitTotals]:
    completed = reversed(table.timeline.write_instants().completed().instants)
    for instant in islice(completed, _COMMITS_TO_LEARN_FROM):
        data = active.read_state(table.storage, table.config.version, instant)
        found = CommitMetadata.from_bytes(data, where=instant.time).write_stats
        # Records in log files are encoded otherwise.
        stats = [stat for stat in found if stat.log_files is None]
        yield CommitTotals(
            records=sum(stat.num_writes for stat in stats),
            size_bytes=sum(stat.total_write_bytes for stat in stats),
        )
