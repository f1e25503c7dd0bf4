"""The commit that an earlier attempt of the same request made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyhudi.actions.commit import WriteStat
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.timeline import Timeline

STAMP = IDEMPOTENCY_KEY.key
METRICS = "pyhudi.metrics"
"""The key of a commit's extra metadata that holds what its stages took, as JSON."""
SCHEMA_CHANGES = "pyhudi.schema.changes"
"""The key under which a commit that changes the table's schema says how, a JSON list of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCommit:
    """A completed instant, what it wrote, and the file ids it replaced by partition.

    ``ignored`` counts rows that the stored ones outlasted, None where that is not known.
    """

    instant: str
    stats: tuple[WriteStat, ...]
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: int | None = None
    schema_changes: tuple[str, ...] = ()


def find_committed(active: ActiveTimeline, timeline: Timeline, key: str) -> EarlierCommit | None:
    """The completed commit whose extra metadata carries the key; the newest first.

    Guarantees: reads one small file for each completed write on the active timeline, until found.
    Not: does not look into the archived timeline.
    """
    for instant in reversed(timeline.write_instants().completed().instants):
        metadata = active.read_commit_mentioning(instant, key)
        if metadata is not None and metadata.commit.extra_metadata.get(STAMP) == key:
            extra = metadata.commit.extra_metadata
            return EarlierCommit(
                instant=instant.time,
                stats=tuple(metadata.commit.write_stats),
                replaced=metadata.partition_to_replaced_file_ids,
                ignored=_ignored(_json(extra.get(METRICS))),
                schema_changes=tuple(_json(extra.get(SCHEMA_CHANGES)) or ()),
            )
    return None


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
