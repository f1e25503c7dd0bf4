"""How tables of version 8 and later say by which rule they merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyhudi.config.options.merging import (
    DELETE_FIELD,
    DELETE_MARKER,
    DMS_PAYLOAD,
    MODE_PROPERTY,
    MYSQL_PAYLOAD,
    NON_DEFAULTS_PAYLOAD,
    PARTIAL_UPDATE_PAYLOAD,
    PAYLOAD_PROPERTY,
    POSTGRES_PAYLOAD,
    STRATEGIES,
    STRATEGY_PROPERTY,
    DeleteMarker,
    MergeMode,
    PartialUpdate,
    RecordMergeMode,
    merge_mode,
)
from pyhudi.config.options.table import ORDERING_PROPERTY, PRECOMBINE_PROPERTY
from pyhudi.config.versions import TableVersion
from pyhudi.errors import UnsupportedError

MERGING: Final = "hoodie.record.merge.property."
"""The beginning of properties that say what a payload is told. Hudi 1.1 keeps them beside a table
of version 6, too."""
PARTIAL_UPDATE_PROPERTY: Final = "hoodie.table.partial.update.mode"
UNAVAILABLE_PROPERTY: Final = f"{MERGING}hoodie.write.partial.update.unavailable.value"
LEGACY_PAYLOAD_PROPERTY: Final = "hoodie.table.legacy.payload.class"
"""The payload class that the rule of a table of version 9 was made of."""

_BY_TIME: Final[Mapping[MergeMode, RecordMergeMode]] = {
    MergeMode.COMMIT_TIME: RecordMergeMode.COMMIT_TIME,
    MergeMode.EVENT_TIME: RecordMergeMode.EVENT_TIME,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRule:
    """What stands for a payload class in a table of version 9.

    ``ordering_fields`` are those that the class looks at whatever the table is told.
    """

    mode: RecordMergeMode
    partial_update: PartialUpdate | None = None
    ordering_fields: tuple[str, ...] = ()
    delete_marker: DeleteMarker | None = None
    unavailable: str | None = None


_DEBEZIUM_DELETE: Final = DeleteMarker(field="_change_operation_type", value="d")
_RULES: Final[Mapping[str, NamedRule]] = {
    NON_DEFAULTS_PAYLOAD: NamedRule(
        mode=RecordMergeMode.COMMIT_TIME, partial_update=PartialUpdate.IGNORE_DEFAULTS
    ),
    PARTIAL_UPDATE_PAYLOAD: NamedRule(
        mode=RecordMergeMode.EVENT_TIME, partial_update=PartialUpdate.IGNORE_DEFAULTS
    ),
    DMS_PAYLOAD: NamedRule(
        mode=RecordMergeMode.COMMIT_TIME, delete_marker=DeleteMarker(field="Op", value="D")
    ),
    POSTGRES_PAYLOAD: NamedRule(
        mode=RecordMergeMode.EVENT_TIME,
        partial_update=PartialUpdate.FILL_UNAVAILABLE,
        ordering_fields=("_event_lsn",),
        delete_marker=_DEBEZIUM_DELETE,
        unavailable="__debezium_unavailable_value",
    ),
    MYSQL_PAYLOAD: NamedRule(
        mode=RecordMergeMode.EVENT_TIME,
        ordering_fields=("_event_bin_file", "_event_pos"),
        delete_marker=_DEBEZIUM_DELETE,
    ),
}


def named_rule(payload_class: str | None) -> NamedRule | None:
    """The rule that version 9 names in place of a payload class; None of one by time alone.

    Source: HoodieTableConfig.inferMergingConfigsForV9TableCreation, Hudi 1.1.
    """
    return None if payload_class is None else _RULES.get(payload_class)


def merge_properties(
    payload_class: str | None, ordering_fields: Sequence[str], version: TableVersion
) -> dict[str, str]:
    """What a new table of version 8 or later says of its rule, with this payload class or None.

    Raises:
        UnsupportedError: a payload class that such a table cannot name.
    Source: HoodieTableConfig.inferMergingConfigs and inferMergingConfigsForV9TableCreation,
        Hudi 1.1.
    """
    mode = merge_mode(payload_class, ordering_fields)
    if mode is MergeMode.CUSTOM:
        raise UnsupportedError(
            f"tables of version 8 and later that merge by {mode.value} are not made yet; those of "
            "version 6 are"
        )
    if version is TableVersion.NINE:
        return _of_version_9(payload_class, mode, ordering_fields)
    named = _BY_TIME.get(mode, RecordMergeMode.CUSTOM)
    return {
        MODE_PROPERTY: named.value,
        PAYLOAD_PROPERTY: mode.value,
        STRATEGY_PROPERTY: STRATEGIES[named],
        PRECOMBINE_PROPERTY: ",".join(ordering_fields),
    }


def _of_version_9(
    payload_class: str | None, mode: MergeMode, ordering_fields: Sequence[str]
) -> dict[str, str]:
    rule = named_rule(payload_class)
    if rule is None:
        named = _BY_TIME[mode].value
        return {MODE_PROPERTY: named, ORDERING_PROPERTY: ",".join(ordering_fields)}
    ordering = rule.ordering_fields or ordering_fields
    found = {
        MODE_PROPERTY: rule.mode.value,
        ORDERING_PROPERTY: ",".join(ordering),
        LEGACY_PAYLOAD_PROPERTY: mode.value,
    }
    if rule.partial_update is not None:
        found[PARTIAL_UPDATE_PROPERTY] = rule.partial_update.value
    if rule.unavailable is not None:
        found[UNAVAILABLE_PROPERTY] = rule.unavailable
    if rule.delete_marker is not None:
        found[f"{MERGING}{DELETE_FIELD.key}"] = rule.delete_marker.field
        found[f"{MERGING}{DELETE_MARKER.key}"] = rule.delete_marker.value
    return found
