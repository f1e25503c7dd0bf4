"""What the archived timeline says of instants: in layout 1 a record for each of their files.

In layout 2 it is a record an instant, with the bytes of its completed file as they were.

Source: HoodieArchivedMetaEntry, MetadataConversionUtils.createMetaWrapper and
ReplaceArchivalHelper, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from pyhudi.actions.commit import ReplaceCommitMetadata
from pyhudi.actions.container import only_record, record_schema
from pyhudi.actions.history_row import whole_body
from pyhudi.actions.plain import PlainBody
from pyhudi.errors import CorruptTableError
from pyhudi.schema.avro import dumps
from pyhudi.schema.codec import read_record, write_record

_NAME: Final = "HoodieArchivedMetaEntry"
_COMPLETED: Final = "COMPLETED"
_REQUESTED: Final = "REQUESTED"
_INFLIGHT: Final = "INFLIGHT"
_COMMITS: Final = ("commit", "deltacommit")
_REPLACE: Final = "replacecommit"
_ROLLING_STAT: Final = {"ROLLING_STAT": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """One file of an archived instant, that of a state.

    ``action`` and ``state`` are Hudi's words, ``transition_time`` is when the file was written, as
    an instant time, where that is known. ``metadata`` has what the file said, by the names of
    Hudi's Avro record; None where it said nothing, or nothing of it is kept.
    """

    time: str
    action: str
    state: str
    transition_time: str | None = None
    metadata: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of_body(
        cls, time: str, action: str, state: str, transition_time: str | None, body: bytes
    ) -> ArchivedFile:
        """The file of an instant with these bytes.

        Raises:
            CorruptTableError: the bytes are not what such a file has.
        """
        found = cls(time=time, action=action, state=state, transition_time=transition_time)
        if found._entry is None or (not body and not found._is_commit_to_be):
            return found
        return cls(
            time=time,
            action=action,
            state=state,
            transition_time=transition_time,
            metadata=found._read(body),
        )

    @classmethod
    def from_record(cls, data: bytes, schema: str) -> ArchivedFile:
        """What a record of an archive says, which was written by this schema.

        Raises:
            CorruptTableError: the bytes are no such record.
        """
        record = read_record(data, schema)
        time, action = record.get("commitTime"), record.get("actionType")
        if time is None or action is None:
            raise CorruptTableError("a record of the archive names no instant")
        # Records of old releases have no state: they are of completed instants.
        found = cls(time=time, action=action, state=record.get("actionState") or _COMPLETED)
        return cls(
            time=found.time,
            action=found.action,
            state=found.state,
            transition_time=record.get("stateTransitionTime"),
            metadata=None if found._entry is None else record.get(found._entry),
        )

    @classmethod
    def from_history(
        cls, time: str, action: str, completion_time: str | None, body: bytes
    ) -> ArchivedFile:
        """The completed file of an instant in the archive of layout 2, which has its ``body``.

        Raises:
            CorruptTableError: the bytes are not what such a file has.
        Source: LSMTimelineWriter, MetadataConversionUtils.createLSMTimelineInstant, Hudi 1.1.
        """
        return cls(
            time=time,
            action=action,
            state=_COMPLETED,
            transition_time=completion_time,
            metadata=PlainBody.from_bytes(whole_body(action, body)).entries if body else None,
        )

    @property
    def identity(self) -> tuple[str, str, str]:
        """What no other file of the timeline has as well."""
        return self.time, self.action, self.state

    @property
    def commit(self) -> ReplaceCommitMetadata | None:
        """What a completed write wrote and replaced, as far as the archive keeps it.

        None for anything else, or where the file said nothing.
        """
        is_write = self.action in (*_COMMITS, _REPLACE) and self.state == _COMPLETED
        if self.metadata is None or not is_write:
            return None
        return ReplaceCommitMetadata.from_json(self.metadata)

    def to_record(self) -> bytes:
        """The record of an archive."""
        record: dict[str, Any] = {
            "commitTime": self.time,
            "actionType": self.action,
            "actionState": self.state,
            "stateTransitionTime": self.transition_time,
            "version": None,
        }
        if self._entry is not None:
            record[self._entry] = self.metadata
        return write_record(archive_schema(), record)

    @property
    def _entry(self) -> str | None:
        """Where in the record it is what the file says; None where nothing of it is kept."""
        if self.action in _COMMITS:
            return "hoodieCommitMetadata"
        return _ENTRIES.get((self.action, self.state))

    @property
    def _is_commit_to_be(self) -> bool:
        return self.action in _COMMITS and self.state != _COMPLETED

    def _read(self, body: bytes) -> Mapping[str, Any]:
        if self.action in _COMMITS or (self.action == _REPLACE and self.state != _REQUESTED):
            return _commit(body, is_replace=self._entry == _ENTRIES[_REPLACE, _COMPLETED])
        with only_record(body, f"the {self.state.lower()} {self.action} {self.time}") as found:
            return found


_ENTRIES: Final[Mapping[tuple[str, str], str]] = {
    (_REPLACE, _COMPLETED): "hoodieReplaceCommitMetadata",
    (_REPLACE, _INFLIGHT): "HoodieInflightReplaceMetadata",
    (_REPLACE, _REQUESTED): "hoodieRequestedReplaceMetadata",
    ("clean", _COMPLETED): "hoodieCleanMetadata",
    ("clean", _INFLIGHT): "hoodieCleanerPlan",
    ("clean", _REQUESTED): "hoodieCleanerPlan",
    ("rollback", _COMPLETED): "hoodieRollbackMetadata",
    ("savepoint", _COMPLETED): "hoodieSavePointMetadata",
    ("compaction", _REQUESTED): "hoodieCompactionPlan",
    ("logcompaction", _REQUESTED): "hoodieCompactionPlan",
}


@cache
def archive_schema() -> str:
    """The schema of the records, as the text that blocks have in their header."""
    return dumps(record_schema(_NAME))


def _commit(body: bytes, *, is_replace: bool) -> dict[str, Any]:
    """Commit metadata as the archive has it, which drops what its schema has no place for."""
    found = _json(body)
    is_compacted = bool(found.get("compacted")) and not is_replace
    extra = found.get("extraMetadata") or {}
    kept: dict[str, Any] = {
        "partitionToWriteStats": found.get("partitionToWriteStats") or {},
        "extraMetadata": {key: value or "" for key, value in extra.items()} | _ROLLING_STAT,
        "version": None,
        "operationType": "COMPACT" if is_compacted else found.get("operationType") or "UNKNOWN",
    }
    if is_replace:
        kept["partitionToReplaceFileIds"] = found.get("partitionToReplaceFileIds") or {}
    return kept


def _json(body: bytes) -> Mapping[str, Any]:
    if not body:
        return {}
    try:
        found = json.loads(body)
    except ValueError as error:
        raise CorruptTableError(f"commit metadata cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CorruptTableError("commit metadata cannot be read: it is no JSON object")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanBounds:
    """Up to where the last clean has taken the files of replaced file groups away.

    ``earliest_retained`` is the earliest instant whose files stay, None for a clean that goes by
    versions; ``savepoints`` are the instants whose files it left alone for a savepoint.
    """

    earliest_retained: str | None = None
    savepoints: tuple[str, ...] = ()

    @classmethod
    def from_plan(cls, data: bytes) -> CleanBounds:
        """What the plan of the clean says; nothing where its file is empty.

        Raises:
            CorruptTableError: the bytes are no such plan.
        Source: ClusteringUtils.getEarliestReplacedSavepointInClean, Hudi 1.1 (the savepoints).
        """
        if not data:
            return cls()
        with only_record(data, "the plan of a clean") as found:
            earliest = found.get("earliestInstantToRetain") or {}
            saved = (found.get("extraMetadata") or {}).get("savepointed_timestamps") or ""
            return cls(
                earliest_retained=earliest.get("timestamp") or None,
                savepoints=tuple(sorted(time for time in saved.split(",") if time)),
            )
