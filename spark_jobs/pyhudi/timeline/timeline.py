"""An immutable, ordered view of what happened to a table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pyhudi.timeline.instant import Action, Instant, State


@dataclass(frozen=True, slots=True)
class Timeline:
    """Instants, each in its latest state, ordered by time and action.

    ``is_committed`` answers for the whole timeline; the other questions give narrower timelines
    that can be asked further.
    """

    instants: tuple[Instant, ...] = ()

    @classmethod
    def of(cls, instants: Iterable[Instant]) -> Timeline:
        """The timeline of these instants; of several states of one the latest counts."""
        latest: dict[tuple[str, str], Instant] = {}
        for instant in instants:
            known = latest.get(instant.identity)
            if known is None or instant.state > known.state:
                latest[instant.identity] = instant
        return cls(tuple(latest[identity] for identity in sorted(latest)))

    def __iter__(self) -> Iterator[Instant]:
        return iter(self.instants)

    def __len__(self) -> int:
        return len(self.instants)

    @property
    def first(self) -> Instant | None:
        """The earliest instant."""
        return self.instants[0] if self.instants else None

    @property
    def last(self) -> Instant | None:
        """The latest instant."""
        return self.instants[-1] if self.instants else None

    @property
    def latest_time(self) -> str | None:
        """The latest time there is, completion times included; a new instant must be later."""
        times = [instant.completion_time or instant.time for instant in self.instants]
        return max(times, default=None)

    @property
    def last_completed(self) -> Instant | None:
        """The latest completed instant that writes rows."""
        return self.write_instants().completed().last

    def completed(self) -> Timeline:
        """The instants that are done."""
        return self._where(lambda instant: instant.is_completed)

    def pending(self) -> Timeline:
        """The instants that are not done."""
        return self._where(lambda instant: not instant.is_completed)

    def write_instants(self) -> Timeline:
        """The instants that write rows: commits, and the services that rewrite files."""
        return self._where(lambda instant: instant.action.writes_rows)

    def pending_writes(self) -> Timeline:
        """Writes that began and have not ended; planned compactions and clusterings are no writes.

        A log compaction that runs is one: it appends to log files that others append to.
        Clusterings of table version 6 are filed as replacecommits and are among them.

        Source: BaseHoodieTableServiceClient.getInstantsToRollback, Hudi 0.15.
        """
        services = (Action.COMPACTION, Action.CLUSTERING)
        return self._where(
            lambda instant: (
                instant.action.writes_rows
                and not instant.is_completed
                and instant.action not in services
                and not (
                    instant.action is Action.LOG_COMPACTION and instant.state is State.REQUESTED
                )
            )
        )

    def up_to(self, time: str) -> Timeline:
        """The instants requested at or before a time."""
        return self._where(lambda instant: instant.time <= time)

    def contains(self, time: str) -> bool:
        """Whether an instant was requested at that time."""
        return any(instant.time == time for instant in self.instants)

    @property
    def start(self) -> str:
        """The time of the first write that has none archived after it; empty without any.

        A savepoint keeps its commit from being archived with its neighbours. Where savepoints alone
        are left, as after a restore, what is not listed before them was archived as well.
        """
        saved = {instant.time for instant in self if instant.action is Action.SAVEPOINT}
        times = [instant.time for instant in self.write_instants()]
        return min((time for time in times if time not in saved), default=max(times, default=""))

    def is_committed(self, time: str) -> bool:
        """Whether what was written at that time belongs to the table.

        It does when the write is completed, or when it is older than every write that is still
        listed: then it was archived, which only completed instants are.

        Source: HoodieTimeline.containsOrBeforeTimelineStarts, Hudi 0.15 and 1.1.
        """
        return self.committed_test()(time)

    def committed_test(self) -> Callable[[str], bool]:
        """``is_committed`` as a function, for asking it of many files."""
        done = frozenset(each.time for each in self.write_instants() if each.is_completed)
        start = self.start
        return lambda time: time in done or time < start

    def completions(self) -> dict[str, str]:
        """When writes were completed, by the times they were requested; none in layout 1."""
        done = self.write_instants().completed()
        return {each.time: each.completion_time for each in done if each.completion_time}

    def after(self, saved: str) -> frozenset[Instant]:
        """The instants that are later than the write at a time, which a savepoint keeps.

        Source: RestorePlanActionExecutor, Hudi 0.15 and 1.1: in layout 2 what was completed later,
        where the names of both tell. Those of before an upgrade went by request, and when their
        files were written changes when a table is copied.
        """
        done = self.write_instants().completed()
        named = {each.time: each.completion_time for each in done if not each.is_unnamed}
        ended = named.get(saved)

        def is_later(instant: Instant) -> bool:
            is_named = instant.completion_time is not None and not instant.is_unnamed
            if ended is not None and is_named:
                return (instant.completion_time or "") > ended
            return instant.time > saved

        return frozenset(filter(is_later, self.instants))

    def completed_by(self, time: str) -> Timeline:
        """The timeline as it was then, in layout 2: what was completed later counts as pending."""

        def then(instant: Instant) -> Instant:
            is_later = instant.completion_time is not None and instant.completion_time > time
            return instant.in_state(State.INFLIGHT) if is_later else instant

        return Timeline(tuple(then(each) for each in self.instants))

    def goes_back_to(self, time: str) -> bool:
        """Whether no write since a time can have been archived."""
        return bool(self.start) and self.start <= time

    def _where(self, is_wanted: Callable[[Instant], bool]) -> Timeline:
        return Timeline(tuple(instant for instant in self.instants if is_wanted(instant)))
