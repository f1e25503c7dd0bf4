"""Waiting for a partition: that it exists, is fresh, or is complete up to a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_pyhudi.watch.facts import CommitFacts
from airflow_provider_pyhudi.watch.spans import parse_moment, reached, span_of
from airflow_provider_pyhudi.watch.table import Look, TableView
from pyhudi.config.instant_text import AskedInstant, parse_instant
from pyhudi.errors import OptionError

ARGUMENTS = ("partition", "fresher_than", "complete_from", "complete_up_to")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionQuestion:
    """Whether a partition has files, and all else that is asked of it.

    ``partition`` is its path, empty for a table without partitions. ``fresher_than`` is a time
    since which it was written to, ``age_s`` how many seconds ago at most. The data intervals of the
    table's commits must go on without a gap up to ``complete_up_to``, from ``complete_from`` or
    from the first that is known.
    """

    partition: str
    fresher_than: AskedInstant | None = None
    age_s: float | None = None
    complete_from: datetime | None = None
    complete_up_to: datetime | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> PartitionQuestion:
        """The question that the arguments of a sensor ask; absent ones ask for nothing.

        Raises:
            OptionError: one of them cannot be understood.
        """
        fresher, begin, end = (given.get(name) for name in ARGUMENTS[1:])
        if begin and not end:
            raise OptionError("complete_from is given without complete_up_to")
        age_s = _age(fresher)
        since = parse_instant(fresher) if fresher and age_s is None else None
        return cls(
            partition=(given.get("partition") or "").strip("/"),
            fresher_than=since,
            age_s=age_s,
            complete_from=parse_moment(begin, "complete_from") if begin else None,
            complete_up_to=parse_moment(end, "complete_up_to") if end else None,
        )

    def answer(self, view: TableView) -> Look:
        """The newest write to the partition, once all holds that is asked."""
        told = [each for each in view.facts() if each.changes_rows]
        lacking = self._lacking_of_the_table(view, told)
        if lacking is None:
            slices = view.slices(self.partition)
            lacking = None if slices else "has no files yet"
            newest = self._newest(view, told)
            if slices and self._is_stale(view, newest):
                lacking = f"was last written at {newest}"
            if lacking is None:
                return Look(found=newest, seen=f"{self._name(view)} was written at {newest}")
        return Look(found=None, seen=f"{self._name(view)} {lacking}{self.waiting()}")

    def waiting(self) -> str:
        """What is wanted, behind what was seen."""
        if self.age_s is not None:
            return f"; waiting for a write of the last {self.age_s:g} s"
        if self.fresher_than is not None:
            return f"; waiting for a write after {self.fresher_than.digits}"
        return f"; waiting for data up to {self.complete_up_to}" if self.complete_up_to else ""

    def _name(self, view: TableView) -> str:
        return f"the partition {self.partition} of {view.where}" if self.partition else view.where

    def _lacking_of_the_table(self, view: TableView, told: list[CommitFacts]) -> str | None:
        """What its commits lack, whatever partition they touch: an interval may have no rows."""
        end = self.complete_up_to
        if end is None:
            return None
        found = list(told)
        if self.complete_from is not None:
            since = parse_instant(self.complete_from).on(view.table.config.timezone)
            found += [each for each in view.archived_facts(since) if each.changes_rows]
        spans = [span for each in found if (span := span_of(each.stamp)) is not None]
        begin = self.complete_from or min((span.begin for span in spans), default=None)
        if begin is None:
            return "has no commit with a data interval yet"
        so_far = reached(spans, begin)
        return None if so_far >= end else f"has the data up to {so_far}"

    def _newest(self, view: TableView, told: list[CommitFacts]) -> str:
        """The last write to the partition; by its base files where that was archived."""
        touched = [each.instant for each in told if self.partition in each.partitions]
        if touched:
            return max(touched)
        start = view.timeline.start
        base = (each.base_instant for each in view.slices(self.partition))
        return max((time for time in base if time < start), default="")

    def _is_stale(self, view: TableView, newest: str) -> bool:
        from pyhudi.timeline.clock import SystemClock, instant_time

        zone = view.table.config.timezone
        if self.age_s is not None:
            return newest < instant_time(SystemClock().now_ms() - int(self.age_s * 1000), zone)
        return self.fresher_than is not None and newest < self.fresher_than.on(zone)


def _age(given: Any) -> float | None:
    """The seconds of a span of time; None for what is none."""
    if isinstance(given, timedelta):
        return given.total_seconds()
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return float(given) if is_number else None
