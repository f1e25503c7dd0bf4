"""The commit that an earlier attempt of the same request made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.actions.commit import WriteStat
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.timeline import Timeline

STAMP = IDEMPOTENCY_KEY.key


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCommit:
    """A completed instant, what it wrote, and the file ids it replaced by partition."""

    instant: str
    stats: tuple[WriteStat, ...]
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_committed(active: ActiveTimeline, timeline: Timeline, key: str) -> EarlierCommit | None:
    """The completed commit whose extra metadata carries the key; the newest first.

    Guarantees: reads one small file for each completed write on the active timeline, until found.
    Not: does not look into the archived timeline.
    """
    for instant in reversed(timeline.write_instants().completed().instants):
        metadata = active.read_commit_mentioning(instant, key)
        if metadata is not None and metadata.commit.extra_metadata.get(STAMP) == key:
            return EarlierCommit(
                instant=instant.time,
                stats=tuple(metadata.commit.write_stats),
                replaced=metadata.partition_to_replaced_file_ids,
            )
    return None
