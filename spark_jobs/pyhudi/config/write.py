"""What a write is asked to do, from its options to frozen values.

Defaults are those of Hudi 0.15 and 1.1 where both agree; where they differ or this engine departs
from both, the option says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyhudi.config.formats import OrcConfig
from pyhudi.config.instant_text import AskedInstant, parse_instant
from pyhudi.config.option import part, read_settings, setting
from pyhudi.config.options.clean import FAILED_WRITES, FailedWritesPolicy
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.config.options.concurrency import MODE, ConcurrencyConfig
from pyhudi.config.options.evolution import EvolutionConfig
from pyhudi.config.options.failures import FailureConfig
from pyhudi.config.options.files import (
    BloomConfig,
    BulkInsertConfig,
    BulkInsertSortMode,
    FileSizing,
    HeartbeatConfig,
    ParquetConfig,
    WaitConfig,
)
from pyhudi.config.options.index import IndexConfig
from pyhudi.config.options.logs import LogConfig
from pyhudi.config.options.merging import MergeConfig
from pyhudi.config.options.operations import (
    ON_EXISTING,
    OPERATION,
    SLOT,
    SLOT_SINCE,
    BatchConfig,
    OnExisting,
    Operation,
    StoredKeys,
)
from pyhudi.config.options.services import ServicesConfig
from pyhudi.config.options.table import (
    COMMIT_METADATA_PREFIX,
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_SINCE,
    PARTITION_PATH_FIELD,
    RECORD_KEY_FIELD,
    TABLE_NAME,
    TableSettings,
)
from pyhudi.config.read import SKIP_DAMAGED
from pyhudi.errors import OptionError

__all__ = [
    "IDEMPOTENCY_KEY",
    "OPERATION",
    "PARTITION_PATH_FIELD",
    "RECORD_KEY_FIELD",
    "TABLE_NAME",
    "BatchConfig",
    "BloomConfig",
    "BulkInsertConfig",
    "BulkInsertSortMode",
    "ConcurrencyConfig",
    "FileSizing",
    "HeartbeatConfig",
    "IndexConfig",
    "Operation",
    "ParquetConfig",
    "WaitConfig",
    "WriteConfig",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotConfig:
    """Which part of its source a write is, and what is done where that part was written before.

    ``since`` is a time before which nobody can have written it, and ``is_replaced`` whether the
    rows that were are to go.
    """

    key: str | None = setting(SLOT)
    existing: OnExisting | None = setting(ON_EXISTING)
    since: AskedInstant | None = None
    is_replaced: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> SlotConfig:
        """What options say.

        Raises:
            OptionError: the time is none, or the answer to what is there.
        """
        return read_settings(cls, options, since=_time(SLOT_SINCE.key, SLOT_SINCE.read(options)))


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyConfig:
    """What a commit is recognised by, and since when there may be one."""

    key: str | None = setting(IDEMPOTENCY_KEY)
    since: AskedInstant | None = None
    slot: SlotConfig = part(SlotConfig)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> IdempotencyConfig:
        """What options say.

        Raises:
            OptionError: a time that is none.
        """
        return read_settings(
            cls, options, since=_time(IDEMPOTENCY_SINCE.key, IDEMPOTENCY_SINCE.read(options))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConfig:
    """What a write is asked to do.

    ``table`` is what the options say of the table itself; ``merging`` is None where an existing
    table decides. ``commit_metadata`` goes into the commit's extra metadata.
    """

    table: TableSettings = part(TableSettings)
    operation: Operation = setting(OPERATION)
    batch: BatchConfig = part(BatchConfig)
    merging: MergeConfig = part(MergeConfig)
    evolution: EvolutionConfig = part(EvolutionConfig)
    failures: FailureConfig = part(FailureConfig)
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    idempotency: IdempotencyConfig = part(IdempotencyConfig)
    sizing: FileSizing = part(FileSizing)
    parquet: ParquetConfig = part(ParquetConfig)
    orc: OrcConfig = part(OrcConfig)
    bloom: BloomConfig = part(BloomConfig)
    bulk_insert: BulkInsertConfig = part(BulkInsertConfig)
    index: IndexConfig = part(IndexConfig)
    heartbeat: HeartbeatConfig = part(HeartbeatConfig)
    concurrency: ConcurrencyConfig = part(ConcurrencyConfig)
    logs: LogConfig = part(LogConfig)
    compaction: CompactionConfig = part(CompactionConfig)
    services: ServicesConfig = part(ServicesConfig)
    skip_damaged: bool = setting(SKIP_DAMAGED)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> WriteConfig:
        """The write that options ask for.

        Raises:
            OptionError: a value that is not allowed, or that another one rules out.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        found = read_settings(cls, options, commit_metadata=_commit_metadata(options))
        services = found.services
        if found.concurrency.is_optimistic:
            services = _beside_writers(services, options)
        operation = _operation(found.operation, found.batch)
        found = replace(found, operation=operation, services=services)
        if found.idempotency.slot.existing is OnExisting.REPLACE and not found.may_replace_slot:
            raise OptionError(
                f"{ON_EXISTING.key} is replace, which is for insert and bulk_insert that keep rows "
                f"of stored keys, without the BUCKET index; with {operation.value} as it is asked "
                "for, append writes the rows again, which harms nothing, and reuse writes nothing"
            )
        return found

    @property
    def replaces_slot(self) -> bool:
        """Whether rows of earlier commits of its slot are to go."""
        return self.idempotency.slot.is_replaced

    @property
    def may_replace_slot(self) -> bool:
        """Whether rows of earlier commits can be told from others, and go as these come."""
        is_insert = self.recorded_operation in (Operation.INSERT, Operation.BULK_INSERT)
        keeps = self.stored_keys is StoredKeys.KEEP
        return is_insert and keeps and not self.index.is_hashed

    @property
    def on_existing(self) -> OnExisting:
        """What is done where an earlier commit has filled the slot."""
        if self.idempotency.slot.key is None:
            return OnExisting.APPEND
        default = OnExisting.REPLACE if self.may_replace_slot else OnExisting.APPEND
        return self.idempotency.slot.existing or default

    @property
    def recorded_operation(self) -> Operation:
        """The operation as the commit names it: an insert may replace what there is."""
        if self.replaces_slot:
            return Operation.INSERT_OVERWRITE
        is_bulk = self.operation is Operation.BULK_INSERT
        return (self.batch.bulk_overwrite if is_bulk else None) or self.operation

    @property
    def stored_keys(self) -> StoredKeys:
        """What becomes of rows whose key the table has; only plain inserts ask.

        A bulk insert does when it is to drop duplicates, which Hudi refuses; the policy is not for
        it.

        Source: HoodieSparkSqlWriter.handleInsertDuplicates, Hudi 1.1.
        """
        if self.recorded_operation is Operation.INSERT:
            return self.batch.stored_keys
        drops = self.recorded_operation is Operation.BULK_INSERT and self.batch.is_deduplicated
        return StoredKeys.DROP if drops else StoredKeys.KEEP

    @property
    def needs_lookup(self) -> bool:
        """Whether it matters which keys the table has."""
        is_keyed = self.operation in (Operation.UPSERT, Operation.DELETE)
        return is_keyed or self.stored_keys is not StoredKeys.KEEP

    @property
    def fills_small_files(self) -> bool:
        """Whether new keys may go to file groups that exist."""
        is_filling = self.operation in (Operation.UPSERT, Operation.INSERT)
        return is_filling and not self.replaces_slot

    @property
    def acts_without_rows(self) -> bool:
        """Whether a batch without rows changes the table, or is committed all the same."""
        recorded = self.recorded_operation
        is_static = recorded is Operation.INSERT_OVERWRITE and self.batch.static_partitions
        empties = recorded is Operation.INSERT_OVERWRITE_TABLE or bool(is_static)
        return empties or self.replaces_slot or self.batch.allow_empty_commit

    @property
    def is_streamed(self) -> bool:
        """Whether rows go from the source to new files without being kept in between.

        Rows of one key that are to become one meet where they are sorted, by partition first; those
        that the key sends to a file group meet there.
        """
        is_bulk = self.operation is Operation.BULK_INSERT
        is_sorted = self.bulk_insert.is_sorted and not self.index.index_type.is_global
        meets = (self.combines_batch and not is_sorted) or self.index.is_hashed
        return is_bulk and not meets and not self.needs_lookup

    @property
    def is_staged(self) -> bool:
        """Whether the rows are read and kept before the write begins."""
        named = self.batch.partitions_to_delete
        is_named = self.operation is Operation.DELETE_PARTITION and named is not None
        return not (is_named or self.is_streamed)

    @property
    def combines_batch(self) -> bool:
        """Whether several records of one key in the batch become one before they are written."""
        match self.operation:
            case Operation.UPSERT:
                return self.batch.combine_before_upsert
            case Operation.DELETE:
                return self.batch.combine_before_delete
            case _:
                return self.batch.combine_before_insert or self.batch.is_deduplicated


def _time(key: str, text: str | None) -> AskedInstant | None:
    try:
        return parse_instant(text) if text else None
    except OptionError as error:
        raise OptionError(f"option {key}: {error}") from error


def _operation(asked: Operation, batch: BatchConfig) -> Operation:
    """An upsert that leaves out stored keys is an insert.

    Source: HoodieSparkSqlWriter.deduceOperation, Hudi 0.15 and 1.1.
    """
    is_insert = asked is Operation.UPSERT and batch.stored_keys is not StoredKeys.KEEP
    return Operation.INSERT if is_insert else asked


def _beside_writers(services: ServicesConfig, options: Mapping[str, str]) -> ServicesConfig:
    """The services of one who writes beside others, who may live though nothing is heard of them.

    Raises:
        OptionError: whatever is not committed is to be undone, and so what others write.
    Source: HoodieWriteConfig.Builder.autoAdjustConfigsForConcurrencyMode and validate, Hudi 1.1.
    """
    if not FAILED_WRITES.is_given(options):
        return replace(
            services, clean=replace(services.clean, failed_writes=FailedWritesPolicy.LAZY)
        )
    if services.clean.failed_writes is FailedWritesPolicy.EAGER:
        raise OptionError(
            f"{FAILED_WRITES.key} is EAGER, which undoes what other writers have not committed; "
            f"with {MODE.key} OPTIMISTIC_CONCURRENCY_CONTROL leave it out, which makes it LAZY"
        )
    return services


def _commit_metadata(options: Mapping[str, str]) -> dict[str, str]:
    prefix = COMMIT_METADATA_PREFIX.read(options)
    if not prefix:
        return {}
    return {key: value for key, value in options.items() if key.startswith(prefix)}
