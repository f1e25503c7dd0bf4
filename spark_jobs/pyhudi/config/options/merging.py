"""Which of two records of one key wins: merge modes, and the payload classes that mean them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyhudi.config import option
from pyhudi.config.option import Option, declare, read_settings, setting
from pyhudi.errors import OptionError, UnsupportedError

_MODEL: Final = "org.apache.hudi.common.model."
OVERWRITE_PAYLOAD: Final = f"{_MODEL}OverwriteWithLatestAvroPayload"
DEFAULT_PAYLOAD: Final = f"{_MODEL}DefaultHoodieRecordPayload"
EVENT_TIME_PAYLOAD: Final = f"{_MODEL}EventTimeAvroPayload"
PARTIAL_UPDATE_PAYLOAD: Final = f"{_MODEL}PartialUpdateAvroPayload"
NON_DEFAULTS_PAYLOAD: Final = f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload"
DMS_PAYLOAD: Final = f"{_MODEL}AWSDmsAvroPayload"
POSTGRES_PAYLOAD: Final = f"{_MODEL}debezium.PostgresDebeziumAvroPayload"
MYSQL_PAYLOAD: Final = f"{_MODEL}debezium.MySqlDebeziumAvroPayload"
PAYLOAD_PROPERTY: Final = "hoodie.compaction.payload.class"
"""What hoodie.properties calls the payload class, which requests may do too."""
CUSTOM_PAYLOAD: Final = "pyhudi.merge.custom.Merger"
"""What stands in a table's properties for a merger in Python. Hudi has no such class, so it reads
the table and refuses to merge into it."""


class RecordMergeMode(Enum):
    """How Hudi 1.x names rules of merging; CUSTOM is any that is not by time alone."""

    COMMIT_TIME = "COMMIT_TIME_ORDERING"
    EVENT_TIME = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


STRATEGY_PROPERTY: Final = "hoodie.record.merge.strategy.id"
STRATEGIES: Final = {
    RecordMergeMode.EVENT_TIME: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    RecordMergeMode.COMMIT_TIME: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
    # Whatever the payload class says.
    RecordMergeMode.CUSTOM: "00000000-0000-0000-0000-000000000000",
}
"""How tables of version 8 say a mode once more, those of version 6 and 9 if a class merges."""


class MergeMode(Enum):
    """What becomes of two records of one key.

    ``COMMIT_TIME``: the later written stands. ``EVENT_TIME``: the one of the higher ordering
    value. ``PARTIAL_UPDATE``: that one, its nulls filled from the other. ``NON_DEFAULTS``: the
    later written, its default values filled from the other. ``DMS``: the later written, and
    the column ``Op`` says what is deleted. ``POSTGRES`` and ``MYSQL``: that of the later event as
    Debezium tells it, in columns of its own, where ``POSTGRES`` takes what the source did not send
    from the stored row. ``CUSTOM``: a merger in Python.
    """

    COMMIT_TIME = OVERWRITE_PAYLOAD
    EVENT_TIME = DEFAULT_PAYLOAD
    PARTIAL_UPDATE = PARTIAL_UPDATE_PAYLOAD
    NON_DEFAULTS = NON_DEFAULTS_PAYLOAD
    DMS = DMS_PAYLOAD
    POSTGRES = POSTGRES_PAYLOAD
    MYSQL = MYSQL_PAYLOAD
    CUSTOM = CUSTOM_PAYLOAD


class PartialUpdate(Enum):
    """Which values of a record are none, and are taken from the one that it goes before.

    ``KEEP_VALUES``: columns that its log block has not. ``IGNORE_DEFAULTS``: values that are their
    column's default. ``FILL_UNAVAILABLE``: texts that stand for what a source did not send.

    Source: PartialUpdateMode, Hudi 1.1; tables of version 9 name the last two.
    """

    KEEP_VALUES = "KEEP_VALUES"
    IGNORE_DEFAULTS = "IGNORE_DEFAULTS"
    FILL_UNAVAILABLE = "FILL_UNAVAILABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMarker:
    """The column and its text by which a row deletes its record."""

    field: str
    value: str


_MODE_OF_PAYLOAD: Final[Mapping[str, MergeMode]] = {
    **{mode.value: mode for mode in MergeMode},
    EVENT_TIME_PAYLOAD: MergeMode.EVENT_TIME,
}
_MODES: Final[Mapping[MergeMode, RecordMergeMode]] = {
    MergeMode.COMMIT_TIME: RecordMergeMode.COMMIT_TIME,
    MergeMode.EVENT_TIME: RecordMergeMode.EVENT_TIME,
}
_PAYLOADS: Final = {asked: mode.value for mode, asked in _MODES.items()}
_KNOWN = f"supported are {', '.join(sorted(_MODE_OF_PAYLOAD.keys() - {CUSTOM_PAYLOAD}))}"


def _payload(text: str) -> str | None:
    if text and text not in _MODE_OF_PAYLOAD:
        raise UnsupportedError(f"{text!r}, which is not supported; {_KNOWN}")
    return text or None


MODE_PROPERTY: Final = "hoodie.record.merge.mode"
"""What hoodie.properties calls the merge mode, which requests may do too."""
PAYLOAD_CLASS = declare(
    "hoodie.datasource.write.payload.class", _payload, default=None, aliases=(PAYLOAD_PROPERTY,)
)
"""which of two records of a key wins, as a Hudi class"""
MERGE_MODE: Option[RecordMergeMode | None] = declare(
    "hoodie.write.record.merge.mode",
    option.parse_enum(RecordMergeMode),
    default=None,
    aliases=(MODE_PROPERTY,),
    since="1.0",
)
"""which of two records of a key wins, as a mode; CUSTOM needs a merger or payload class"""
CUSTOM_MERGER = declare(
    "pyhudi.merge.custom.merger", option.parse_optional_text, default=None, since="pyhudi"
)
"""a Python class that merges records, `package.module:Class`; the table remembers it"""
DELETE_FIELD = declare("hoodie.payload.delete.field", option.parse_optional_text, default=None)
"""column whose value can say that a row deletes its record"""
DELETE_MARKER = declare("hoodie.payload.delete.marker", option.parse_optional_text, default=None)
"""the value of that column in rows that delete"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConfig:
    """What options ask of merging; None where an existing table decides.

    ``payload_class`` stands for merge modes too, and ``mode`` is the one that was named;
    ``custom_merger`` is a class path in Python.
    """

    payload_class: str | None = None
    mode: RecordMergeMode | None = setting(MERGE_MODE)
    custom_merger: str | None = setting(CUSTOM_MERGER)
    delete_marker: DeleteMarker | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> MergeConfig:
        """The merging that options ask for.

        Raises:
            OptionError: options that contradict each other, or half of a pair.
            UnsupportedError: another class.
        """
        return read_settings(
            cls,
            options,
            payload_class=_requested_payload(options, CUSTOM_MERGER.read(options)),
            delete_marker=_requested_marker(options),
        )


def _requested_payload(options: Mapping[str, str], merger: str | None) -> str | None:
    payload, mode = PAYLOAD_CLASS.read(options), MERGE_MODE.read(options)
    if merger and payload not in (None, CUSTOM_PAYLOAD):
        raise _contradiction(CUSTOM_MERGER.key, merger, PAYLOAD_CLASS.key, payload)
    if merger and mode not in (None, RecordMergeMode.CUSTOM):
        raise _contradiction(CUSTOM_MERGER.key, merger, MERGE_MODE.key, mode.value)
    if merger:
        return CUSTOM_PAYLOAD
    if payload == CUSTOM_PAYLOAD or (mode is RecordMergeMode.CUSTOM and payload is None):
        raise OptionError(
            "records are to be merged by a rule of their own; name the merger, a Python class, "
            f"with {CUSTOM_MERGER.key} or a payload class with {PAYLOAD_CLASS.key}"
        )
    if (
        payload
        and mode
        and _MODES.get(_MODE_OF_PAYLOAD[payload], RecordMergeMode.CUSTOM) is not mode
    ):
        raise _contradiction(MERGE_MODE.key, mode.value, PAYLOAD_CLASS.key, payload)
    return payload or (_PAYLOADS[mode] if mode else None)


def _requested_marker(options: Mapping[str, str]) -> DeleteMarker | None:
    column, value = DELETE_FIELD.read(options), DELETE_MARKER.read(options)
    if (column is None) != (value is None):
        raise OptionError(f"{DELETE_FIELD.key} and {DELETE_MARKER.key} go together; give both")
    return None if column is None or value is None else DeleteMarker(field=column, value=value)


def _contradiction(key: str, value: str, other: str, its_value: str | None) -> OptionError:
    return OptionError(
        f"{key} is {value} and {other} is {its_value}, which contradict each other; give one"
    )


def default_payload(ordering_fields: Sequence[str]) -> str:
    """The payload class of a table that asked for none: event time where there is a field for it.

    Source: HoodieTableConfig.inferMergingConfigs, Hudi 1.1; 0.15 orders by commit time.
    """
    return DEFAULT_PAYLOAD if ordering_fields else OVERWRITE_PAYLOAD


def merge_mode(
    payload_class: str | None, ordering_fields: Sequence[str], strategy: str | None = None
) -> MergeMode:
    """The mode of a table with this payload class, None for a table that names none.

    ``strategy`` is the id of its merge strategy, if it has one; a payload class goes before it.

    Raises:
        UnsupportedError: a payload class with rules of its own, or a Java merger in its place.
    Source: HoodieTableConfig.inferMergingConfigs, Hudi 1.1 (event time without a field to order by
    is commit time).
    """
    payload = payload_class or default_payload(ordering_fields)
    if payload_class is None and strategy and strategy not in STRATEGIES.values():
        raise UnsupportedError(
            f"records merged by a Java class with the merge strategy {strategy} are not supported"
        )
    mode = _MODE_OF_PAYLOAD.get(payload)
    if mode is None:
        raise UnsupportedError(f"records merged by {payload} are not supported; {_KNOWN}")
    if mode is MergeMode.EVENT_TIME and not ordering_fields:
        return MergeMode.COMMIT_TIME
    return mode


def named_merge_mode(
    named: RecordMergeMode,
    payload_class: str | None,
    ordering_fields: Sequence[str],
    strategy: str | None = None,
) -> MergeMode:
    """The mode of a table that names it, as those of version 8 and later do.

    Raises:
        UnsupportedError: CUSTOM, by a payload class with rules of its own or by a Java merger.
    Source: HoodieTableConfig.inferMergingConfigs and HoodieTableMetaClient, Hudi 1.1: what merges
    by a payload class that is no mode is CUSTOM, with that class.
    """
    if named is RecordMergeMode.CUSTOM:
        if payload_class is None:
            raise UnsupportedError(
                f"records merged by a Java class with the merge strategy {strategy} are not "
                "supported"
            )
        return merge_mode(payload_class, ordering_fields)
    is_ordered = named is RecordMergeMode.EVENT_TIME and ordering_fields
    return MergeMode.EVENT_TIME if is_ordered else MergeMode.COMMIT_TIME
