"""The persisted identity of a table: what hoodie.properties says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from pyhudi.config.formats import BASE_FILE_FORMAT
from pyhudi.config.option import parse_bool, parse_fields, read_settings, setting
from pyhudi.config.options.bootstrap import BASE_PATH as BOOTSTRAP_SOURCE
from pyhudi.config.options.bootstrap import INDEX_BY_CLASS, INDEX_BY_TYPE
from pyhudi.config.options.keygen import (
    DROP_PARTITION_COLUMNS,
    POPULATE_META_FIELDS,
    class_of_type,
    stated_timestamp_options,
    type_of_class,
)
from pyhudi.config.options.merging import (
    CUSTOM_MERGER,
    CUSTOM_PAYLOAD,
    DELETE_FIELD,
    DELETE_MARKER,
    MODE_PROPERTY,
    PAYLOAD_PROPERTY,
    STRATEGY_PROPERTY,
    DeleteMarker,
    MergeMode,
    PartialUpdate,
    RecordMergeMode,
    default_payload,
    merge_mode,
    named_merge_mode,
)
from pyhudi.config.options.recorded_merging import (
    LEGACY_PAYLOAD_PROPERTY,
    MERGING,
    PARTIAL_UPDATE_PROPERTY,
    UNAVAILABLE_PROPERTY,
    merge_properties,
)
from pyhudi.config.options.table import (
    DATABASE,
    HIVE_STYLE,
    KEY_GENERATOR_PROPERTY,
    KEY_GENERATOR_TYPE_PROPERTY,
    ORDERING_PROPERTY,
    PARTITION_PROPERTY,
    PRECOMBINE_PROPERTY,
    RECORD_KEY_PROPERTY,
    TABLE_NAME,
    TIMELINE_ZONE,
    TYPE_PROPERTY,
    URL_ENCODE,
    TableType,
    TimelineZone,
)
from pyhudi.config.properties import table_checksum
from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.errors import CorruptTableError, located

__all__ = ["TableConfig", "TableType", "TimelineZone"]

T = TypeVar("T")
_E = TypeVar("_E", bound=Enum)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Property(Generic[T]):
    """A property of hoodie.properties; an empty text is none."""

    key: str
    parse: Callable[[str], T]
    default: T

    def read(self, properties: Mapping[str, str]) -> T:
        text = properties.get(self.key, "").strip()
        try:
            return self.parse(text) if text else self.default
        except ValueError as error:
            raise CorruptTableError(f"{self.key} is {text!r}, not {error}") from error


def _flag(key: str, *, default: bool = False) -> _Property[bool]:
    return _Property(key=key, parse=parse_bool, default=default)


def _text(key: str) -> _Property[str | None]:
    return _Property(key=key, parse=str, default=None)


def _names(key: str) -> _Property[tuple[str, ...]]:
    return _Property(key=key, parse=parse_fields, default=())


def _one_of(key: str, default: _E) -> _Property[_E]:
    by_text = {member.value: member for member in type(default)}

    def parse(text: str) -> _E:
        if text.upper() not in by_text:
            raise ValueError(" or ".join(by_text))
        return by_text[text.upper()]

    return _Property(key=key, parse=parse, default=default)


_DATABASE = _Property(key=DATABASE.key, parse=str, default="")
_TYPE = _one_of(TYPE_PROPERTY, TableType.COPY_ON_WRITE)
_VERSION = "hoodie.table.version"
_RECORD_KEY = _names(RECORD_KEY_PROPERTY)
_PARTITION = _names(PARTITION_PROPERTY)
_PRECOMBINE = _names(PRECOMBINE_PROPERTY)
_ORDERING = _names(ORDERING_PROPERTY)
_KEY_GENERATOR = _text(KEY_GENERATOR_PROPERTY)
_KEY_GENERATOR_TYPE = _text(KEY_GENERATOR_TYPE_PROPERTY)
_PAYLOAD = _text(PAYLOAD_PROPERTY)
_CUSTOM_MERGER = _text(CUSTOM_MERGER.key)
_DELETE_FIELD = _text(f"{MERGING}{DELETE_FIELD.key}")
_DELETE_MARKER = _text(f"{MERGING}{DELETE_MARKER.key}")
_UNAVAILABLE = _text(UNAVAILABLE_PROPERTY)
_MERGE_MODE = _one_of(MODE_PROPERTY, RecordMergeMode.CUSTOM)
_PARTIAL_UPDATE = _one_of(PARTIAL_UPDATE_PROPERTY, PartialUpdate.KEEP_VALUES)
_HIVE_STYLE = _flag(HIVE_STYLE.key)
_URL_ENCODE = _flag(URL_ENCODE.key)
_DROP_COLUMNS = _flag(DROP_PARTITION_COLUMNS.key)
_META_FIELDS = _flag(POPULATE_META_FIELDS.key, default=True)
_FILE_FORMAT = _Property(key=BASE_FILE_FORMAT.key, parse=str.upper, default="PARQUET")
_TIMEZONE = _one_of(TIMELINE_ZONE.key, TimelineZone.LOCAL)
_CDC = _flag("hoodie.table.cdc.enabled")
_METADATA = _names("hoodie.table.metadata.partitions")
_METADATA_INFLIGHT = _names("hoodie.table.metadata.partitions.inflight")
_CREATE_SCHEMA = _text("hoodie.table.create.schema")
_BOOTSTRAP = _text(BOOTSTRAP_SOURCE.key)
_ARCHIVE = _Property(key="hoodie.archivelog.folder", parse=str, default="archived")
_TIMELINE = _Property(key="hoodie.timeline.path", parse=str, default="timeline")
_HISTORY = _Property(key="hoodie.timeline.history.path", parse=str, default="history")
_CHECKSUM = "hoodie.table.checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    """What a table says of itself.

    ``payload_class`` is None in tables that name none; ``custom_merger`` is the class path of a
    merger in Python; ``timestamp_options`` are those of a timestamp-based key generator; ``raw``
    has the properties as they were read, those included that have no field here.
    """

    name: str
    table_type: TableType = setting(_TYPE)
    version: TableVersion
    database: str = setting(_DATABASE)
    record_key_fields: tuple[str, ...] = setting(_RECORD_KEY)
    partition_fields: tuple[str, ...] = setting(_PARTITION)
    ordering_fields: tuple[str, ...] = setting(_ORDERING)
    key_generator_class: str | None = setting(_KEY_GENERATOR)
    payload_class: str | None = setting(_PAYLOAD)
    custom_merger: str | None = setting(_CUSTOM_MERGER)
    delete_marker: DeleteMarker | None = None
    hive_style: bool = setting(_HIVE_STYLE)
    url_encode: bool = setting(_URL_ENCODE)
    drop_partition_columns: bool = setting(_DROP_COLUMNS)
    populate_meta_fields: bool = setting(_META_FIELDS)
    base_file_format: str = setting(_FILE_FORMAT)
    timezone: TimelineZone = setting(_TIMEZONE)
    metadata_partitions: tuple[str, ...] = setting(_METADATA)
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
        with located(where):
            _check_sum(properties)
            _CDC.read(properties)
            # Custom key generators of table version 8 note a kind behind each field.
            partitions = (name.partition(":")[0] for name in _PARTITION.read(properties))
            return read_settings(
                cls,
                properties,
                name=_required(properties, TABLE_NAME.key),
                version=TableVersion.of(_required(properties, _VERSION)),
                partition_fields=tuple(partitions),
                ordering_fields=_ORDERING.read(properties) or _PRECOMBINE.read(properties),
                key_generator_class=_key_generator(properties),
                delete_marker=_delete_marker(properties),
                metadata_partitions=(
                    *_METADATA.read(properties),
                    *_METADATA_INFLIGHT.read(properties),
                ),
                timestamp_options=stated_timestamp_options(properties),
                raw=dict(properties),
            )

    def to_properties(self) -> dict[str, str]:
        """The properties of a new table.

        Raises:
            UnsupportedError: a rule of merging that such a table cannot name.
        Source: HoodieTableMetaClient.PropertyBuilder, Hudi 0.15 and 1.1. The payload class goes
            beyond it: 0.15 leaves it out of copy-on-write tables, and releases then differ in what
            they merge.
        """
        properties = {
            TABLE_NAME.key: self.name,
            _DATABASE.key: self.database,
            _TYPE.key: self.table_type.value,
            _VERSION: str(self.version.value),
            "hoodie.timeline.layout.version": str(self.version.timeline_layout.value),
            _ARCHIVE.key: _ARCHIVE.default,
            _FILE_FORMAT.key: self.base_file_format,
            _RECORD_KEY.key: ",".join(self.record_key_fields),
            _PARTITION.key: ",".join(self.partition_fields),
            _PRECOMBINE.key: ",".join(self.ordering_fields),
            _KEY_GENERATOR.key: self.key_generator_class or "",
            _PAYLOAD.key: self.payload_class or default_payload(self.ordering_fields),
            _META_FIELDS.key: _lower(self.populate_meta_fields),
            _CDC.key: _lower(self.cdc_enabled),
            _HIVE_STYLE.key: _lower(self.hive_style),
            _URL_ENCODE.key: _lower(self.url_encode),
            _DROP_COLUMNS.key: _lower(self.drop_partition_columns),
            "hoodie.partition.metafile.use.base.format": "false",
            _TIMEZONE.key: self.timezone.value,
            _CREATE_SCHEMA.key: self.create_schema or "",
            _METADATA.key: ",".join(self.metadata_partitions),
            _METADATA_INFLIGHT.key: "",
            _CHECKSUM: str(table_checksum(self.database, self.name)),
            **self.timestamp_options,
            **self._merge_properties(),
            **self.bootstrap_properties,
        }
        if self.version.timeline_layout is TimelineLayout.TWO:
            properties = self._in_layout_two(properties)
        optional = (_RECORD_KEY, _PRECOMBINE, _ORDERING, _KEY_GENERATOR, _CREATE_SCHEMA)
        absent = {each.key for each in optional if not properties.get(each.key, " ")}
        return {key: value for key, value in properties.items() if key not in absent}

    def _in_layout_two(self, properties: Mapping[str, str]) -> dict[str, str]:
        """What Hudi 1.x says in other words, and what it says beside the rest."""
        version, found = str(self.version.value), dict(properties)
        generator = found.pop(_KEY_GENERATOR.key)
        found |= {
            "hoodie.table.initial.version": version,
            _ARCHIVE.key: _HISTORY.default,
            _TIMELINE.key: _TIMELINE.default,
            _HISTORY.key: _HISTORY.default,
            _KEY_GENERATOR_TYPE.key: type_of_class(generator) if generator else "",
            "hoodie.table.multiple.base.file.formats.enable": "false",
        }
        # With a custom key generator it says the kinds of the fields, too.
        found[_PARTITION.key] = self.raw.get(_PARTITION.key, found[_PARTITION.key])
        payload, _ = found.pop(_PAYLOAD.key), found.pop(_PRECOMBINE.key)
        if MODE_PROPERTY in self.raw:
            payload = self.raw.get(LEGACY_PAYLOAD_PROPERTY) or self.merge_mode.value
        found |= merge_properties(payload, self.ordering_fields, self.version)
        if self.version is TableVersion.NINE:
            found["hoodie.table.format"] = "native"
        unsaid = (_KEY_GENERATOR_TYPE.key, _DATABASE.key)
        return {key: value for key, value in found.items() if key not in unsaid or value}

    def without_metadata_table(self) -> TableConfig:
        """The same table with the metadata table switched off, all other properties kept."""
        off = {_METADATA.key: "", _METADATA_INFLIGHT.key: ""}
        return TableConfig.from_properties({**self.raw, **off})

    def _merge_properties(self) -> dict[str, str]:
        properties = {}
        if self.is_ordered_by_commit_time:
            properties[MODE_PROPERTY] = self.raw[MODE_PROPERTY]
        if self.payload_class == CUSTOM_PAYLOAD and self.custom_merger:
            properties[CUSTOM_MERGER.key] = self.custom_merger
        if self.delete_marker is not None:
            properties[_DELETE_FIELD.key] = self.delete_marker.field
            properties[_DELETE_MARKER.key] = self.delete_marker.value
        return properties

    @property
    def bootstrap_properties(self) -> dict[str, str]:
        """What a table says of the dataset that it was made of.

        Source: HoodieSparkSqlWriter.bootstrap, Hudi 0.15 and 1.1.
        """
        is_first = self.version.timeline_layout is TimelineLayout.ONE
        source, index = self.bootstrap_base_path, INDEX_BY_CLASS if is_first else INDEX_BY_TYPE
        return {} if source is None else {_BOOTSTRAP.key: source, **index}

    @property
    def cdc_enabled(self) -> bool:
        """Whether writers keep change data beside the files."""
        return _CDC.read(self.raw)

    @property
    def archive_folder(self) -> str:
        """The name of the folder of archived instants, beside those of the active timeline."""
        is_first = self.version.timeline_layout is TimelineLayout.ONE
        return (_ARCHIVE if is_first else _HISTORY).read(self.raw)

    @property
    def timeline_folder(self) -> str:
        """The name of the folder of the active timeline, in layout 2."""
        return _TIMELINE.read(self.raw)

    @property
    def archive_path(self) -> str:
        """Where archived instants lie, relative to the table."""
        is_first = self.version.timeline_layout is TimelineLayout.ONE
        return f".hoodie/{'' if is_first else f'{self.timeline_folder}/'}{self.archive_folder}"

    @property
    def create_schema(self) -> str | None:
        """The Avro text of the schema that the table was made with, if it was noted."""
        return _CREATE_SCHEMA.read(self.raw)

    @property
    def bootstrap_base_path(self) -> str | None:
        """Where the files lie that the table was bootstrapped from, if it was."""
        return _BOOTSTRAP.read(self.raw)

    @property
    def is_ordered_by_commit_time(self) -> bool:
        """Whether the table was made with COMMIT_TIME_ORDERING, by that name.

        Not: a table that has only the payload class that Hudi 1.x takes for it; it looks at
            ordering values within a batch.
        """
        return self.raw.get(MODE_PROPERTY) == RecordMergeMode.COMMIT_TIME.value

    @property
    def merge_mode(self) -> MergeMode:
        """Which of two records of one key wins.

        Tables of version 6 that name no payload class merge by event time as soon as they have an
        ordering field; those of later versions name the mode.

        Raises:
            UnsupportedError: a payload class with rules of its own, or a Java merger.
        """
        strategy = self.raw.get(STRATEGY_PROPERTY)
        if not self.version.names_merge_mode or MODE_PROPERTY not in self.raw:
            return merge_mode(self.payload_class, self.ordering_fields, strategy)
        named = _MERGE_MODE.read(self.raw)
        return named_merge_mode(named, self.payload_class, self.ordering_fields, strategy)

    @property
    def partial_update(self) -> PartialUpdate | None:
        """Which values of a record are taken from the one that it goes before, if any are.

        Source: HoodieTableConfig.PARTIAL_UPDATE_MODE, Hudi 1.1 (table version 9).
        """
        return _PARTIAL_UPDATE.read(self.raw) if _PARTIAL_UPDATE.key in self.raw else None

    @property
    def unavailable_value(self) -> str | None:
        """The text that stands for what a source did not send, of ``FILL_UNAVAILABLE``."""
        return _UNAVAILABLE.read(self.raw)


def _lower(flag: bool) -> str:  # noqa: FBT001 - a value, not a switch
    return "true" if flag else "false"


def _check_sum(properties: Mapping[str, str]) -> None:
    """Refuse properties that another table's name was put into, or half of which are new.

    Source: ConfigUtils.fetchConfigs and HoodieTableConfig.validateChecksum, Hudi 0.15; properties
    of old releases have no checksum.
    """
    stated = properties.get(_CHECKSUM)
    name, database = _required(properties, TABLE_NAME.key), _DATABASE.read(properties)
    if stated is not None and stated != str(table_checksum(database, name)):
        raise CorruptTableError(
            f"{_CHECKSUM} is {stated[:20]} and does not fit the names of table and database: the "
            "file is damaged, or was edited; Hudi refuses it too. Put the file of before back"
        )


def _required(properties: Mapping[str, str], key: str) -> str:
    value = _text(key).read(properties)
    if value is None:
        raise CorruptTableError(f"hoodie.properties has no {key}; it may have been cut short")
    return value


def _delete_marker(properties: Mapping[str, str]) -> DeleteMarker | None:
    column, value = _DELETE_FIELD.read(properties), _DELETE_MARKER.read(properties)
    return None if column is None or value is None else DeleteMarker(field=column, value=value)


def _key_generator(properties: Mapping[str, str]) -> str | None:
    # Hudi 1.1 writes the type, into tables of version 6 too; 0.15 the class.
    kind = _KEY_GENERATOR_TYPE.read(properties)
    return _KEY_GENERATOR.read(properties) or (class_of_type(kind) if kind else None)
