"""Which commits of a table have been told of. Pure.

Writes are completed in another order than they were begun in, so that the newest that was told of
says nothing about those before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_pyhudi.watch.facts import CommitFacts
from pyhudi.config.instant_text import AskedInstant
from pyhudi.config.options.table import TimelineZone

LATE_MS = 600_000
"""By how much an instant may lie before others that are seen earlier: clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The commits that change rows at one look, oldest first, and what is to come.

    ``start`` is where the timeline begins, ``pending`` the earliest write that is not completed.
    ``by_completion`` says whether queries of the table go by when commits were completed.
    """

    commits: tuple[CommitFacts, ...]
    start: str
    pending: str | None
    zone: TimelineZone
    by_completion: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """All commits up to ``before`` have been told of, and of later ones those in ``told``."""

    before: str = ""
    told: frozenset[str] = frozenset()

    @classmethod
    def of(cls, glance: Glance) -> Watermark:
        """The mark of one who has been told of all that is there."""
        return cls().moved(glance)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Watermark:
        """The mark that ``to_json`` gave."""
        return cls(before=str(stored["before"]), told=frozenset(map(str, stored["told"])))

    def to_json(self) -> dict[str, Any]:
        """The mark as a store keeps it."""
        return {"before": self.before, "told": sorted(self.told)}

    def news(self, commits: Collection[CommitFacts]) -> list[CommitFacts]:
        """The commits that have not been told of."""
        return [
            each for each in commits if each.instant > self.before and each.instant not in self.told
        ]

    def has_gap(self, glance: Glance) -> bool:
        """Whether commits may have been archived since, of which nobody has been told."""
        return max(self.told, default=self.before) < glance.start

    def moved(self, glance: Glance) -> Watermark:
        """The mark after all commits of a glance have been told of."""
        times = [each.instant for each in glance.commits]
        newest = max(times, default="")
        late = "" if not newest else _earlier(newest, glance.zone)
        settled = [
            time for time in times if time <= late and (not glance.pending or time < glance.pending)
        ]
        before = max([self.before, *settled])
        return Watermark(before=before, told=frozenset(time for time in times if time > before))


def _earlier(time: str, zone: TimelineZone) -> str:
    from pyhudi.timeline.clock import instant_time

    return instant_time(AskedInstant(digits=time).moment_ms(zone) - LATE_MS, zone)
