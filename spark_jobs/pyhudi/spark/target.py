"""What a request means for the table at its path: settled before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi.basefile.parquet import BaseFileReader
from pyhudi.config.files import SORT_MODE, BulkInsertSortMode
from pyhudi.config.merging import MergeMode, default_payload
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import (
    COMBINE_BEFORE_INSERT,
    RECORD_KEY_FIELD,
    TABLE_NAME,
    Operation,
    WriteConfig,
)
from pyhudi.errors import (
    OptionError,
    RequestError,
    TableMismatchError,
    TableNotFoundError,
    UnsupportedError,
)
from pyhudi.keys.generators import COMPLEX, KeyGenerator, infer_key_generator_class
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.evolution import check_compatible
from pyhudi.schema.metafields import with_meta, with_meta_avro, without_meta
from pyhudi.schema.storable import storable_schema
from pyhudi.spark.staging import Keying
from pyhudi.table.table import Table, open_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table to write, as it is or as it will be created.

    ``data_schema`` is the schema to write without meta columns; ``ordering_field`` is None where
    rows merge by commit time; ``table`` is None before the first write.
    """

    path: str
    table: Table | None
    config: TableConfig
    data_schema: pa.Schema
    keying: Keying
    ordering_field: str | None

    @property
    def schema(self) -> pa.Schema:
        """The schema of base files, meta columns first."""
        return with_meta(self.data_schema)

    @property
    def avro_schema(self) -> dict[str, Any]:
        """The schema in Avro without meta columns, as commits record it."""
        return arrow_to_avro(self.data_schema, self.config.name)

    @property
    def avro_schema_with_meta(self) -> dict[str, Any]:
        """The schema in Avro as base files record it."""
        return with_meta_avro(self.avro_schema)


def settle_target(
    path: str,
    write: WriteConfig,
    rows: pa.Schema,
    storage_options: Mapping[str, str] | None,
) -> Target:
    """Hold the request against the table and the rows, and decide what will be written.

    Raises:
        TableMismatchError: the table has another name, type, key, partitioning or ordering.
        SchemaError: the rows do not fit the table's schema.
        RequestError: a key, partition or ordering column is missing or of the wrong kind.
        UnsupportedError: a table that cannot be written yet.
    """
    table = _existing(path, storage_options)
    if table is None:
        config = _new_config(write)
    else:
        config = table.config
        _check_writable(config, path)
        _check_matches(config, write, path)
    generator = _generator(config, write, table)
    _check_sorting(write)
    batch = storable_schema(without_meta(rows))
    generator.apply(batch.empty_table())
    is_delete = write.operation is Operation.DELETE
    data_schema = _data_schema(table, batch, write)
    ordering = None if is_delete else _ordering_field(config, data_schema, batch)
    orders_batch = write.operation is Operation.UPSERT or write.combines_batch
    keying = Keying(
        generator=generator,
        data_schema=pa.schema([]) if is_delete else data_schema,
        ordering_field=ordering if orders_batch else None,
    )
    return Target(
        path=path,
        table=table,
        config=config,
        data_schema=data_schema,
        keying=keying,
        ordering_field=ordering,
    )


def _existing(path: str, storage_options: Mapping[str, str] | None) -> Table | None:
    try:
        return open_table(path, storage_options)
    except TableNotFoundError:
        return None


def _new_config(write: WriteConfig) -> TableConfig:
    if not write.table_name:
        raise OptionError(
            f"the table does not exist yet and has no name; give --table-name or {TABLE_NAME.key}"
        )
    if not write.record_key_fields:
        raise OptionError(
            "the table does not exist yet and its record key is not given; name the key's columns "
            f"with --record-key or {RECORD_KEY_FIELD.key}"
        )
    if write.operation is Operation.DELETE:
        raise TableNotFoundError("there is no table to delete from")
    if write.table_type is not TableType.COPY_ON_WRITE:
        raise UnsupportedError(f"tables of type {write.table_type.value} cannot be written yet")
    partition_fields = write.partition_fields or ()
    ordering = (write.ordering_field,) if write.ordering_field else ()
    return TableConfig(
        name=write.table_name,
        database=write.database,
        table_type=write.table_type,
        version=write.table_version,
        record_key_fields=write.record_key_fields,
        partition_fields=partition_fields,
        ordering_fields=ordering,
        key_generator_class=infer_key_generator_class(
            write.record_key_fields, partition_fields, write.key_generator
        ),
        payload_class=write.payload_class or default_payload(ordering),
        hive_style=bool(write.hive_style),
        url_encode=bool(write.url_encode),
        timezone=write.timezone,
    )


def _check_writable(config: TableConfig, path: str) -> None:
    refusals = (
        (config.version is not TableVersion.SIX, f"has table version {config.version.value}"),
        (config.table_type is not TableType.COPY_ON_WRITE, "is MERGE_ON_READ"),
        (config.base_file_format != "PARQUET", f"has {config.base_file_format} base files"),
        (not config.populate_meta_fields, "has no meta columns"),
        (config.drop_partition_columns, "drops its partition columns"),
        (config.cdc_enabled, "keeps change data"),
        (config.bootstrap_base_path is not None, "was bootstrapped"),
        (not config.record_key_fields, "has generated record keys"),
    )
    for applies, what in refusals:
        if applies:
            raise UnsupportedError(
                f"the table {config.name} at {path} {what} and cannot be written yet; "
                "version 6 copy-on-write tables can"
            )


def _check_matches(config: TableConfig, write: WriteConfig, path: str) -> None:
    generator = None
    if write.key_generator:
        generator = infer_key_generator_class(
            config.record_key_fields, config.partition_fields, write.key_generator
        )
    ordering = (write.ordering_field,) if write.ordering_field else None
    pairs: tuple[tuple[str, object, object], ...] = (
        ("name", write.table_name or None, config.name),
        ("type", write.table_type.value, config.table_type.value),
        ("record key", write.record_key_fields, config.record_key_fields),
        ("partition columns", write.partition_fields, config.partition_fields),
        ("ordering column", ordering, config.ordering_fields),
        ("key generator", generator, config.key_generator_class),
        ("payload class", write.payload_class, config.payload_class),
        ("hive style", write.hive_style, config.hive_style),
        ("path encoding", write.url_encode, config.url_encode),
    )
    for what, asked, has in pairs:
        if asked is not None and has is not None and asked != has:
            raise TableMismatchError(
                f"the table at {path} has the {what} {_shown(has)}, the request says "
                f"{_shown(asked)}; leave the option out or write to another path"
            )


def _check_sorting(write: WriteConfig) -> None:
    is_bulk = write.operation is Operation.BULK_INSERT
    is_sorted = write.bulk_insert.sort_mode is not BulkInsertSortMode.NONE
    if is_bulk and is_sorted and write.combines_batch:
        raise UnsupportedError(
            f"a bulk insert cannot both sort ({SORT_MODE.key}) and combine records of one key "
            f"({COMBINE_BEFORE_INSERT.key}) yet; leave one of them out"
        )


def _shown(value: object) -> str:
    return ",".join(map(str, value)) or "(none)" if isinstance(value, tuple) else str(value)


def _generator(config: TableConfig, write: WriteConfig, table: Table | None) -> KeyGenerator:
    name = config.key_generator_class or infer_key_generator_class(
        config.record_key_fields, config.partition_fields, None
    )
    is_prefixed = write.complex_key_new_encoding is False
    if table is not None and name == COMPLEX and len(config.record_key_fields) == 1:
        stored = _any_stored_key(table)
        if stored is not None:
            is_prefixed = stored.startswith(f"{config.record_key_fields[0]}:")
    return KeyGenerator(
        record_key_fields=config.record_key_fields,
        partition_fields=config.partition_fields,
        key_generator_class=name,
        hive_style=config.hive_style,
        url_encode=config.url_encode,
        consistent_logical_timestamp=write.consistent_logical_timestamp,
        single_field_complex_prefix=is_prefixed,
    )


def _any_stored_key(table: Table) -> str | None:
    """One key of the table: releases of Hudi spell a complex key of one field in two ways."""
    for partition in table.partitions():
        for file in table.latest_base_files([partition]):
            with table.storage.open_input(file.path) as source:
                name = table.storage.absolute(file.path)
                key = BaseFileReader(source, name=name).footer.min_key
            if key is not None:
                return key
    return None


def _data_schema(table: Table | None, batch: pa.Schema, write: WriteConfig) -> pa.Schema:
    if table is None:
        return batch
    stored = without_meta(table.schema())
    if write.operation is Operation.DELETE or not stored.names:
        return stored if stored.names else batch
    return check_compatible(stored, batch, allow_missing=write.null_for_missing_columns)


def _ordering_field(config: TableConfig, schema: pa.Schema, batch: pa.Schema) -> str | None:
    if config.merge_mode is MergeMode.COMMIT_TIME:
        return None
    if len(config.ordering_fields) != 1:
        raise UnsupportedError(f"the table {config.name} has several ordering columns")
    name = config.ordering_fields[0]
    if name not in schema.names or name not in batch.names:
        raise RequestError(
            f"the ordering column {name} is not among the rows' columns: {', '.join(batch.names)}"
        )
    kind = schema.field(name).type
    if pa.types.is_nested(kind) or pa.types.is_boolean(kind) or pa.types.is_binary(kind):
        raise RequestError(
            f"the ordering column {name} has the type {kind}, which has no order to merge by; "
            "take a number, a text, a date or a timestamp"
        )
    return name
