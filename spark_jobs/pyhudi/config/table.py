"""The persisted identity of a table: what hoodie.properties says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from pyhudi.config.option import parse_bool, parse_fields
from pyhudi.config.options.keygen import class_of_type, stated_timestamp_options
from pyhudi.config.options.merging import (
    CUSTOM_MERGER,
    CUSTOM_PAYLOAD,
    DELETE_FIELD,
    DELETE_MARKER,
    DeleteMarker,
    MergeMode,
    default_payload,
    merge_mode,
)
from pyhudi.config.properties import table_checksum
from pyhudi.config.versions import TableVersion
from pyhudi.errors import CorruptTableError, UnsupportedError

_E = TypeVar("_E", bound=Enum)

_NAME = "hoodie.table.name"
_DATABASE = "hoodie.database.name"
_TYPE = "hoodie.table.type"
_VERSION = "hoodie.table.version"
_RECORD_KEY = "hoodie.table.recordkey.fields"
_PARTITION = "hoodie.table.partition.fields"
_PRECOMBINE = "hoodie.table.precombine.field"
_ORDERING = "hoodie.table.ordering.fields"
_KEY_GENERATOR = "hoodie.table.keygenerator.class"
_KEY_GENERATOR_TYPE = "hoodie.table.keygenerator.type"
_PAYLOAD = "hoodie.compaction.payload.class"
_STRATEGY = "hoodie.record.merge.strategy.id"
# Hudi 1.1 keeps what a payload is told beside the table under this prefix, in version 6 too.
_DELETE_FIELD = f"hoodie.record.merge.property.{DELETE_FIELD.key}"
_DELETE_MARKER = f"hoodie.record.merge.property.{DELETE_MARKER.key}"
_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
_DROP_COLUMNS = "hoodie.datasource.write.drop.partition.columns"
_META_FIELDS = "hoodie.populate.meta.fields"
_FILE_FORMAT = "hoodie.table.base.file.format"
_TIMEZONE = "hoodie.table.timeline.timezone"
_CDC = "hoodie.table.cdc.enabled"
_METADATA = "hoodie.table.metadata.partitions"
_METADATA_INFLIGHT = "hoodie.table.metadata.partitions.inflight"
_CREATE_SCHEMA = "hoodie.table.create.schema"
_BOOTSTRAP = "hoodie.bootstrap.base.path"
_CHECKSUM = "hoodie.table.checksum"


class TableType(Enum):
    """How updates are kept: by rewriting files, or by logs beside them."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class TimelineZone(Enum):
    """The zone of instant times: that of the writer's machine, or UTC."""

    LOCAL = "LOCAL"
    UTC = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    """What a table says of itself.

    ``payload_class`` is None in tables that name none; ``custom_merger`` is the class path of a
    merger in Python; ``timestamp_options`` are those of a
    timestamp-based key generator; ``raw`` has the properties as they were
    read, those included that have no field here.
    """

    name: str
    table_type: TableType
    version: TableVersion
    database: str = ""
    record_key_fields: tuple[str, ...] = ()
    partition_fields: tuple[str, ...] = ()
    ordering_fields: tuple[str, ...] = ()
    key_generator_class: str | None = None
    payload_class: str | None = None
    custom_merger: str | None = None
    delete_marker: DeleteMarker | None = None
    hive_style: bool = False
    url_encode: bool = False
    drop_partition_columns: bool = False
    populate_meta_fields: bool = True
    base_file_format: str = "PARQUET"
    timezone: TimelineZone = TimelineZone.LOCAL
    cdc_enabled: bool = False
    metadata_partitions: tuple[str, ...] = ()
    create_schema: str | None = None
    bootstrap_base_path: str | None = None
    timestamp_options: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], *, where: str = "") -> TableConfig:
        """The configuration in a hoodie.properties; ``where`` names its table in errors.

        Raises:
            CorruptTableError: a property is missing, or its value has no meaning.
            UnsupportedError: a format version that is not known.
        Source: HoodieTableConfig, Hudi 0.15 and 1.1.
        """
        read = _Reader(properties, where)
        return cls(
            name=read.required(_NAME),
            table_type=read.one_of(_TYPE, TableType, TableType.COPY_ON_WRITE),
            version=TableVersion.of(read.required(_VERSION)),
            database=read.text(_DATABASE) or "",
            record_key_fields=read.fields(_RECORD_KEY),
            # Custom key generators of table version 8 note a kind behind each field.
            partition_fields=tuple(name.partition(":")[0] for name in read.fields(_PARTITION)),
            ordering_fields=read.fields(_ORDERING) or read.fields(_PRECOMBINE),
            key_generator_class=read.key_generator(),
            payload_class=read.text(_PAYLOAD),
            custom_merger=read.text(CUSTOM_MERGER.key),
            delete_marker=read.delete_marker(),
            hive_style=read.flag(_HIVE_STYLE, default=False),
            url_encode=read.flag(_URL_ENCODE, default=False),
            drop_partition_columns=read.flag(_DROP_COLUMNS, default=False),
            populate_meta_fields=read.flag(_META_FIELDS, default=True),
            base_file_format=(read.text(_FILE_FORMAT) or "PARQUET").upper(),
            timezone=read.one_of(_TIMEZONE, TimelineZone, TimelineZone.LOCAL),
            cdc_enabled=read.flag(_CDC, default=False),
            metadata_partitions=(*read.fields(_METADATA), *read.fields(_METADATA_INFLIGHT)),
            create_schema=read.text(_CREATE_SCHEMA),
            bootstrap_base_path=read.text(_BOOTSTRAP),
            timestamp_options=stated_timestamp_options(properties),
            raw=dict(properties),
        )

    def to_properties(self) -> dict[str, str]:
        """The properties of a new table of version 6.

        Raises:
            UnsupportedError: another table version.
        Source: HoodieTableMetaClient.PropertyBuilder, Hudi 0.15. The payload class goes beyond it:
            0.15 leaves it out of copy-on-write tables, and releases then differ in what they merge.
        """
        if self.version is not TableVersion.SIX:
            raise UnsupportedError(f"tables of version {self.version.value} cannot be made yet")
        properties = {
            _NAME: self.name,
            _DATABASE: self.database,
            _TYPE: self.table_type.value,
            _VERSION: str(self.version.value),
            "hoodie.timeline.layout.version": str(self.version.timeline_layout.value),
            "hoodie.archivelog.folder": "archived",
            _FILE_FORMAT: self.base_file_format,
            _RECORD_KEY: ",".join(self.record_key_fields),
            _PARTITION: ",".join(self.partition_fields),
            _PRECOMBINE: ",".join(self.ordering_fields),
            _KEY_GENERATOR: self.key_generator_class or "",
            _PAYLOAD: self.payload_class or default_payload(self.ordering_fields),
            _META_FIELDS: _text(self.populate_meta_fields),
            _CDC: _text(self.cdc_enabled),
            _HIVE_STYLE: _text(self.hive_style),
            _URL_ENCODE: _text(self.url_encode),
            _DROP_COLUMNS: _text(self.drop_partition_columns),
            "hoodie.partition.metafile.use.base.format": "false",
            _TIMEZONE: self.timezone.value,
            _CREATE_SCHEMA: self.create_schema or "",
            _METADATA: ",".join(self.metadata_partitions),
            _METADATA_INFLIGHT: "",
            _CHECKSUM: str(table_checksum(self.database, self.name)),
            **self.timestamp_options,
            **self._merge_properties(),
        }
        optional = (_RECORD_KEY, _PRECOMBINE, _KEY_GENERATOR, _CREATE_SCHEMA)
        return {key: value for key, value in properties.items() if value or key not in optional}

    def without_metadata_table(self) -> TableConfig:
        """The same table with the metadata table switched off, all other properties kept."""
        off = {_METADATA: "", _METADATA_INFLIGHT: ""}
        return TableConfig.from_properties({**self.raw, **off})

    def _merge_properties(self) -> dict[str, str]:
        properties = {}
        if self.payload_class == CUSTOM_PAYLOAD and self.custom_merger:
            properties[CUSTOM_MERGER.key] = self.custom_merger
        if self.delete_marker is not None:
            properties[_DELETE_FIELD] = self.delete_marker.field
            properties[_DELETE_MARKER] = self.delete_marker.value
        return properties

    @property
    def merge_mode(self) -> MergeMode:
        """Which of two records of one key wins.

        Tables that name no payload class merge by event time as soon as they have an ordering
        field.

        Raises:
            UnsupportedError: a payload class with rules of its own.
        """
        return merge_mode(self.payload_class, self.ordering_fields, self.raw.get(_STRATEGY))


def _text(flag: bool) -> str:  # noqa: FBT001 - a value, not a switch
    return "true" if flag else "false"


@dataclass(frozen=True, slots=True)
class _Reader:
    properties: Mapping[str, str]
    where: str

    def text(self, key: str) -> str | None:
        return self.properties.get(key, "").strip() or None

    def required(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise self._corrupt(f"hoodie.properties has no {key}; it may have been cut short")
        return value

    def fields(self, key: str) -> tuple[str, ...]:
        try:
            return parse_fields(self.text(key) or "")
        except ValueError as error:
            raise self._corrupt(f"{key} is {self.text(key)!r}, not {error}") from error

    def delete_marker(self) -> DeleteMarker | None:
        column, value = self.text(_DELETE_FIELD), self.text(_DELETE_MARKER)
        return None if column is None or value is None else DeleteMarker(field=column, value=value)

    def key_generator(self) -> str | None:
        # Hudi 1.1 writes the type, into tables of version 6 too; 0.15 the class.
        kind = self.text(_KEY_GENERATOR_TYPE)
        return self.text(_KEY_GENERATOR) or (class_of_type(kind) if kind else None)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.text(key)
        try:
            return default if value is None else parse_bool(value)
        except ValueError as error:
            raise self._corrupt(f"{key} is {value!r}, not {error}") from error

    def one_of(self, key: str, kind: type[_E], default: _E) -> _E:
        value = self.text(key)
        if value is None:
            return default
        for member in kind:
            if member.value == value.upper():
                return member
        raise self._corrupt(f"{key} is {value!r}, not {' or '.join(m.value for m in kind)}")

    def _corrupt(self, message: str) -> CorruptTableError:
        return CorruptTableError(message, where=self.where or None)
