"""What a write is asked to do, from its options to frozen values.

Defaults are those of Hudi 0.15 and 1.1 where both agree; where they differ or this engine departs
from both, the option says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.config import option
from pyhudi.config.formats import BaseFileFormat, OrcConfig, requested_format
from pyhudi.config.option import Option, declare
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
)
from pyhudi.config.options.index import IndexConfig
from pyhudi.config.options.keygen import (
    DROP_PARTITION_COLUMNS,
    POPULATE_META_FIELDS,
    stated_timestamp_options,
)
from pyhudi.config.options.logs import LogConfig
from pyhudi.config.options.merging import MergeConfig
from pyhudi.config.options.operations import (
    ALLOW_DUPLICATES,
    COMBINE_BEFORE_DELETE,
    COMBINE_BEFORE_INSERT,
    COMBINE_BEFORE_UPSERT,
    OPERATION,
    BatchConfig,
    Operation,
    StoredKeys,
)
from pyhudi.config.table import TableType, TimelineZone
from pyhudi.config.versions import TableVersion


def _table_version(text: str) -> TableVersion:
    if text != str(TableVersion.SIX.value):
        raise ValueError("6, the one table version that is written")
    return TableVersion.SIX


def _optional_fields(text: str) -> tuple[str, ...] | None:
    return option.parse_fields(text) or None


__all__ = [
    "OPERATION",
    "BatchConfig",
    "BloomConfig",
    "BulkInsertConfig",
    "BulkInsertSortMode",
    "FileSizing",
    "HeartbeatConfig",
    "IndexConfig",
    "Operation",
    "ParquetConfig",
    "WriteConfig",
]

_WRITE = "hoodie.datasource.write."

TABLE_NAME = declare(
    Option(
        key="hoodie.table.name",
        aliases=(f"{_WRITE}table.name",),
        parse=option.parse_text,
        default="",
        doc="name of the table",
    )
)
DATABASE = declare(
    Option(
        key="hoodie.database.name",
        parse=str,
        default="",
        doc="database of the table, part of its checksum",
    )
)
TABLE_TYPE = declare(
    Option(
        key=f"{_WRITE}table.type",
        aliases=(f"{_WRITE}storage.type", "hoodie.table.type"),
        parse=option.parse_enum(TableType),
        default=None,
        doc="how a new table keeps updates; COPY_ON_WRITE unless said",
    )
)
TABLE_VERSION = declare(
    Option(
        key="hoodie.write.table.version",
        parse=_table_version,
        default=TableVersion.SIX,
        since="1.0",
        doc="format version of a new table; Hudi's default is its own newest",
    )
)
RECORD_KEY_FIELD = declare(
    Option(
        key=f"{_WRITE}recordkey.field",
        aliases=("hoodie.table.recordkey.fields",),
        parse=_optional_fields,
        default=None,
        doc="columns that name a record",
    )
)
PARTITION_PATH_FIELD = declare(
    Option(
        key=f"{_WRITE}partitionpath.field",
        aliases=("hoodie.table.partition.fields",),
        parse=option.parse_fields,
        default=None,
        doc="columns to partition by; empty for none",
    )
)
ORDERING_FIELD = declare(
    Option(
        key=f"{_WRITE}precombine.field",
        aliases=(
            "hoodie.table.ordering.fields",
            "hoodie.table.precombine.field",
            f"{_WRITE}ordering.fields",
            "hoodie.payload.ordering.field",
        ),
        parse=_optional_fields,
        default=None,
        doc="columns whose highest value wins; Hudi 0.15 takes ts when none is given",
    )
)
KEY_GENERATOR_CLASS = declare(
    Option(
        key=f"{_WRITE}keygenerator.class",
        aliases=("hoodie.table.keygenerator.class",),
        parse=option.parse_optional_text,
        default=None,
        doc="class of the key generator; inferred from the fields when absent",
    )
)
KEY_GENERATOR_TYPE = declare(
    Option(
        key=f"{_WRITE}keygenerator.type",
        aliases=("hoodie.table.keygenerator.type",),
        parse=option.parse_optional_text,
        default=None,
        doc="key generator by its short name; the class goes before it",
    )
)
HIVE_STYLE = declare(
    Option(
        key=f"{_WRITE}hive_style_partitioning",
        parse=option.parse_bool,
        default=None,
        doc="partition folders named field=value",
    )
)
URL_ENCODE = declare(
    Option(
        key=f"{_WRITE}partitionpath.urlencode",
        parse=option.parse_bool,
        default=None,
        doc="partition values escaped in folder names",
    )
)
CONSISTENT_TIMESTAMP = declare(
    Option(
        key=f"{_WRITE}keygenerator.consistent.logical.timestamp.enabled",
        parse=option.parse_bool,
        default=False,
        doc="timestamps in keys and paths as text instead of raw numbers",
    )
)
COMPLEX_KEY_NEW_ENCODING = declare(
    Option(
        key="hoodie.write.complex.keygen.new.encoding",
        parse=option.parse_bool,
        default=None,
        since="1.1",
        doc="a complex key of one field reads 1 instead of id:1",
    )
)
TIMELINE_ZONE = declare(
    Option(
        key="hoodie.table.timeline.timezone",
        parse=option.parse_enum(TimelineZone),
        default=TimelineZone.LOCAL,
        doc="zone of the instant times of a new table",
    )
)
COMMIT_METADATA_PREFIX = declare(
    Option(
        key=f"{_WRITE}commitmeta.key.prefix",
        parse=str,
        default="_",
        doc="options whose key starts so go into the commit's extra metadata",
    )
)
IDEMPOTENCY_KEY = declare(
    Option(
        key="pyhudi.idempotency.key",
        parse=option.parse_optional_text,
        default=None,
        since="pyhudi",
        doc="a commit that carries this key is not made twice",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConfig:
    """What a write is asked to do.

    Whatever an existing table decides itself is None unless the options name it: type, fields,
    hive style, encoding, merging. ``key_generator`` is a class or a short name, and
    ``commit_metadata`` goes into the commit's extra metadata.
    """

    table_name: str = ""
    database: str = ""
    table_type: TableType | None = None
    table_version: TableVersion = TABLE_VERSION.default
    operation: Operation = OPERATION.default
    batch: BatchConfig = field(default_factory=BatchConfig)
    record_key_fields: tuple[str, ...] | None = None
    partition_fields: tuple[str, ...] | None = None
    ordering_fields: tuple[str, ...] | None = None
    key_generator: str | None = None
    hive_style: bool | None = None
    url_encode: bool | None = None
    drop_partition_columns: bool | None = None
    populate_meta_fields: bool | None = None
    timestamp_options: Mapping[str, str] = field(default_factory=dict)
    consistent_logical_timestamp: bool = CONSISTENT_TIMESTAMP.default
    complex_key_new_encoding: bool | None = None
    merging: MergeConfig = field(default_factory=MergeConfig)
    timezone: TimelineZone = TIMELINE_ZONE.default
    combine_before_upsert: bool = COMBINE_BEFORE_UPSERT.default
    combine_before_insert: bool = COMBINE_BEFORE_INSERT.default
    combine_before_delete: bool = COMBINE_BEFORE_DELETE.default
    allow_duplicates_on_insert: bool = ALLOW_DUPLICATES.default
    evolution: EvolutionConfig = field(default_factory=EvolutionConfig)
    failures: FailureConfig = field(default_factory=FailureConfig)
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    sizing: FileSizing = field(default_factory=FileSizing)
    base_file_format: BaseFileFormat | None = None
    parquet: ParquetConfig = field(default_factory=ParquetConfig)
    orc: OrcConfig = field(default_factory=OrcConfig)
    bloom: BloomConfig = field(default_factory=BloomConfig)
    bulk_insert: BulkInsertConfig = field(default_factory=BulkInsertConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)
    logs: LogConfig = field(default_factory=LogConfig)
    compaction: CompactionConfig = field(default_factory=CompactionConfig)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> WriteConfig:
        """The write that options ask for.

        Raises:
            OptionError: a value that is not allowed.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        batch = BatchConfig.from_options(options)
        return cls(
            table_name=TABLE_NAME.read(options),
            database=DATABASE.read(options),
            table_type=TABLE_TYPE.read(options),
            table_version=TABLE_VERSION.read(options),
            operation=_operation(OPERATION.read(options), batch),
            batch=batch,
            record_key_fields=RECORD_KEY_FIELD.read(options),
            partition_fields=PARTITION_PATH_FIELD.read(options),
            ordering_fields=ORDERING_FIELD.read(options),
            key_generator=KEY_GENERATOR_CLASS.read(options) or KEY_GENERATOR_TYPE.read(options),
            hive_style=HIVE_STYLE.read(options),
            url_encode=URL_ENCODE.read(options),
            drop_partition_columns=DROP_PARTITION_COLUMNS.read(options),
            populate_meta_fields=POPULATE_META_FIELDS.read(options),
            timestamp_options=stated_timestamp_options(options),
            consistent_logical_timestamp=CONSISTENT_TIMESTAMP.read(options),
            complex_key_new_encoding=COMPLEX_KEY_NEW_ENCODING.read(options),
            merging=MergeConfig.from_options(options),
            timezone=TIMELINE_ZONE.read(options),
            combine_before_upsert=COMBINE_BEFORE_UPSERT.read(options),
            combine_before_insert=COMBINE_BEFORE_INSERT.read(options),
            combine_before_delete=COMBINE_BEFORE_DELETE.read(options),
            allow_duplicates_on_insert=ALLOW_DUPLICATES.read(options),
            evolution=EvolutionConfig.from_options(options),
            failures=FailureConfig.from_options(options),
            commit_metadata=_commit_metadata(options),
            idempotency_key=IDEMPOTENCY_KEY.read(options),
            sizing=FileSizing.from_options(options),
            base_file_format=requested_format(options),
            parquet=ParquetConfig.from_options(options),
            orc=OrcConfig.from_options(options),
            bloom=BloomConfig.from_options(options),
            bulk_insert=BulkInsertConfig.from_options(options),
            index=IndexConfig.from_options(options),
            heartbeat=HeartbeatConfig.from_options(options),
            logs=LogConfig.from_options(options),
            compaction=CompactionConfig.from_options(options),
        )

    @property
    def effect(self) -> Operation:
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
        if self.effect is Operation.INSERT:
            return self.batch.stored_keys
        drops = self.effect is Operation.BULK_INSERT and self.batch.is_deduplicated
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
        is_static = self.effect is Operation.INSERT_OVERWRITE and self.batch.static_partitions
        empties = self.effect is Operation.INSERT_OVERWRITE_TABLE or bool(is_static)
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
    def combines_batch(self) -> bool:
        """Whether several records of one key in the batch become one before they are written."""
        match self.operation:
            case Operation.UPSERT:
                return self.combine_before_upsert
            case Operation.DELETE:
                return self.combine_before_delete
            case _:
                return self.combine_before_insert or self.batch.is_deduplicated


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
