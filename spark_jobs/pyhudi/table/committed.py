"""The commit that an earlier attempt of the same request made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pyhudi.actions.commit import ReplaceCommitMetadata, WriteStat
from pyhudi.config.instant_text import AskedInstant
from pyhudi.config.options.operations import SLOT
from pyhudi.config.table import TimelineZone
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.errors import MissingFileError
from pyhudi.table.archived import ArchivedTimeline, written_by
from pyhudi.table.table import Table
from pyhudi.timeline.clock import instant_time
from pyhudi.timeline.instant import Instant

STAMP = IDEMPOTENCY_KEY.key
SLOT_STAMP = SLOT.key
METRICS = "pyhudi.metrics"
"""The key of a commit's extra metadata that holds what its stages took, as JSON."""
SCHEMA_CHANGES = "pyhudi.schema.changes"
"""The key under which a commit that changes the table's schema says how, a JSON list of texts."""

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_SLACK_MS: Final = _HOUR_MS // 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCommit:
    """A completed instant, what it wrote, and the file ids it replaced by partition.

    ``ignored`` counts rows that the stored ones outlasted, None where that is not known.
    """

    instant: str
    completion_time: str | None = None
    stats: tuple[WriteStat, ...]
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: int | None = None
    schema_changes: tuple[str, ...] = ()

    @property
    def partitions(self) -> frozenset[str]:
        """Those it wrote files to."""
        return frozenset(stat.partition_path or "" for stat in self.stats)


def look_back(since: AskedInstant | None, now_ms: int, zone: TimelineZone) -> int:
    """From when on archived commits are looked through for a key.

    ``since`` is a time before the first try of a request; without one it is a day before now. It
    is some minutes earlier, as the clocks of machines differ.

    Units: milliseconds since 1970 in UTC, ``now_ms`` too.
    """
    begun_ms = now_ms - _DAY_MS if since is None else since.moment_ms(zone)
    return begun_ms - _SLACK_MS


def find_committed(
    table: Table, key: str, *, since: int | None = None, seen: Collection[Instant] = ()
) -> EarlierCommit | None:
    """The completed commit whose extra metadata carries the key; the newest first.

    Archived ones are looked through from ``since`` on, see ``look_back``, and not at all without
    it. Those on the timeline that were ``seen`` are left out.

    Guarantees: reads one small file for each completed write on the active timeline, until found,
        and of the archive no file that was made before ``since``: none at all where the timeline
        goes back that far.
    """
    return next(_stamped(table, STAMP, key, since, seen), None)


def find_of_slot(
    table: Table, slot: str, *, since: int | None = 0, seen: Collection[Instant] = ()
) -> tuple[EarlierCommit, ...]:
    """The completed commits of a slot, the newest first; ``since`` and ``seen`` as above."""
    return tuple(_stamped(table, SLOT_STAMP, slot, since, seen))


def _stamped(
    table: Table, stamp: str, text: str, since: int | None, seen: Collection[Instant]
) -> Iterator[EarlierCommit]:
    is_whole = since is not None and _goes_back_to(table, since)
    for instant in reversed(table.timeline.write_instants().completed().instants):
        if instant in seen:
            continue
        try:
            metadata = table.active.read_commit_mentioning(instant, text)
        except MissingFileError:
            # It was archived, or undone, since the timeline was listed.
            is_whole = False
            continue
        if metadata is not None and metadata.commit.extra_metadata.get(stamp) == text:
            yield _earlier(instant.time, table.active.completion_time(instant), metadata)
    if since is not None and not is_whole:
        yield from _archived(ArchivedTimeline.of(table.storage, table.config), stamp, text, since)


def _goes_back_to(table: Table, since: int) -> bool:
    zone = table.config.timezone
    # In autumn local times come twice.
    earliest = since if zone is TimelineZone.UTC else since - _HOUR_MS
    return table.timeline.goes_back_to(instant_time(earliest, zone))


def _archived(
    archived: ArchivedTimeline, stamp: str, text: str, since: int
) -> Iterator[EarlierCommit]:
    for file in archived.files():
        if file.status.modified_ms < since or not archived.mentions(file, text):
            continue
        for record in archived.read(file):
            metadata = written_by(record)
            if metadata is not None and metadata.commit.extra_metadata.get(stamp) == text:
                yield _earlier(record.time, record.transition_time, metadata)


def _earlier(
    instant: str, completion_time: str | None, metadata: ReplaceCommitMetadata
) -> EarlierCommit:
    extra = metadata.commit.extra_metadata
    return EarlierCommit(
        instant=instant,
        completion_time=completion_time,
        stats=tuple(metadata.commit.write_stats),
        replaced=metadata.partition_to_replaced_file_ids,
        ignored=_ignored(_json(extra.get(METRICS))),
        schema_changes=tuple(_json(extra.get(SCHEMA_CHANGES)) or ()),
    )


def _json(text: str | None) -> Any:
    """What a text of extra metadata says; None for what is none of ours."""
    with suppress(ValueError):
        return json.loads(text or "null")
    return None


def _ignored(stages: Any) -> int | None:
    """The rows that the stages of a write ignored, as its metrics tell."""
    if not isinstance(stages, dict) or "ignored" not in stages.get("write", {}):
        return None
    return sum(int(stage.get("ignored", 0)) for stage in stages.values())
