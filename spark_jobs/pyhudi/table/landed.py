"""The commit that an earlier attempt of the same request made."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.actions.json_text import pretty
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active
from pyhudi.timeline.timeline import Timeline

STAMP = IDEMPOTENCY_KEY.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A completed instant and what it wrote."""

    instant: str
    stats: tuple[WriteStat, ...]


def find_landed(
    storage: Storage, version: TableVersion, timeline: Timeline, key: str
) -> Landed | None:
    """The completed commit whose extra metadata carries the key; the newest first.

    Guarantees: reads one small file for each completed write on the active timeline, until found.
    Not: does not look into the archived timeline.
    """
    for instant in reversed(timeline.write_instants().completed().instants):
        data = active.read_state(storage, version, instant)
        # Metadata can be large; most of it need not be parsed to see that the key is not in it.
        if pretty(key).encode() not in data:
            continue
        metadata = CommitMetadata.from_bytes(data, where=instant.time)
        if metadata.extra_metadata.get(STAMP) == key:
            return Landed(instant=instant.time, stats=tuple(metadata.write_stats))
    return None
