"""What instants say, from the words of one layout of the timeline to those of the other. Pure.

Writes say it in JSON in layout 1 and in Avro in layout 2, all else is the same in both. In the
archive layout 1 has a record for each file, and layout 2 a row for each instant.

Source: SevenToEightUpgradeHandler and EightToSevenDowngradeHandler, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from pyhudi.actions.archived import ArchivedFile
from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.container import record_schema
from pyhudi.actions.history_row import HistoryRow, whole_body
from pyhudi.config.versions import TimelineLayout
from pyhudi.schema.codec import write_container

_COMPLETED: Final = "COMPLETED"
_REPLACE: Final = "replacecommit"
_WRITES: Final = ("commit", "deltacommit", _REPLACE)
_METADATA: Final[Mapping[str, str]] = {
    "clean": "HoodieCleanMetadata",
    "rollback": "HoodieRollbackMetadata",
    "savepoint": "HoodieSavepointMetadata",
}
_PLANS: Final[Mapping[str, str]] = {
    "clean": "HoodieCleanerPlan",
    "compaction": "HoodieCompactionPlan",
    "logcompaction": "HoodieCompactionPlan",
    _REPLACE: "HoodieRequestedReplaceMetadata",
}
_ENDS_AS: Final = {"compaction": "commit", "logcompaction": "deltacommit"}


def body_in(layout: TimelineLayout, action: str, state: str, body: bytes) -> bytes:
    """What the file of an instant says in a layout; ``action`` and ``state`` are Hudi's words.

    Raises:
        CorruptTableError: the bytes are not what such a file has.
    """
    is_plan = action == _REPLACE and state == "REQUESTED"
    if not body or action not in _WRITES or is_plan:
        return body
    kind = ReplaceCommitMetadata if action == _REPLACE else CommitMetadata
    found = kind.from_bytes(body)
    return found.to_avro() if layout is TimelineLayout.TWO else found.to_bytes()


def history_of(files: Iterable[ArchivedFile]) -> Iterator[HistoryRow]:
    """The instants that records of layout 1 tell of, which lie beside each other; once each.

    Not: those that had not completed.
    """
    for _, own in groupby(files, lambda file: (file.time, _ENDS_AS.get(file.action, file.action))):
        states = {file.state: file for file in own}
        done, begun = states.get(_COMPLETED), states.get("REQUESTED")
        if done is not None:
            yield HistoryRow(
                time=done.time,
                completion_time=done.transition_time or done.time,
                action=done.action,
                metadata=_metadata(done),
                plan=None if begun is None else _packed(begun, _PLANS),
            )


def archived_of(row: HistoryRow) -> ArchivedFile:
    """The record of layout 1 of a completed instant.

    Raises:
        CorruptTableError: what it says cannot be read.
    """
    found = whole_body(row.action, row.metadata or b"")
    body = body_in(TimelineLayout.ONE, row.action, _COMPLETED, found)
    return ArchivedFile.of_body(row.time, row.action, _COMPLETED, row.completion_time, body)


def _metadata(done: ArchivedFile) -> bytes | None:
    found = done.commit
    if found is None:
        return _packed(done, _METADATA)
    return found.to_avro() if done.action == _REPLACE else found.commit.to_avro()


def _packed(file: ArchivedFile, schemas: Mapping[str, str]) -> bytes | None:
    name = schemas.get(file.action)
    if name is None or file.metadata is None:
        return None
    return write_container(record_schema(name), file.metadata)
