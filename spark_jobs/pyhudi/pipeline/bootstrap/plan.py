"""What a bootstrap will do, decided before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from pyhudi.config.formats import BASE_FILE_FORMAT, BaseFileFormat
from pyhudi.config.options.bootstrap import (
    BASE_PATH,
    MODE_SELECTOR,
    BootstrapConfig,
    BootstrapMode,
)
from pyhudi.config.options.index import INDEX_TYPE, IndexType
from pyhudi.config.options.keygen import (
    COMPLEX,
    DROP_PARTITION_COLUMNS,
    POPULATE_META_FIELDS,
    SIMPLE,
)
from pyhudi.config.options.operations import (
    COMBINE_BEFORE_INSERT,
    DROP_DUPLICATES,
    DUPLICATE_POLICY,
    StoredKeys,
)
from pyhudi.config.options.table import KEY_GENERATOR_CLASS
from pyhudi.config.write import OPERATION, RECORD_KEY_FIELD, Operation, WriteConfig
from pyhudi.errors import OptionError, UnsupportedError
from pyhudi.keys.generators import infer_key_generator_class, paths_hold_values
from pyhudi.pipeline.batch.keying import Keying
from pyhudi.pipeline.bootstrap.dataset.partitions import (
    TakenPartition,
    inferred_settings,
    taken_partitions,
)
from pyhudi.pipeline.bootstrap.dataset.source import Source
from pyhudi.pipeline.bootstrap.table import hadoop_uri
from pyhudi.pipeline.target import Target, resolve_target
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.avro import parse
from pyhudi.storage.storage import Storage
from pyhudi.table.keying import recorded_partition_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapPlan:
    """What becomes of each folder of a source, in which table.

    ``rows`` is the schema of the source's rows with the partition columns that only its folders
    have.
    """

    config: BootstrapConfig
    write: WriteConfig
    source: Source
    target: Target
    rows: pa.Schema
    partitions: tuple[TakenPartition, ...]

    def of(self, mode: BootstrapMode) -> tuple[TakenPartition, ...]:
        """The partitions of a mode."""
        return tuple(each for each in self.partitions if each.mode is mode)

    @property
    def modes(self) -> tuple[BootstrapMode, ...]:
        """The modes that some partition has, in the order of their instants."""
        return tuple(mode for mode in BootstrapMode if self.of(mode))

    @property
    def keying(self) -> Keying:
        """How rows of the source become rows of the table."""
        return self.target.keying

    def by_partition(self) -> dict[str, Mapping[str, Any]]:
        """Mode, files, bytes and rows of each partition, and what it would get, by its path."""
        return {
            each.path: {
                "mode": each.mode.value,
                "files": len(each.files),
                "bytes": each.size_bytes,
                "rows": each.rows,
                "writes": _WRITES[each.mode].format(files=len(each.files), rows=each.rows),
            }
            for each in self.partitions
        }


def write_options(
    options: Mapping[str, str], config: BootstrapConfig, source: Source
) -> dict[str, str]:
    """The options of the write that a bootstrap is: those given, and what the source says."""
    settings = WriteConfig.from_options({**options, OPERATION.key: _OPERATION}).table
    folders = sorted({each.file.folder for each in source.files})
    found = {**options, **inferred_settings(settings, config, folders)}
    found[OPERATION.key] = _OPERATION
    if settings.base_file_format is None:
        found[BASE_FILE_FORMAT.key] = source.kind.value
    if settings.key_generator is None and config.key_generator is not None:
        found[KEY_GENERATOR_CLASS.key] = config.key_generator
    return found


_OPERATION = Operation.BULK_INSERT.value
_WRITES = {
    BootstrapMode.METADATA_ONLY: "{files:,} skeletons with the keys of {rows:,} rows",
    BootstrapMode.FULL_RECORD: "files with {rows:,} rows",
}


def plan_bootstrap(
    storage: Storage,
    config: BootstrapConfig,
    write: WriteConfig,
    source: Source,
    *,
    replaces: bool,
) -> BootstrapPlan:
    """Hold the request against the source and the table, and decide what will be written.

    Raises: as ``resolve_target``, ``taken_partitions`` and what metadata alone cannot do.
    """
    rows = _with_partition_columns(source.schema, write)
    _check_told(source.schema, write, _generator_of(write))
    target = resolve_target(storage, write, rows, replaces=replaces)
    _check_told(source.schema, write, target.keying.generator.key_generator_class)
    keys = target.keying.generator
    partitions = taken_partitions(source.files, config, keys, target.data_schema)
    uri = hadoop_uri(source.storage, "")
    raw = {**target.config.raw, BASE_PATH.key: uri}
    plan = BootstrapPlan(
        config=config,
        write=write,
        source=source,
        target=replace(target, config=replace(target.config, raw=raw)),
        rows=rows,
        partitions=partitions,
    )
    if plan.of(BootstrapMode.METADATA_ONLY):
        _check_metadata_only(plan)
    return plan


def _with_partition_columns(schema: pa.Schema, write: WriteConfig) -> pa.Schema:
    """The schema with the partition columns that no file has behind it, as texts unless said.

    Source: HoodieSparkBootstrapSchemaProvider, Hudi 0.15: partition columns are strings.
    """
    asked = pa.schema([])
    if write.evolution.write_schema is not None:
        asked = avro_to_arrow(parse(write.evolution.write_schema))
    for name in recorded_partition_fields(write, _generator_of(write)):
        if name not in schema.names and "." not in name:
            kind = asked.field(name).type if name in asked.names else pa.string()
            schema = schema.append(pa.field(name, kind))
    return schema


def _generator_of(write: WriteConfig) -> str:
    """The class of the key generator that a request makes a table with."""
    settings = write.table
    fields = settings.partition_fields or ()
    return infer_key_generator_class(
        settings.record_key_fields or (), fields, settings.key_generator
    )


def _check_told(schema: pa.Schema, write: WriteConfig, key_generator_class: str) -> None:
    """Refuse partition columns that neither a file has nor the name of a folder tells.

    Raises:
        OptionError: paths are made from the columns' values, and do not hold them.
    """
    if paths_hold_values(key_generator_class):
        return
    fields = recorded_partition_fields(write, key_generator_class)
    missing = [name for name in fields if name not in schema.names and "." not in name]
    if missing:
        raise OptionError(
            f"{key_generator_class} makes partition paths from the values of {', '.join(missing)}, "
            "which no file of the source has, and the names of folders do not tell these values "
            f"again; write the column into the files, or choose {SIMPLE} or {COMPLEX} "
            f"({KEY_GENERATOR_CLASS.key}), whose paths are the values"
        )


def _check_metadata_only(plan: BootstrapPlan) -> None:
    """Refuse what skeletons beside rows that stay where they are cannot be.

    Raises:
        OptionError: two options that do not go together.
        UnsupportedError: what only rows that are written can do.
    """
    config, batch = plan.target.config, plan.write.batch
    other = f"; choose full_record with {MODE_SELECTOR.key}, which writes the rows"
    if not config.record_key_fields:
        raise OptionError(
            f"a bootstrap of metadata alone needs a record key; name its columns "
            f"({RECORD_KEY_FIELD.key}){other}"
        )
    if config.base_file_format != plan.source.kind.value:
        kind = BaseFileFormat(config.base_file_format)
        raise OptionError(
            f"{BASE_FILE_FORMAT.key} is {kind.value} and the source is {plan.source.kind.title}, "
            f"whose files stay those of the table{other}"
        )
    refused = (
        # Files of a source hold rows of any bucket, so no write would find them.
        (plan.write.index.index_type is IndexType.BUCKET, f"{INDEX_TYPE.key}=BUCKET"),
        (not config.populate_meta_fields, f"{POPULATE_META_FIELDS.key}=false"),
        (config.drop_partition_columns, f"{DROP_PARTITION_COLUMNS.key}=true"),
        (batch.combine_before_insert, f"{COMBINE_BEFORE_INSERT.key}=true"),
        (batch.is_deduplicated, f"{DROP_DUPLICATES.key}=true"),
        (batch.stored_keys is StoredKeys.DROP, f"{DUPLICATE_POLICY.key}=drop"),
    )
    for applies, what in refused:
        if applies:
            raise UnsupportedError(
                f"{what} does not go with a bootstrap of metadata alone, which leaves the rows of "
                f"the source as they are{other}"
            )
