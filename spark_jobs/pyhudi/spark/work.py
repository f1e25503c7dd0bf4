"""One write from request to result: what was asked, what it means, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.basefile.bloom import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.known import check_known
from pyhudi.config.write import Operation, WriteConfig
from pyhudi.errors import AlreadyExistsError, ConflictError
from pyhudi.jobs import JobResult, Status
from pyhudi.schema.avro import dumps
from pyhudi.services.rollback import recover, roll_back
from pyhudi.spark.stopwatch import Stopwatch
from pyhudi.spark.target import Target, settle_target
from pyhudi.storage.schemes import open_storage
from pyhudi.table.create import create_table
from pyhudi.table.landed import STAMP, Landed, find_landed
from pyhudi.table.metadata_table import disable
from pyhudi.table.result import job_result
from pyhudi.table.table import Table, open_table
from pyhudi.timeline import active
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.transaction import Writer
from pyhudi.write.job import WriteJob
from pyhudi.write.sizing import CommitTotals, average_record_size

# Hudi's default for a row group, 120 MB of encoded pages, would be far more rows in memory.
_MOST_ROW_GROUP_BYTES = ParquetWriteOptions().row_group_bytes
# In a table of small commits, reading its whole timeline would cost more than it gives.
_COMMITS_TO_LEARN_FROM = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One write. ``landed`` is the commit that an earlier attempt of it made, if any."""

    config: WriteConfig
    target: Target
    storage_options: Mapping[str, str] | None
    extra: Mapping[str, str]
    landed: Landed | None
    watch: Stopwatch

    def begin(self) -> Writer:
        """Create the table if need be, and undo what dead writers left in it."""
        target = self.target
        if target.table is None:
            self._create()
        table = self.open()
        if table.config.metadata_partitions:
            disable(table.storage, table.config)
        clock = SystemClock()
        writer = Writer(
            storage=table.storage,
            config=table.config,
            clock=clock,
            heartbeat=self.config.heartbeat,
            undo=partial(roll_back, table.storage, table.config, clock),
        )
        recover(writer)
        return writer

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

    def landed_meanwhile(self, table: Table) -> Landed | None:
        """The commit that another attempt of this write made since this one was prepared."""
        key = self.config.idempotency_key
        if not key:
            return None
        before = self.target.table
        known = set() if before is None else set(before.timeline.completed())
        fresh = Timeline.of(found for found in table.timeline.completed() if found not in known)
        return find_landed(table.storage, table.config.version, fresh, key)

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

    def job(self, table: Table, instant: str) -> WriteJob:
        """The write as its tasks see it."""
        config, target = self.config, self.target
        is_insert = config.operation is Operation.INSERT
        return WriteJob(
            storage=table.storage,
            instant=instant,
            schema=target.schema,
            avro_schema=target.avro_schema_with_meta,
            parquet=ParquetWriteOptions(
                codec=config.parquet.codec.value.lower(),
                row_group_bytes=min(config.parquet.row_group_size, _MOST_ROW_GROUP_BYTES),
                page_bytes=config.parquet.page_size,
                dictionary=config.parquet.dictionary,
            ),
            bloom=BloomParameters(
                num_entries=config.bloom.num_entries,
                fpp=config.bloom.fpp,
                max_entries=config.bloom.max_entries,
                type=config.bloom.type,
            ),
            max_file_size_bytes=config.sizing.max_file_size,
            ordering_field=target.ordering_field,
            combine_batch=config.combines_batch,
            is_concatenating=is_insert and config.allow_duplicates_on_insert,
            is_deleting=config.operation is Operation.DELETE,
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
            extra_metadata={**self.extra, "schema": dumps(self.target.avro_schema)},
            operation_type=self.config.operation.commit_name,
        )

    def already(self, landed: Landed) -> JobResult:
        """The result of a write that an earlier attempt of it has made."""
        return self.result("already_committed", landed.instant, landed.stats)

    def nothing(self) -> JobResult:
        """The result of a write that found nothing to write."""
        return self.result("nothing_to_do", None, ())

    def result(self, status: Status, instant: str | None, stats: Sequence[WriteStat]) -> JobResult:
        """What the job answers."""
        return job_result(
            status,
            operation=self.config.operation.value,
            table=self.target.config.name,
            base_path=self.target.path,
            instant=instant,
            completion_time=None if instant is None else self.open().completion_time(instant),
            stats=stats,
            seconds=self.watch.seconds(),
        )


def prepare(
    rows: pa.Schema,
    path: str,
    options: Mapping[str, str],
    storage_options: Mapping[str, str] | None,
    commit_metadata: Mapping[str, str] | None,
) -> Work:
    """Settle what a request means; nothing is written.

    Raises: whatever is wrong with the request, see ``settle_target``.
    """
    check_known(options)
    config = WriteConfig.from_options(options)
    target = settle_target(path, config, rows, storage_options)
    extra = {**config.commit_metadata, **(commit_metadata or {})}
    landed = None
    if config.idempotency_key:
        extra[STAMP] = config.idempotency_key
        table = target.table
        if table is not None:
            version = table.config.version
            landed = find_landed(table.storage, version, table.timeline, config.idempotency_key)
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
        stats = list(CommitMetadata.from_bytes(data, where=instant.time).write_stats)
        yield CommitTotals(
            records=sum(stat.num_writes for stat in stats),
            size_bytes=sum(stat.total_write_bytes for stat in stats),
        )
