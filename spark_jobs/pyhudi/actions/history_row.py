"""What the archived timeline of layout 2 says of an instant, all of its states in one row.

Source: HoodieLSMTimelineInstant, MetadataConversionUtils.createLSMTimelineInstant and ActiveAction,
Hudi 1.0 and 1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyhudi.actions.commit_avro import MAGIC
from pyhudi.actions.container import record_schema
from pyhudi.schema.avro import dumps
from pyhudi.schema.codec import read_record, write_container

_PLANNED: Final = ("clean", "compaction", "logcompaction")
_REPLACING: Final = ("replacecommit", "clustering")
_SCHEMAS: Final[Mapping[str, str]] = {
    "commit": "HoodieCommitMetadata",
    "deltacommit": "HoodieCommitMetadata",
    "replacecommit": "HoodieReplaceCommitMetadata",
    "clean": "HoodieCleanMetadata",
    "rollback": "HoodieRollbackMetadata",
    "savepoint": "HoodieSavepointMetadata",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """An archived instant, with the bytes of its files as they were.

    ``action`` is the one it was completed under, ``metadata`` what its completed file said, and
    ``plan`` what was planned; each is None where nothing was said.
    """

    time: str
    completion_time: str | None
    action: str
    metadata: bytes | None = field(default=None, repr=False)
    plan: bytes | None = field(default=None, repr=False)

    @property
    def identity(self) -> tuple[str, str]:
        """What no other archived instant has as well."""
        return self.time, self.action


def whole_body(action: str, body: bytes) -> bytes:
    """What the completed file of an archived instant said, as a file has it.

    Raises:
        CorruptTableError: the bytes are not what such a file has.
    Source: SevenToEightUpgradeHandler.upgradeToLSMTimeline, Hudi 1.0.2, which leaves records
    without a container around them.
    """
    name = _SCHEMAS.get(action)
    if name is None or not body or body.startswith((MAGIC, b"{")):
        return body
    schema = record_schema(name)
    return write_container(schema, read_record(body, dumps(schema)))


def planned_in(begun_as: str) -> tuple[str, ...]:
    """The states whose files have the plan of an action, the last that says something counts.

    The inflight file of a replacecommit says what it is about to write, that of a clustering
    nothing.
    """
    if begun_as in _PLANNED:
        return ("REQUESTED",)
    return ("REQUESTED", "INFLIGHT") if begun_as in _REPLACING else ()
