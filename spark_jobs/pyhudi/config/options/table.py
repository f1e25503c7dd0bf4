"""What the table of a write is to be: its name, its type, its key, how its paths look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pyhudi.config import option
from pyhudi.config.formats import BASE_FILE_FORMAT, BaseFileFormat
from pyhudi.config.option import Option, declare, read_settings, setting
from pyhudi.config.options.keygen import (
    DROP_PARTITION_COLUMNS,
    POPULATE_META_FIELDS,
    stated_timestamp_options,
)
from pyhudi.config.versions import TableVersion


class TableType(Enum):
    """How updates are kept: by rewriting files, or by logs beside them."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class TimelineZone(Enum):
    """The zone of instant times: that of the writer's machine, or UTC."""

    LOCAL = "LOCAL"
    UTC = "UTC"


def _table_version(text: str) -> TableVersion:
    by_text = {str(version.value): version for version in TableVersion}
    if text not in by_text:
        raise ValueError(", ".join(by_text))
    return by_text[text]


_WRITE = "hoodie.datasource.write."

# What hoodie.properties calls them, which requests may do too.
TYPE_PROPERTY = "hoodie.table.type"
RECORD_KEY_PROPERTY = "hoodie.table.recordkey.fields"
PARTITION_PROPERTY = "hoodie.table.partition.fields"
ORDERING_PROPERTY = "hoodie.table.ordering.fields"
PRECOMBINE_PROPERTY = "hoodie.table.precombine.field"
KEY_GENERATOR_PROPERTY = "hoodie.table.keygenerator.class"
KEY_GENERATOR_TYPE_PROPERTY = "hoodie.table.keygenerator.type"

TABLE_NAME = declare(
    "hoodie.table.name", option.parse_text, default="", aliases=(f"{_WRITE}table.name",)
)
"""name of the table"""
DATABASE = declare("hoodie.database.name", str, default="")
"""database of the table, part of its checksum"""
TABLE_TYPE = declare(
    f"{_WRITE}table.type",
    option.parse_enum(TableType),
    default=None,
    aliases=(f"{_WRITE}storage.type", TYPE_PROPERTY),
)
"""how a new table keeps updates; COPY_ON_WRITE unless said"""
TABLE_VERSION: Option[TableVersion | None] = declare(
    "hoodie.write.table.version", _table_version, default=None, since="1.0"
)
"""format version of a new table, 6 unless said, where Hudi takes its own newest; a table keeps the
version that it has"""
RECORD_KEY_FIELD = declare(
    f"{_WRITE}recordkey.field",
    option.parse_optional_fields,
    default=None,
    aliases=(RECORD_KEY_PROPERTY,),
)
"""columns that name a record"""
PARTITION_PATH_FIELD = declare(
    f"{_WRITE}partitionpath.field", option.parse_fields, default=None, aliases=(PARTITION_PROPERTY,)
)
"""columns to partition by; empty for none"""
ORDERING_FIELD = declare(
    f"{_WRITE}precombine.field",
    option.parse_optional_fields,
    default=None,
    aliases=(
        ORDERING_PROPERTY,
        PRECOMBINE_PROPERTY,
        f"{_WRITE}ordering.fields",
        "hoodie.payload.ordering.field",
    ),
)
"""columns whose highest value wins; Hudi 0.15 takes ts when none is given"""
KEY_GENERATOR_CLASS = declare(
    f"{_WRITE}keygenerator.class",
    option.parse_optional_text,
    default=None,
    aliases=(KEY_GENERATOR_PROPERTY,),
)
"""class of the key generator; inferred from the fields when absent"""
KEY_GENERATOR_TYPE = declare(
    f"{_WRITE}keygenerator.type",
    option.parse_optional_text,
    default=None,
    aliases=(KEY_GENERATOR_TYPE_PROPERTY,),
)
"""key generator by its short name; the class goes before it"""
HIVE_STYLE = declare(f"{_WRITE}hive_style_partitioning", option.parse_bool, default=None)
"""partition folders named field=value"""
URL_ENCODE = declare(f"{_WRITE}partitionpath.urlencode", option.parse_bool, default=None)
"""partition values escaped in folder names"""
CONSISTENT_TIMESTAMP = declare(
    f"{_WRITE}keygenerator.consistent.logical.timestamp.enabled", option.parse_bool, default=False
)
"""timestamps in keys and paths as text instead of raw numbers"""
COMPLEX_KEY_NEW_ENCODING = declare(
    "hoodie.write.complex.keygen.new.encoding", option.parse_bool, default=None, since="1.1"
)
"""a complex key of one field reads 1 instead of id:1"""
TIMELINE_ZONE = declare(
    "hoodie.table.timeline.timezone", option.parse_enum(TimelineZone), default=TimelineZone.LOCAL
)
"""zone of the instant times of a new table"""
OTHER_FILES = declare(
    "pyhudi.table.allow.other.files", option.parse_bool, default=False, since="pyhudi"
)
"""a new table may be made in a folder that holds files of others; hidden ones never matter"""
COMMIT_METADATA_PREFIX = declare(f"{_WRITE}commitmeta.key.prefix", str, default="_")
"""options whose key starts so go into the commit's extra metadata"""
IDEMPOTENCY_KEY = declare(
    "pyhudi.idempotency.key", option.parse_optional_text, default=None, since="pyhudi"
)
"""a commit that carries this key is not made twice"""
IDEMPOTENCY_SINCE = declare(
    "pyhudi.idempotency.since", option.parse_optional_text, default=None, since="pyhudi"
)
"""a time before the first try of what pyhudi.idempotency.key stands for: commits that were archived
since then are looked through for the key as well; a day before now unless it is given"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """What options say of the table itself.

    Whatever an existing table decides is None unless the options name it: type, fields, hive
    style, encoding, format. ``key_generator`` is a class or a short name.
    """

    name: str = setting(TABLE_NAME)
    database: str = setting(DATABASE)
    table_type: TableType | None = setting(TABLE_TYPE)
    version: TableVersion | None = setting(TABLE_VERSION)
    record_key_fields: tuple[str, ...] | None = setting(RECORD_KEY_FIELD)
    partition_fields: tuple[str, ...] | None = setting(PARTITION_PATH_FIELD)
    ordering_fields: tuple[str, ...] | None = setting(ORDERING_FIELD)
    key_generator: str | None = setting(KEY_GENERATOR_CLASS)
    hive_style: bool | None = setting(HIVE_STYLE)
    url_encode: bool | None = setting(URL_ENCODE)
    drop_partition_columns: bool | None = setting(DROP_PARTITION_COLUMNS)
    populate_meta_fields: bool | None = setting(POPULATE_META_FIELDS)
    timestamp_options: Mapping[str, str] = field(default_factory=dict)
    consistent_logical_timestamp: bool = setting(CONSISTENT_TIMESTAMP)
    complex_key_new_encoding: bool | None = setting(COMPLEX_KEY_NEW_ENCODING)
    timezone: TimelineZone = setting(TIMELINE_ZONE)
    base_file_format: BaseFileFormat | None = setting(BASE_FILE_FORMAT)
    allows_other_files: bool = setting(OTHER_FILES)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> TableSettings:
        """The part of the options that is about the table.

        Raises:
            OptionError: a value that is not allowed.
            UnsupportedError: a value that Hudi allows and that cannot be done here.
        """
        return read_settings(
            cls,
            options,
            key_generator=KEY_GENERATOR_CLASS.read(options) or KEY_GENERATOR_TYPE.read(options),
            timestamp_options=stated_timestamp_options(options),
        )
