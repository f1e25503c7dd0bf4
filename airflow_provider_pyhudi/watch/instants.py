"""Waiting for an instant: after a time, of an action, on a partition, by a run, of an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any

from airflow_provider_pyhudi.watch.facts import CommitFacts
from airflow_provider_pyhudi.watch.spans import Span, parse_moment, reached, span_of
from airflow_provider_pyhudi.watch.table import Look, TableView
from pyhudi.config.instant_text import AskedInstant, parse_exact_instant, parse_instant
from pyhudi.errors import OptionError
from pyhudi.timeline.instant import Action

WRITE_ACTIONS = ("commit", "deltacommit", "replacecommit")
ARGUMENTS = (
    "instant",
    "after",
    "actions",
    "partition",
    "written_by_dag",
    "written_by_run",
    "interval_start",
    "interval_end",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantQuestion:
    """The newest completed instant that fits all that is asked.

    With an interval it is the newest of those whose data intervals cover it together.
    ``exact_text`` and ``after_text`` are for logs.
    """

    exact: AskedInstant | None = None
    after: AskedInstant | None = None
    actions: frozenset[Action]
    partitions: tuple[str, ...] = ()
    written_by_dag: str | None = None
    written_by_run: str | None = None
    interval: Span | None = None
    exact_text: str = ""
    after_text: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> InstantQuestion:
        """The question that the arguments of a sensor ask; absent ones ask for nothing.

        Raises:
            OptionError: one of them cannot be understood, or they do not go together.
        """
        instant, after = given.get("instant") or None, given.get("after") or None
        actions = known_actions(given.get("actions") or WRITE_ACTIONS)
        partitions = _texts(given.get("partition"))
        written_by_dag, written_by_run = (
            given.get("written_by_dag") or None,
            given.get("written_by_run") or None,
        )
        interval = _interval(given.get("interval_start"), given.get("interval_end"))
        is_told_by_commits = bool(partitions or written_by_dag or written_by_run or interval)
        others = sorted(each.value for each in actions if each.value not in WRITE_ACTIONS)
        if is_told_by_commits and others:
            raise OptionError(
                f"actions has {', '.join(others)}, of which no partition, run or interval is known;"
                f" with these conditions it takes {', '.join(WRITE_ACTIONS)}"
            )
        return cls(
            exact=parse_exact_instant(instant) if instant else None,
            after=parse_instant(after) if after else None,
            actions=actions,
            partitions=partitions,
            written_by_dag=written_by_dag,
            written_by_run=written_by_run,
            interval=interval,
            exact_text=str(instant or ""),
            after_text=str(after or ""),
        )

    def answer(self, view: TableView) -> Look:
        """The newest that fits; one that is asked for exactly also when it was archived."""
        timeline, zone = view.timeline, view.table.config.timezone
        exact = self.exact.on(zone) if self.exact else None
        after = self.after.on(zone) if self.after else None
        if exact is not None and not timeline.contains(exact) and timeline.is_committed(exact):
            return Look(found=exact, seen=f"{exact} is in the archive of {view.where}")
        completed = [each.time for each in timeline.completed() if each.action in self.actions]
        fitting = [time for time in completed if time > (after or "") and exact in (None, time)]
        if self._is_told_by_commits:
            fitting = self._told(view, fitting, after)
        return Look(
            found=max(fitting, default=None), seen=f"{self._seen(view, completed)}{self.waiting()}"
        )

    def waiting(self) -> str:
        """What is wanted, behind what was seen."""
        if self.exact_text:
            return f"; waiting for {self.exact_text}"
        conditions = [
            f"after {self.after_text}" if self.after_text else "",
            f"in partition {', '.join(self.partitions)}" if self.partitions else "",
            f"of the DAG {self.written_by_dag}" if self.written_by_dag else "",
            f"of the run {self.written_by_run}" if self.written_by_run else "",
            f"of {self.interval.begin} to {self.interval.end}" if self.interval else "",
        ]
        told = " ".join(filter(None, conditions))
        return f"; waiting for one {told}" if told else "; waiting for the first"

    @property
    def _is_told_by_commits(self) -> bool:
        return bool(self.partitions or self.written_by_dag or self.written_by_run or self.interval)

    def _told(self, view: TableView, fitting: list[str], after: str | None) -> list[str]:
        actions = {each.value for each in self.actions}
        found = [each for each in view.facts(frozenset(fitting)) if self._fits(each)]
        if self._is_met(found):
            return [each.instant for each in found]
        since = self._since(view, after)
        if since is None:
            return []
        older = (each for each in view.archived_facts(since) if each.instant > (after or ""))
        found += [each for each in older if each.action in actions and self._fits(each)]
        return [each.instant for each in found] if self._is_met(found) else []

    def _fits(self, told: CommitFacts) -> bool:
        stamp, span = told.stamp, self.interval
        own = span_of(stamp) if span else None
        return (
            self.written_by_dag in (None, stamp.get("airflow.dag_id"))
            and self.written_by_run in (None, stamp.get("airflow.run_id"))
            and (not self.partitions or self._touches(told.partitions))
            and (
                span is None or (own is not None and own.begin < span.end and own.end > span.begin)
            )
        )

    def _touches(self, paths: Sequence[str]) -> bool:
        return any(
            any(fnmatchcase(path, each) for path in paths) if "*" in each else each in paths
            for each in self.partitions
        )

    def _is_met(self, found: Sequence[CommitFacts]) -> bool:
        if self.interval is None:
            return bool(found)
        spans = (span_of(each.stamp) for each in found)
        end = reached((each for each in spans if each is not None), self.interval.begin)
        return end >= self.interval.end

    def _since(self, view: TableView, after: str | None) -> str | None:
        """From when on archived commits may fit; None where no time is known."""
        if after is not None or self.interval is None:
            return after
        # What holds an interval was written after the interval began.
        begin = parse_instant(self.interval.begin)
        return begin.on(view.table.config.timezone)

    def _seen(self, view: TableView, completed: Sequence[str]) -> str:
        newest = max(completed, default=None)
        names = ", ".join(sorted(action.value for action in self.actions))
        seen = (
            f"the newest instant of {view.where} is {newest}"
            if newest
            else f"{view.where} has no completed instant yet ({names})"
        )
        pending = view.timeline.pending().write_instants().last
        if pending is None:
            return seen
        return f"{seen}, {pending.action.value} {pending.time} is {pending.state.name.lower()}"


def known_actions(names: Sequence[str] | str) -> frozenset[Action]:
    """The actions of these names.

    Raises:
        OptionError: a timeline has no such action.
    """
    known = {action.value: action for action in Action}
    given = _texts(names)
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise OptionError(
            f"actions has {', '.join(unknown)}; a timeline has {', '.join(sorted(known))}"
        )
    return frozenset(known[name] for name in given)


def _texts(given: Sequence[str] | str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _interval(
    begin: str | datetime | date | None, end: str | datetime | date | None
) -> Span | None:
    if not begin and not end:
        return None
    if not begin or not end:
        raise OptionError("interval_start and interval_end go together; one of them is missing")
    span = Span(begin=parse_moment(begin, "interval_start"), end=parse_moment(end, "interval_end"))
    if span.begin >= span.end:
        raise OptionError(f"the interval from {begin} to {end} has no length")
    return span
