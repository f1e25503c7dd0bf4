"""What a write is asked to do, from its options to frozen values.

Defaults are those of Hudi 0.15 and 1.1 where both agree; where they differ or this engine departs
from both, the option says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pyhudi.config import option
from pyhudi.config.files import (
    BloomConfig,
    BulkInsertConfig,
    BulkInsertSortMode,
    FileSizing,
    HeartbeatConfig,
    IndexConfig,
    ParquetConfig,
)
from pyhudi.config.merging import requested_payload
from pyhudi.config.option import Option, declare
from pyhudi.config.table import TableType, TimelineZone
from pyhudi.config.versions import TableVersion
from pyhudi.errors import UnsupportedError


class Operation(Enum):
    """What becomes of the rows."""

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"

    @property
    def commit_name(self) -> str:
        """The operation as commit metadata names it.

        Source: WriteOperationType, Hudi 0.15.
        """
        return self.name


def _table_version(text: str) -> TableVersion:
    if text != str(TableVersion.SIX.value):
        raise ValueError("6, the one table version that is written")
    return TableVersion.SIX


def _operation(text: str) -> Operation:
    known = "insert_overwrite insert_overwrite_table delete_partition insert_prepped upsert_prepped"
    if text.lower() in (*known.split(), "bulk_insert_prepped", "delete_prepped", "bootstrap"):
        raise UnsupportedError(
            f"{OPERATION.key} is {text!r}, which is not supported; supported are "
            f"{', '.join(member.value for member in Operation)}"
        )
    return option.parse_enum(Operation)(text)


def _optional_fields(text: str) -> tuple[str, ...] | None:
    return option.parse_fields(text) or None


__all__ = [
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
        default=TableType.COPY_ON_WRITE,
        doc="how updates are kept; MERGE_ON_READ is not written yet",
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
OPERATION = declare(
    Option(
        key=f"{_WRITE}operation",
        parse=_operation,
        default=Operation.UPSERT,
        doc="what becomes of the rows",
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
        parse=option.parse_optional_text,
        default=None,
        doc="column whose highest value wins; Hudi 0.15 takes ts when none is given",
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
COMBINE_BEFORE_UPSERT = declare(
    Option(
        key="hoodie.combine.before.upsert",
        parse=option.parse_bool,
        default=True,
        doc="one record a key before an upsert",
    )
)
COMBINE_BEFORE_INSERT = declare(
    Option(
        key="hoodie.combine.before.insert",
        parse=option.parse_bool,
        default=False,
        doc="one record a key before an insert or bulk insert",
    )
)
COMBINE_BEFORE_DELETE = declare(
    Option(
        key="hoodie.combine.before.delete",
        parse=option.parse_bool,
        default=True,
        doc="one record a key before a delete",
    )
)
ALLOW_DUPLICATES = declare(
    Option(
        key="hoodie.merge.allow.duplicate.on.inserts",
        parse=option.parse_bool,
        default=True,
        doc="inserts into an existing file keep records of keys it has",
    )
)
NULL_FOR_MISSING = declare(
    Option(
        key="hoodie.write.set.null.for.missing.columns",
        parse=option.parse_bool,
        default=False,
        doc="a table's column that the rows lack becomes null",
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

    Whatever an existing table decides itself is None unless the options name it: fields, hive
    style, encoding, merging. ``key_generator`` is a class or a short name. ``commit_metadata`` goes
    into the commit's extra metadata.
    """

    table_name: str = ""
    database: str = ""
    table_type: TableType = TABLE_TYPE.default
    table_version: TableVersion = TABLE_VERSION.default
    operation: Operation = OPERATION.default
    record_key_fields: tuple[str, ...] | None = None
    partition_fields: tuple[str, ...] | None = None
    ordering_field: str | None = None
    key_generator: str | None = None
    hive_style: bool | None = None
    url_encode: bool | None = None
    consistent_logical_timestamp: bool = CONSISTENT_TIMESTAMP.default
    complex_key_new_encoding: bool | None = None
    payload_class: str | None = None
    timezone: TimelineZone = TIMELINE_ZONE.default
    combine_before_upsert: bool = COMBINE_BEFORE_UPSERT.default
    combine_before_insert: bool = COMBINE_BEFORE_INSERT.default
    combine_before_delete: bool = COMBINE_BEFORE_DELETE.default
    allow_duplicates_on_insert: bool = ALLOW_DUPLICATES.default
    null_for_missing_columns: bool = NULL_FOR_MISSING.default
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    sizing: FileSizing = field(default_factory=FileSizing)
    parquet: ParquetConfig = field(default_factory=ParquetConfig)
    bloom: BloomConfig = field(default_factory=BloomConfig)
    bulk_insert: BulkInsertConfig = field(default_factory=BulkInsertConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> WriteConfig:
        """The write that options ask for.

        Raises:
            OptionError: a value that is not allowed.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        return cls(
            table_name=TABLE_NAME.read(options),
            database=DATABASE.read(options),
            table_type=TABLE_TYPE.read(options),
            table_version=TABLE_VERSION.read(options),
            operation=OPERATION.read(options),
            record_key_fields=RECORD_KEY_FIELD.read(options),
            partition_fields=PARTITION_PATH_FIELD.read(options),
            ordering_field=ORDERING_FIELD.read(options),
            key_generator=KEY_GENERATOR_CLASS.read(options) or KEY_GENERATOR_TYPE.read(options),
            hive_style=HIVE_STYLE.read(options),
            url_encode=URL_ENCODE.read(options),
            consistent_logical_timestamp=CONSISTENT_TIMESTAMP.read(options),
            complex_key_new_encoding=COMPLEX_KEY_NEW_ENCODING.read(options),
            payload_class=requested_payload(options),
            timezone=TIMELINE_ZONE.read(options),
            combine_before_upsert=COMBINE_BEFORE_UPSERT.read(options),
            combine_before_insert=COMBINE_BEFORE_INSERT.read(options),
            combine_before_delete=COMBINE_BEFORE_DELETE.read(options),
            allow_duplicates_on_insert=ALLOW_DUPLICATES.read(options),
            null_for_missing_columns=NULL_FOR_MISSING.read(options),
            commit_metadata=_commit_metadata(options),
            idempotency_key=IDEMPOTENCY_KEY.read(options),
            sizing=FileSizing.from_options(options),
            parquet=ParquetConfig.from_options(options),
            bloom=BloomConfig.from_options(options),
            bulk_insert=BulkInsertConfig.from_options(options),
            index=IndexConfig.from_options(options),
            heartbeat=HeartbeatConfig.from_options(options),
        )

    @property
    def combines_batch(self) -> bool:
        """Whether several records of one key in the batch become one before they are written."""
        match self.operation:
            case Operation.UPSERT:
                return self.combine_before_upsert
            case Operation.DELETE:
                return self.combine_before_delete
            case _:
                return self.combine_before_insert


def _commit_metadata(options: Mapping[str, str]) -> dict[str, str]:
    prefix = COMMIT_METADATA_PREFIX.read(options)
    if not prefix:
        return {}
    return {key: value for key, value in options.items() if key.startswith(prefix)}
