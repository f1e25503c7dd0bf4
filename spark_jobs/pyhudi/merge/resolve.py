"""The rule of a table, held against the columns that it needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pyhudi.config.options.merging import DELETE_FIELD, DELETE_MARKER, DeleteMarker, MergeMode
from pyhudi.config.table import TableConfig
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.merge.custom import load_merger
from pyhudi.merge.debezium import EVENT_COLUMN
from pyhudi.merge.partial import Filling
from pyhudi.merge.rule import OPERATION, MergeRule
from pyhudi.schema.columns import field_at

_DMS_MARKER = DeleteMarker(field=OPERATION, value="D")
_ORDERED = (MergeMode.EVENT_TIME, MergeMode.PARTIAL_UPDATE, MergeMode.CUSTOM)


def resolve_rule(
    config: TableConfig,
    schema: pa.Schema,
    given: Collection[str],
    *,
    defaults: Mapping[str, object],
    is_merging: bool,
) -> MergeRule:
    """The rule by which rows of a batch are merged into a table.

    ``given`` names the columns that the batch has, ``defaults`` has the default values of columns
    that are not null; ``is_merging`` says that rows can meet stored ones or each other.

    Shapes: ``schema`` is the one to write, without meta columns.

    Raises:
        RequestError: a column that the rule needs is missing or of a type that has no order.
        UnsupportedError: a rule that is not known here, or with which deletes cannot be marked so.
    """
    mode = config.merge_mode
    marker = _marker(config, mode, schema)
    if is_merging:
        for path in config.ordering_fields:
            _check_ordering(path, schema, given, is_needed=mode is MergeMode.EVENT_TIME)
        if mode is MergeMode.DMS and OPERATION not in schema.names:
            raise RequestError(
                f"the table {config.name} merges by AWSDmsAvroPayload, which needs the column "
                f"{OPERATION}; the rows have {', '.join(given)}"
            )
        if (event := EVENT_COLUMN.get(mode)) is not None and event not in schema.names:
            raise RequestError(
                f"the table {config.name} merges by {config.payload_class}, which needs the column "
                f"{event}; the rows have {', '.join(given)}"
            )
    if mode is MergeMode.CUSTOM and is_merging:
        load_merger(config.custom_merger or "")
    return MergeRule(
        mode=mode,
        ordering_fields=() if config.is_ordered_by_commit_time else config.ordering_fields,
        delete_marker=marker,
        defaults=defaults if mode is MergeMode.NON_DEFAULTS else {},
        merger=config.custom_merger,
        filling=_filling(config, mode, schema, defaults),
    )


def stored_rule(
    config: TableConfig, schema: pa.Schema, *, defaults: Mapping[str, object]
) -> MergeRule:
    """The rule by which a table's log records are merged with each other and with its base files.

    ``defaults`` has the default values of columns that are not null. An ordering column that the
    table has not orders nothing.

    Shapes: ``schema`` is the table's, without meta columns.

    Raises:
        UnsupportedError: a rule that is not known here.
    Source: HoodieReaderContext.initRecordMerger, Hudi 1.1.
    """
    mode = config.merge_mode
    filling = _filling(config, mode, schema, defaults)
    ordering = tuple(path for path in config.ordering_fields if field_at(schema, path) is not None)
    if mode is MergeMode.EVENT_TIME and not ordering:
        mode = MergeMode.COMMIT_TIME
    return MergeRule(
        mode=mode,
        ordering_fields=ordering if mode in _ORDERED else (),
        delete_marker=_marker(config, mode, schema),
        defaults=defaults if mode is MergeMode.NON_DEFAULTS else {},
        merger=config.custom_merger,
        filling=filling,
    )


def _filling(
    config: TableConfig, mode: MergeMode, schema: pa.Schema, defaults: Mapping[str, object]
) -> Filling | None:
    """Which values are taken from the older record, in tables that say so.

    Source: PartialUpdateHandler.reconcileDefaultValues, Hudi 1.1, which compares Java's objects and
    not their values: a default is told where Java has one object for it, that is of booleans and of
    whole numbers of a byte.
    """
    kind = config.partial_update
    if kind is None or mode not in (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME):
        return None
    types = {each.name: each.type for each in schema}
    cached = {
        name: value
        for name, value in defaults.items()
        if name in types and _is_one_object(value, types[name])
    }
    # A column with another default has no null by default.
    unheard = dict.fromkeys(defaults.keys() - cached.keys())
    return Filling(kind=kind, defaults={**unheard, **cached}, unavailable=config.unavailable_value)


def _is_one_object(value: object, kind: pa.DataType) -> bool:
    if isinstance(value, bool):
        return bool(pa.types.is_boolean(kind))
    return isinstance(value, int) and bool(pa.types.is_integer(kind)) and -128 <= value <= 127


def bulk_rule(rule: MergeRule, config: TableConfig) -> MergeRule:
    """The rule by which a bulk insert combines its batch: by ordering value whatever the mode.

    Source: HoodieDatasetBulkInsertHelper.dedupeRows, Hudi 0.15 and 1.1 (deletes are rows to it).
    """
    mode = MergeMode.EVENT_TIME if config.ordering_fields else MergeMode.COMMIT_TIME
    ordering = config.ordering_fields
    return replace(rule, mode=mode, ordering_fields=ordering, ignores_deletes=True, filling=None)


def default_values(avro_schema: Mapping[str, Any] | None) -> dict[str, object]:
    """The default values of a record's fields that are not null and not nested.

    Source: OverwriteNonDefaultsWithLatestAvroPayload.overwriteField, Hudi 1.1.
    """
    fields = [] if avro_schema is None else avro_schema["fields"]
    found = {field["name"]: field.get("default") for field in fields}
    return {name: value for name, value in found.items() if isinstance(value, (bool, int, float))}


def _marker(config: TableConfig, mode: MergeMode, schema: pa.Schema) -> DeleteMarker | None:
    marker = config.delete_marker
    if marker is None or (mode is MergeMode.DMS and marker == _DMS_MARKER):
        return None
    if mode not in (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME, MergeMode.CUSTOM):
        raise UnsupportedError(
            f"the table {config.name} merges by {config.payload_class}, with which Hudi follows "
            f"{DELETE_FIELD.key} for some rows only; mark deletes with _hoodie_is_deleted"
        )
    if marker.field in schema.names:
        kind = schema.field(marker.field).type
        if not _is_plain(kind):
            raise UnsupportedError(
                f"{DELETE_FIELD.key} is {marker.field}, of the type {kind}; {DELETE_MARKER.key} "
                "can be looked for in texts, whole numbers and booleans"
            )
    return marker


def _is_plain(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _check_ordering(
    path: str, schema: pa.Schema, given: Collection[str], *, is_needed: bool
) -> None:
    found = field_at(schema, path)
    if found is None or (is_needed and path.partition(".")[0] not in given):
        raise RequestError(
            f"the ordering column {path} is not among the rows' columns: {', '.join(given)}"
        )
    kind = found.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise RequestError(
            f"the ordering column {path} has the type {kind}, which has no order to merge by; "
            "take a number, a text, a date or a timestamp"
        )
