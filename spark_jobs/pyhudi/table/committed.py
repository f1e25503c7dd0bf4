"""The commit that an earlier attempt of the same request made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.actions.commit import ReplaceCommitMetadata, WriteStat
from pyhudi.actions.json_text import pretty
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active
from pyhudi.timeline.timeline import Timeline

STAMP = IDEMPOTENCY_KEY.key


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCommit:
    """A completed instant, what it wrote, and the file ids it replaced by partition."""

    instant: str
    stats: tuple[WriteStat, ...]
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_committed(
    storage: Storage, version: TableVersion, timeline: Timeline, key: str
) -> EarlierCommit | None:
    """The completed commit whose extra metadata carries the key; the newest first.

    Guarantees: reads one small file for each completed write on the active timeline, until found.
    Not: does not look into the archived timeline.
    """
    for instant in reversed(timeline.write_instants().completed().instants):
        data = active.read_state(storage, version, instant)
        # Metadata can be large; most of it need not be parsed to see that the key is not in it.
        if pretty(key).encode() not in data:
            continue
        metadata = ReplaceCommitMetadata.from_bytes(data, where=instant.time)
        commit = metadata.commit
        if commit.extra_metadata.get(STAMP) == key:
            return EarlierCommit(
                instant=instant.time,
                stats=tuple(commit.write_stats),
                replaced=metadata.partition_to_replaced_file_ids,
            )
    return None
