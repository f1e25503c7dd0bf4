"""The schema of a table: what its commits, its properties or its files say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyhudi.config.table import TableConfig
from pyhudi.errors import SchemaError, located
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.schema import avro
from pyhudi.schema.arrow import arrow_to_avro, avro_to_arrow
from pyhudi.schema.avro import AvroSchema
from pyhudi.schema.metafields import without_meta, without_meta_avro
from pyhudi.storage.storage import Storage
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.timeline import Timeline

# Services that rewrite rows keep the schema they found, which may be older than the table's.
_KEEP_SCHEMA = ("CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT")

NewestFile = Callable[[], BaseFile | None]


def resolve_schema(
    active: ActiveTimeline, config: TableConfig, timeline: Timeline, newest_file: NewestFile
) -> AvroSchema | None:
    """The Avro schema of the table's own columns; None for a table that has none yet.

    The newest completed commit that says one decides, then the schema the table was made with,
    then the footer of ``newest_file``, which is asked for only then. Partition columns
    that lie in no file are strings at the end.

    Raises:
        CorruptTableError: a commit or a footer cannot be read.
    Source: TableSchemaResolver, WriteOperationType.canUpdateSchema, Hudi 0.15.
    """
    found = (
        _from_commits(active, timeline)
        or _from_text(config.create_schema)
        or _from_footer(active.storage, config, newest_file)
    )
    if found is None or not config.drop_partition_columns:
        return found
    return with_partition_columns(found, config.partition_fields)


def with_partition_columns(schema: AvroSchema, partition_fields: Iterable[str]) -> AvroSchema:
    """The schema with the partition columns it lacks, as nullable strings at its end.

    Raises:
        SchemaError: it has some of them and lacks others.
    Source: TableSchemaResolver.appendPartitionColumns, Hudi 0.15.
    """
    present = {field["name"] for field in schema["fields"]}
    missing = [name for name in partition_fields if name not in present]
    kept = [name for name in partition_fields if name in present]
    if missing and kept:
        raise SchemaError(
            f"the partition columns {', '.join(missing)} are not in the table's schema, while "
            f"{', '.join(kept)} are; they should all be dropped or none"
        )
    added: list[dict[str, Any]] = [
        {"name": name, "type": ["null", "string"], "default": None} for name in missing
    ]
    return {**schema, "fields": [*schema["fields"], *added]}


def _from_commits(active: ActiveTimeline, timeline: Timeline) -> AvroSchema | None:
    for instant in reversed(timeline.write_instants().completed().instants):
        metadata = active.read_commit(instant)
        if metadata.operation_type not in _KEEP_SCHEMA and metadata.schema_text:
            with located(active.where(instant)):
                found = avro.parse(metadata.schema_text)
                avro_to_arrow(found)
                return without_meta_avro(found)
    return None


def _from_text(text: str | None) -> AvroSchema | None:
    return without_meta_avro(avro.parse(text)) if text else None


def _from_footer(
    storage: Storage, config: TableConfig, newest_file: NewestFile
) -> AvroSchema | None:
    newest = newest_file()
    if newest is None:
        return None
    with open_base(storage, newest) as base:
        # A skeleton's footer tells of the meta columns alone.
        stated = None if newest.is_skeleton else _from_text(base.footer.avro_schema)
        return stated or arrow_to_avro(without_meta(base.schema), config.name)
