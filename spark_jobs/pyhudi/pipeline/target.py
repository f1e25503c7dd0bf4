"""What a request means for the table at its path, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.failures import check_error_path
from pyhudi.config.options.files import SORT_MODE
from pyhudi.config.options.keygen import GLOBAL_DELETE, plain_class
from pyhudi.config.options.merging import (
    MODE_PROPERTY,
    MergeMode,
    default_payload,
    merge_mode,
)
from pyhudi.config.options.operations import DROP_DUPLICATES, DUPLICATE_POLICY
from pyhudi.config.options.recorded_merging import LEGACY_PAYLOAD_PROPERTY, named_rule
from pyhudi.config.options.table import OTHER_FILES, TABLE_VERSION
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import TABLE_NAME, Operation, WriteConfig
from pyhudi.errors import (
    OptionError,
    RequestError,
    TableMismatchError,
    TableNotFoundError,
    UnsupportedError,
)
from pyhudi.keys.generators import KeyGenerator, infer_key_generator_class
from pyhudi.merge.rule import MergeRule
from pyhudi.pipeline.batch.keying import Keying
from pyhudi.pipeline.write_merge_rule import is_merging, write_merge_rule
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.evolution.changes import schema_changes
from pyhudi.schema.evolution.key_columns import (
    check_keys_keep,
    check_order_keeps,
    check_types_stay,
)
from pyhudi.schema.evolution.storable import storable_schema
from pyhudi.schema.evolution.writer_schema import written_schema
from pyhudi.schema.metafields import with_meta, with_meta_avro, without_meta
from pyhudi.storage.storage import Storage
from pyhudi.table.create import file_of_others, why_not_written
from pyhudi.table.keying import (
    check_dropped_columns,
    check_hash_fields,
    check_virtual_keys,
    key_generator,
    partition_names,
    recorded_partition_fields,
    recorded_partition_kinds,
    recorded_timestamp_options,
    without_columns,
    without_record_keys,
)
from pyhudi.table.table import Table, load_made

# Operations to which rows only say where; their other columns do not matter.
_KEYS_ALONE = (Operation.DELETE, Operation.DELETE_PARTITION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table to write, as it is or as it will be created.

    ``data_schema`` is the schema to write without meta columns, and ``schema_changes`` says in
    words what that makes of the table's; ``table`` is None before the first write.
    """

    storage: Storage
    table: Table | None
    config: TableConfig
    data_schema: pa.Schema
    schema_changes: tuple[str, ...]
    keying: Keying
    rule: MergeRule

    @property
    def virtual_keys(self) -> KeyGenerator | None:
        """What makes the keys of stored rows, in a table whose files keep none."""
        return None if self.config.populate_meta_fields else self.keying.generator

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


def resolve_target(
    storage: Storage, write: WriteConfig, rows: pa.Schema | None, *, replaces: bool = False
) -> Target:
    """Hold the request against the table and the rows, and decide what will be written.

    ``rows`` is None for an operation that takes none. With ``replaces`` a table that is there will
    be gone by then.

    Raises:
        TableMismatchError: the table has another name, type, key, partitioning or ordering.
        SchemaError: the rows do not fit the table's schema.
        RequestError: a key, partition or ordering column is missing or of the wrong kind.
        UnsupportedError: a table that cannot be written yet.
    """
    path, table = storage.uri, None if replaces else _existing(storage, write)
    if table is None:
        config = _new_config(write, path)
        if not replaces:
            _check_empty(storage, write)
    else:
        config = table.config
        _check_writable(table)
        _check_matches(config, write, path)
    check_virtual_keys(config)
    check_dropped_columns(config)
    check_hash_fields(write.index, config)
    generator = key_generator(config, write, table)
    if generator.generates_keys:
        write = without_record_keys(write)
    _check_sorting(write)
    check_error_path(write.failures.path, path)
    if rows is None:
        batch = _stored_schema(table)
    else:
        batch = storable_schema(without_meta(rows))
        generator.check(batch)
    is_delete = write.operation in _KEYS_ALONE
    if config.drop_partition_columns:
        batch = without_columns(batch, config.partition_fields)
    data_schema, changes = _data_schema(config, table, batch, write)
    rule = write_merge_rule(config, write, data_schema, table, () if is_delete else batch.names)
    has_order = rule.mode is MergeMode.EVENT_TIME and is_merging(write) and not is_delete
    keying = Keying(
        generator=generator,
        data_schema=pa.schema([]) if is_delete else data_schema,
        ordering_fields=rule.ordering_fields if has_order else (),
        failures=write.failures,
    )
    return Target(
        storage=storage,
        table=table,
        config=config,
        data_schema=data_schema,
        schema_changes=changes,
        keying=keying,
        rule=rule,
    )


def _existing(storage: Storage, write: WriteConfig) -> Table | None:
    try:
        return replace(load_made(storage), skips_damaged=write.skip_damaged)
    except TableNotFoundError:
        return None


def _new_config(write: WriteConfig, path: str) -> TableConfig:
    settings = write.table
    if write.operation in _KEYS_ALONE:
        raise TableNotFoundError("there is no table to delete from")
    if not settings.name:
        raise OptionError(
            f"the table does not exist yet and has no name; give --table-name or {TABLE_NAME.key}"
        )
    generator = infer_key_generator_class(
        settings.record_key_fields or (),
        settings.partition_fields or (),
        settings.key_generator,
    )
    ordering, mode = settings.ordering_fields or (), write.merging.mode
    named = {} if mode is None else {MODE_PROPERTY: mode.value}
    config = TableConfig(
        name=settings.name,
        database=settings.database,
        table_type=settings.table_type or TableType.COPY_ON_WRITE,
        version=settings.version or TableVersion.SIX,
        record_key_fields=settings.record_key_fields or (),
        partition_fields=recorded_partition_fields(write, generator),
        ordering_fields=ordering,
        key_generator_class=generator,
        timestamp_options=recorded_timestamp_options(write, generator),
        payload_class=write.merging.payload_class or default_payload(ordering),
        custom_merger=write.merging.custom_merger,
        delete_marker=write.merging.delete_marker,
        hive_style=bool(settings.hive_style),
        url_encode=bool(settings.url_encode),
        drop_partition_columns=bool(settings.drop_partition_columns),
        populate_meta_fields=settings.populate_meta_fields is not False,
        timezone=settings.timezone,
        base_file_format=(settings.base_file_format or BaseFileFormat.PARQUET).value,
        raw={**named, **recorded_partition_kinds(write, generator)},
    )
    what = why_not_written(config)
    if what is not None:
        raise UnsupportedError(
            f"the table {config.name} is to be made so that it {what}, which cannot be written "
            f"yet; leave {TABLE_VERSION.key} out, which makes it of version 6",
            where=path,
        )
    if config.version is TableVersion.SIX:
        return config
    # Its rule of merging is named by what its properties say.
    return TableConfig.from_properties(config.to_properties(), where=path)


def _check_empty(storage: Storage, write: WriteConfig) -> None:
    found = None if write.table.allows_other_files else file_of_others(storage)
    if found is not None:
        raise RequestError(
            f"the folder {storage.uri} has no table but other files, such as {found}; give the "
            "table a folder of its own, or allow a table among these files with "
            f"{OTHER_FILES.key}=true",
            where=storage.uri,
        )


def _check_writable(table: Table) -> None:
    what = why_not_written(table.config)
    if what is not None:
        raise UnsupportedError(
            f"the table {table.config.name} at {table.storage.uri} {what} and cannot be written yet"
        )


def _check_matches(config: TableConfig, write: WriteConfig, path: str) -> None:
    settings = write.table
    generator = None
    if settings.key_generator:
        generator = infer_key_generator_class(
            config.record_key_fields, config.partition_fields, settings.key_generator
        )
    # This one makes no folders, whatever columns are named.
    is_flat = plain_class(config.key_generator_class or "") == GLOBAL_DELETE
    partitions = None if is_flat else partition_names(write)
    table_type = None if settings.table_type is None else settings.table_type.value
    file_format = None if settings.base_file_format is None else settings.base_file_format.value
    ordering, is_same_rule = settings.ordering_fields, _names_rule_of(config, write)
    rule = named_rule(write.merging.payload_class)
    if is_same_rule and rule is not None and rule.ordering_fields:
        # The table names the fields that the class looks at.
        ordering = None
    pairs: tuple[tuple[str, object, object], ...] = (
        ("name", settings.name or None, config.name),
        ("version", _code(settings.version), _code(config.version)),
        ("type", table_type, config.table_type.value),
        ("record key", settings.record_key_fields, config.record_key_fields),
        ("partition columns", partitions, config.partition_fields),
        ("ordering column", ordering, config.ordering_fields),
        ("key generator", generator, config.key_generator_class),
        ("payload class", write.merging.payload_class, config.payload_class),
        ("merge mode", None if is_same_rule else _asked_mode(config, write), _named_mode(config)),
        ("merger", write.merging.custom_merger, config.custom_merger),
        ("delete marker", write.merging.delete_marker, config.delete_marker),
        ("base file format", file_format, config.base_file_format),
        ("hive style", settings.hive_style, config.hive_style),
        ("path encoding", settings.url_encode, config.url_encode),
        ("meta columns", settings.populate_meta_fields, config.populate_meta_fields),
        (
            "partition columns dropped",
            settings.drop_partition_columns,
            config.drop_partition_columns,
        ),
    )
    for what, asked, has in pairs:
        if asked is not None and has is not None and asked != has:
            raise TableMismatchError(
                f"the table at {path} has the {what} {_shown(has)}, the request says "
                f"{_shown(asked)}; leave the option out or write to another path"
            )


def _code(version: TableVersion | None) -> int | None:
    return None if version is None else version.value


def _names_rule_of(config: TableConfig, write: WriteConfig) -> bool:
    """Whether a table of version 9 names the rule of the payload class that is asked for."""
    asked = write.merging.payload_class
    return asked is not None and config.raw.get(LEGACY_PAYLOAD_PROPERTY) == asked


def _asked_mode(config: TableConfig, write: WriteConfig) -> str | None:
    payload = write.merging.payload_class
    return None if payload is None else merge_mode(payload, config.ordering_fields).name


def _named_mode(config: TableConfig) -> str | None:
    """The merge mode of a table that names it; in one that does not each write may say it."""
    return config.merge_mode.name if config.version.names_merge_mode else None


def _check_sorting(write: WriteConfig) -> None:
    is_bulk = write.operation is Operation.BULK_INSERT
    if is_bulk and write.bulk_insert.is_sorted and write.needs_lookup:
        raise UnsupportedError(
            f"a bulk insert cannot both sort ({SORT_MODE.key}) and ask which keys the table has "
            f"({DROP_DUPLICATES.key}, {DUPLICATE_POLICY.key}); leave one of them out"
        )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _data_schema(
    config: TableConfig, table: Table | None, batch: pa.Schema, write: WriteConfig
) -> tuple[pa.Schema, tuple[str, ...]]:
    """The schema to write, and what it makes of the table's."""
    stored = _stored_schema(table)
    if write.operation in _KEYS_ALONE:
        return (stored if stored.names else batch), ()
    dropped = config.partition_fields if config.drop_partition_columns else ()
    written = written_schema(stored, batch, write.evolution, dropped)
    keys = (*config.record_key_fields, *config.partition_fields)
    check_keys_keep(keys, batch, written, stored)
    check_order_keeps(config.ordering_fields, written, stored)
    roles = {
        "a record key": config.record_key_fields,
        "a partition column": config.partition_fields,
        "an ordering column": config.ordering_fields,
    }
    check_types_stay(roles, written, stored, write.evolution)
    return written, schema_changes(stored, written) if stored.names else ()


def _stored_schema(table: Table | None) -> pa.Schema:
    """The columns that files hold."""
    if table is None:
        return pa.schema([])
    dropped = table.config.partition_fields if table.config.drop_partition_columns else ()
    return without_columns(without_meta(table.schema()), dropped)
