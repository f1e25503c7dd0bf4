"""The five columns that Hudi puts before a table's own."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pyhudi.schema.avro import AvroSchema

COMMIT_TIME: Final = "_hoodie_commit_time"
COMMIT_SEQNO: Final = "_hoodie_commit_seqno"
RECORD_KEY: Final = "_hoodie_record_key"
PARTITION_PATH: Final = "_hoodie_partition_path"
FILE_NAME: Final = "_hoodie_file_name"

META_FIELDS: Final[tuple[str, ...]] = (
    COMMIT_TIME,
    COMMIT_SEQNO,
    RECORD_KEY,
    PARTITION_PATH,
    FILE_NAME,
)


def with_meta(schema: pa.Schema) -> pa.Schema:
    """The schema with the five meta columns first, nullable strings all; those it had are moved.

    Source: HoodieAvroUtils.addMetadataFields, Hudi 0.15.
    """
    meta = [pa.field(name, pa.string()) for name in META_FIELDS]
    return pa.schema([*meta, *without_meta(schema)])


def without_meta(schema: pa.Schema) -> pa.Schema:
    """The schema of the table's own columns."""
    return pa.schema([field for field in schema if field.name not in META_FIELDS])


def with_meta_avro(schema: AvroSchema) -> AvroSchema:
    """The Avro record with the five meta fields first; those it had are moved.

    Source: HoodieAvroUtils.addMetadataFields, Hudi 0.15 (documentation empty, default null).
    """
    meta = [
        {"name": name, "type": ["null", "string"], "doc": "", "default": None}
        for name in META_FIELDS
    ]
    return {**schema, "fields": meta + without_meta_avro(schema)["fields"]}


def without_meta_avro(schema: AvroSchema) -> AvroSchema:
    """The Avro record of the table's own fields."""
    own = [field for field in schema["fields"] if field["name"] not in META_FIELDS]
    return {**schema, "fields": own}
