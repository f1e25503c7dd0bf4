"""Which of two records of one key wins: merge modes, and the payload classes that mean them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from pyhudi.config import option
from pyhudi.config.option import Option, declare
from pyhudi.errors import OptionError, UnsupportedError

_MODEL: Final = "org.apache.hudi.common.model."
OVERWRITE_PAYLOAD: Final = f"{_MODEL}OverwriteWithLatestAvroPayload"
DEFAULT_PAYLOAD: Final = f"{_MODEL}DefaultHoodieRecordPayload"
EVENT_TIME_PAYLOAD: Final = f"{_MODEL}EventTimeAvroPayload"


class MergeMode(Enum):
    """The later written record wins, or the one of the higher ordering value."""

    COMMIT_TIME = "COMMIT_TIME_ORDERING"
    EVENT_TIME = "EVENT_TIME_ORDERING"


_MODES = {
    OVERWRITE_PAYLOAD: MergeMode.COMMIT_TIME,
    DEFAULT_PAYLOAD: MergeMode.EVENT_TIME,
    EVENT_TIME_PAYLOAD: MergeMode.EVENT_TIME,
}
_PAYLOADS = {
    MergeMode.COMMIT_TIME: OVERWRITE_PAYLOAD,
    MergeMode.EVENT_TIME: DEFAULT_PAYLOAD,
}


def _payload(text: str) -> str | None:
    if text and text not in _MODES:
        raise UnsupportedError(f"{PAYLOAD_CLASS.key} is {text!r}, which is not supported; {_KNOWN}")
    return text or None


def _mode(text: str) -> MergeMode:
    if text.upper() == "CUSTOM":
        raise UnsupportedError(f"{MERGE_MODE.key} is {text!r}, which is not supported")
    return option.parse_enum(MergeMode)(text)


_KNOWN = f"supported are {', '.join(sorted(_MODES))}"

PAYLOAD_CLASS = declare(
    Option(
        key="hoodie.datasource.write.payload.class",
        aliases=("hoodie.compaction.payload.class",),
        parse=_payload,
        default=None,
        doc="which of two records of a key wins, as a Hudi class",
    )
)
MERGE_MODE: Option[MergeMode | None] = declare(
    Option(
        key="hoodie.write.record.merge.mode",
        aliases=("hoodie.record.merge.mode",),
        parse=_mode,
        default=None,
        since="1.0",
        doc="which of two records of a key wins, as a mode",
    )
)


def requested_payload(options: Mapping[str, str]) -> str | None:
    """The payload class that options ask for, by name or by merge mode; None when they do not.

    Raises:
        OptionError: name and mode contradict each other.
        UnsupportedError: another class or mode.
    """
    payload, mode = PAYLOAD_CLASS.read(options), MERGE_MODE.read(options)
    if payload and mode and _MODES[payload] is not mode:
        raise OptionError(
            f"{MERGE_MODE.key} is {mode.value} and {PAYLOAD_CLASS.key} is {payload}, which "
            "contradict each other; give one of them"
        )
    return payload or (_PAYLOADS[mode] if mode else None)


def default_payload(ordering_fields: Sequence[str]) -> str:
    """The payload class of a table that asked for none: event time where there is a field for it.

    Source: HoodieTableConfig.inferMergingConfigs, Hudi 1.1; 0.15 orders by commit time.
    """
    return DEFAULT_PAYLOAD if ordering_fields else OVERWRITE_PAYLOAD


def merge_mode(payload_class: str | None, ordering_fields: Sequence[str]) -> MergeMode:
    """The merge mode of a table with this payload class, None for a table that names none.

    Raises:
        UnsupportedError: a payload class with rules of its own.
    Source: HoodieTableConfig.inferMergingConfigs, Hudi 1.1.
    """
    payload = payload_class or default_payload(ordering_fields)
    if payload not in _MODES:
        raise UnsupportedError(f"records merged by {payload} are not supported; {_KNOWN}")
    return _MODES[payload] if ordering_fields else MergeMode.COMMIT_TIME
