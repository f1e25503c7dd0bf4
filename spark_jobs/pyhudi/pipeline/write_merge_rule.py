"""By which rule a write merges: what the table says, the request, and the columns at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from pyhudi.config.options.merging import (
    CUSTOM_MERGER,
    CUSTOM_PAYLOAD,
    MergeMode,
    RecordMergeMode,
)
from pyhudi.config.options.operations import Operation
from pyhudi.config.table import TableConfig
from pyhudi.config.write import WriteConfig
from pyhudi.errors import OptionError, TableMismatchError
from pyhudi.merge.resolve import bulk_rule, default_values, resolve_rule
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.avro import parse
from pyhudi.table.table import Table


def write_merge_rule(
    config: TableConfig,
    write: WriteConfig,
    schema: pa.Schema,
    table: Table | None,
    given: Sequence[str],
) -> MergeRule:
    """The rule by which a write merges rows into a table, and combines them.

    ``given`` names the columns of the rows; it is empty where keys alone count.

    Raises:
        TableMismatchError: the table was made without the merger that the request names.
        RequestError: what else does not fit, see ``resolve_rule``.
    """
    merges = bool(given) and is_merging(write)
    if table is not None:
        config = _stated(config, write)
        if merges and config.merge_mode is MergeMode.CUSTOM:
            _check_merger_named(config, write)
    if write.merging.delete_marker is not None:
        config = replace(config, delete_marker=write.merging.delete_marker)
    defaults = _defaults(write)
    rule = resolve_rule(config, schema, given, defaults=defaults, is_merging=merges)
    if write.merging.mode is RecordMergeMode.COMMIT_TIME:
        # Hudi notes no mode in a table of version 6: each write may say it.
        rule = replace(rule, ordering_fields=())
    return bulk_rule(rule, config) if write.operation is Operation.BULK_INSERT else rule


def is_merging(write: WriteConfig) -> bool:
    """Whether rows can meet stored rows of their key, or each other."""
    is_insert = write.operation is Operation.INSERT
    merges_inserts = is_insert and not write.batch.allow_duplicates_on_insert
    return write.operation is Operation.UPSERT or write.combines_batch or merges_inserts


def _defaults(write: WriteConfig) -> dict[str, object]:
    # Hudi on Spark asks the schema of the request; that of a data frame has no defaults but null.
    text = write.evolution.write_schema
    return default_values(parse(text) if text else None)


def _stated(config: TableConfig, write: WriteConfig) -> TableConfig:
    asked = write.merging.payload_class
    if asked is None or config.payload_class is not None:
        return config
    if asked == CUSTOM_PAYLOAD:
        raise TableMismatchError(
            f"the table {config.name} was made without a merger; {CUSTOM_MERGER.key} is for tables "
            "that are made with it"
        )
    # Hudi 0.15 leaves the payload class out of copy-on-write tables: each write says it.
    return replace(config, payload_class=asked)


def _check_merger_named(config: TableConfig, write: WriteConfig) -> None:
    # A class that a file of the table names is run only when the caller names it too.
    if write.merging.custom_merger is None:
        raise OptionError(
            f"the table {config.name} merges with {config.custom_merger}; say so with "
            f"{CUSTOM_MERGER.key}={config.custom_merger}"
        )
