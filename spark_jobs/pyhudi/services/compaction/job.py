"""What the tasks of a compaction must know of their table, and what its commit says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyhudi.actions.commit import CommitMetadata, WriteStat, stats_by_partition
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.write import WriteConfig
from pyhudi.errors import InvariantError, UnsupportedError
from pyhudi.fileslice.reading import SliceReading
from pyhudi.schema.avro import AvroSchema, dumps
from pyhudi.schema.metafields import with_meta_avro
from pyhudi.table.create import why_not_written
from pyhudi.table.keying import without_columns
from pyhudi.table.slice_reading import check_merger, slice_reading
from pyhudi.table.table import Table
from pyhudi.write.context import WriteContext
from pyhudi.write.encoding import bloom_parameters, file_encoding, full_file_bytes, parquet_encoding


def check_compactable(config: TableConfig, path: str) -> None:
    """Refuse a table that has no log files, or whose log files cannot be compacted.

    Raises:
        UnsupportedError: says why.
    """
    what = why_not_written(config)
    if config.table_type is not TableType.MERGE_ON_READ:
        what = "is COPY_ON_WRITE: it has no log files"
    if what is not None:
        raise UnsupportedError(f"the table {config.name} at {path} {what}, and cannot be compacted")


def compaction_merge(table: Table, instant: str, config: WriteConfig) -> SliceReading:
    """How a compaction merges log files: by the table's rule, up to its own instant.

    Raises:
        UnsupportedError: records are merged by a rule that is not followed here.
        OptionError: they are merged by a Python class that the options do not name.
    """
    check_merger(table, config.merging.custom_merger)
    reading = slice_reading(table, table.schema(), memory=config.compaction.memory)
    return replace(reading, as_of=instant)


def compaction_job(
    table: Table, instant: str, config: WriteConfig, merge: SliceReading
) -> WriteContext:
    """A compaction as its tasks see it, in the table's schema."""
    kind = BaseFileFormat(table.config.base_file_format)
    dropped = table.config.partition_fields if table.config.drop_partition_columns else ()
    schema = without_columns(table.schema(), dropped)
    own = _avro_schema(table)
    stored = {**own, "fields": [field for field in own["fields"] if field["name"] not in dropped]}
    return WriteContext(
        storage=table.storage,
        version=table.config.version,
        instant=instant,
        schema=schema,
        avro_schema=with_meta_avro(stored),
        encoding=file_encoding(config, kind),
        bloom=bloom_parameters(config.bloom) if merge.virtual_keys is None else None,
        max_file_size_bytes=full_file_bytes(config, kind),
        rule=merge.rule,
        combine_batch=False,
        virtual_keys=merge.virtual_keys,
        logs=config.logs,
        log_encoding=parquet_encoding(config),
    )


def compaction_metadata(
    table: Table,
    stats: Iterable[WriteStat],
    extra: Mapping[str, str],
    operation_type: str = "COMPACT",
) -> CommitMetadata:
    """What the completed instant of a compaction or log compaction says.

    Source: RunCompactionActionExecutor.execute, Hudi 0.15 and 1.1.
    """
    return CommitMetadata(
        partition_to_write_stats=stats_by_partition(stats),
        compacted=True,
        extra_metadata={**extra, "schema": dumps(_avro_schema(table))},
        operation_type=operation_type,
    )


def _avro_schema(table: Table) -> AvroSchema:
    found = table.avro_schema()
    if found is None:
        raise InvariantError(f"{table.storage.uri} has log files and no schema")
    return found
