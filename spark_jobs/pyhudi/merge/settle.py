"""The rule of a table, held against the columns that it needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pyhudi.config.merging import (
    DELETE_FIELD,
    DELETE_MARKER,
    DeleteMarker,
    MergeLaw,
)
from pyhudi.config.table import TableConfig
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.merge.custom import load_merger
from pyhudi.merge.ordering import field_at
from pyhudi.merge.rule import OPERATION, MergeRule

_DMS_MARKER = DeleteMarker(field=OPERATION, value="D")
_ORDERED = (MergeLaw.EVENT_TIME, MergeLaw.PARTIAL_UPDATE, MergeLaw.CUSTOM)


def settle_rule(
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
    law = config.merge_law
    marker = _marker(config, law, schema)
    if is_merging:
        for path in config.ordering_fields:
            _check_ordering(path, schema, given, is_needed=law is MergeLaw.EVENT_TIME)
        if law is MergeLaw.DMS and OPERATION not in schema.names:
            raise RequestError(
                f"the table {config.name} merges by AWSDmsAvroPayload, which needs the column "
                f"{OPERATION}; the rows have {', '.join(given)}"
            )
    if law is MergeLaw.CUSTOM and is_merging:
        load_merger(config.custom_merger or "")
    return MergeRule(
        law=law,
        ordering_fields=() if law is MergeLaw.COMMIT_TIME else config.ordering_fields,
        delete_marker=marker,
        defaults=defaults if law is MergeLaw.NON_DEFAULTS else {},
        merger=config.custom_merger,
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
    law = config.merge_law
    ordering = tuple(path for path in config.ordering_fields if field_at(schema, path) is not None)
    if law is MergeLaw.EVENT_TIME and not ordering:
        law = MergeLaw.COMMIT_TIME
    return MergeRule(
        law=law,
        ordering_fields=ordering if law in _ORDERED else (),
        delete_marker=_marker(config, law, schema),
        defaults=defaults if law is MergeLaw.NON_DEFAULTS else {},
        merger=config.custom_merger,
    )


def bulk_rule(rule: MergeRule, config: TableConfig) -> MergeRule:
    """The rule by which a bulk insert combines its batch: by ordering value whatever the law.

    Source: HoodieDatasetBulkInsertHelper.dedupeRows, Hudi 0.15 and 1.1 (deletes are rows to it).
    """
    law = MergeLaw.EVENT_TIME if config.ordering_fields else MergeLaw.COMMIT_TIME
    return replace(rule, law=law, ordering_fields=config.ordering_fields, ignores_deletes=True)


def default_values(avro_schema: Mapping[str, Any] | None) -> dict[str, object]:
    """The default values of a record's fields that are not null and not nested.

    Source: OverwriteNonDefaultsWithLatestAvroPayload.overwriteField, Hudi 1.1.
    """
    fields = [] if avro_schema is None else avro_schema["fields"]
    found = {field["name"]: field.get("default") for field in fields}
    return {name: value for name, value in found.items() if isinstance(value, (bool, int, float))}


def _marker(config: TableConfig, law: MergeLaw, schema: pa.Schema) -> DeleteMarker | None:
    marker = config.delete_marker
    if marker is None or (law is MergeLaw.DMS and marker == _DMS_MARKER):
        return None
    if law not in (MergeLaw.COMMIT_TIME, MergeLaw.EVENT_TIME, MergeLaw.CUSTOM):
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
