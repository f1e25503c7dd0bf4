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
from pyhudi.config.options.compaction import CompactionConfig
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
from pyhudi.config.options.operations import OPERATION, BatchConfig, Operation, StoredKeys
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
    "FileSizing",
    "HeartbeatConfig",
    "IndexConfig",
    "Operation",
    "ParquetConfig",
    "WaitConfig",
    "WriteConfig",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyConfig:
    """What a commit is recognised by, and since when there may be one."""

    key: str | None = setting(IDEMPOTENCY_KEY)
    since: AskedInstant | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> IdempotencyConfig:
        """What options say.

        Raises:
            OptionError: the time is none.
        """
        text = IDEMPOTENCY_SINCE.read(options)
        try:
            since = parse_instant(text) if text else None
        except OptionError as error:
            raise OptionError(f"option {IDEMPOTENCY_SINCE.key}: {error}") from error
        return read_settings(cls, options, since=since)


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
    wait: WaitConfig = part(WaitConfig)
    logs: LogConfig = part(LogConfig)
    compaction: CompactionConfig = part(CompactionConfig)
    services: ServicesConfig = part(ServicesConfig)
    skip_damaged: bool = setting(SKIP_DAMAGED)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> WriteConfig:
        """The write that options ask for.

        Raises:
            OptionError: a value that is not allowed.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        found = read_settings(cls, options, commit_metadata=_commit_metadata(options))
        return replace(found, operation=_operation(found.operation, found.batch))

    @property
    def recorded_operation(self) -> Operation:
        """The operation as the commit names it: a bulk insert may replace what there is."""
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
        return self.operation in (Operation.UPSERT, Operation.INSERT)

    @property
    def acts_without_rows(self) -> bool:
        """Whether a batch without rows changes the table, or is committed all the same."""
        recorded = self.recorded_operation
        is_static = recorded is Operation.INSERT_OVERWRITE and self.batch.static_partitions
        empties = recorded is Operation.INSERT_OVERWRITE_TABLE or bool(is_static)
        return empties or self.batch.allow_empty_commit

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


def _operation(asked: Operation, batch: BatchConfig) -> Operation:
    """An upsert that leaves out stored keys is an insert.

    Source: HoodieSparkSqlWriter.deduceOperation, Hudi 0.15 and 1.1.
    """
    is_insert = asked is Operation.UPSERT and batch.stored_keys is not StoredKeys.KEEP
    return Operation.INSERT if is_insert else asked


def _commit_metadata(options: Mapping[str, str]) -> dict[str, str]:
    prefix = COMMIT_METADATA_PREFIX.read(options)
    if not prefix:
        return {}
    return {key: value for key, value in options.items() if key.startswith(prefix)}
