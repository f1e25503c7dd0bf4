"""A table at a glance: what the names of its timeline and a few small files tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.writes import Told, told_by
from pyhudi.config.option import read_settings
from pyhudi.config.write import HeartbeatConfig
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.table import Table
from pyhudi.timeline.clock import Clock, instant_time
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.heartbeat import is_alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An instant that is not completed; ``is_alive`` when a writer shows that it is at work."""

    instant: Instant
    is_alive: bool

    @property
    def is_plan(self) -> bool:
        """Whether it waits for somebody to carry it out, rather than for its writer."""
        planned = (Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING)
        return self.instant.action in planned and not self.is_alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """A table at a glance; times in the digits of its zone.

    ``last_archive`` is when instants last left the timeline, None where none has.
    """

    name: str
    subject: str
    zone: str
    version: int
    is_merge_on_read: bool
    now: str
    instants: tuple[Instant, ...]
    pending: tuple[Pending, ...]
    last_write: Told | None
    last_clean: Instant | None
    last_archive: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Some instants with what they tell, the newest first.

    ``matching`` is how many there are of their kind, ``older`` the time before which more lie.
    """

    told: tuple[Told, ...]
    matching: int
    older: str | None


def glance(table: Table, clock: Clock) -> Glance:
    """What there is to say of a table without a look at its data files."""
    config, now_ms = table.config, clock.now_ms()
    completed = table.timeline.completed()
    writes = [each for each in completed if each.action.writes_rows]
    cleans = [each for each in completed if each.action is Action.CLEAN]
    last = told_by(table, writes[-1:])
    archive = ArchivedTimeline.of(table.storage, config).files()
    archived_ms = max((file.status.modified_ms for file in archive), default=None)
    return Glance(
        name=config.name,
        subject=subject_of(table),
        zone=zone_of(table),
        version=config.version.value,
        is_merge_on_read=config.table_type.value == "MERGE_ON_READ",
        now=instant_time(now_ms, config.timezone),
        instants=tuple(table.timeline),
        pending=pending(table, now_ms=now_ms),
        last_write=last[0] if last else None,
        last_clean=cleans[-1] if cleans else None,
        last_archive=None if archived_ms is None else instant_time(archived_ms, config.timezone),
    )


def pending(table: Table, *, now_ms: int) -> tuple[Pending, ...]:
    """The instants that are not completed, oldest first."""
    config = read_settings(HeartbeatConfig, {})
    return tuple(
        Pending(
            instant=each,
            is_alive=is_alive(table.storage, each.time, now_ms=now_ms, config=config),
        )
        for each in table.timeline.pending()
    )


def past(
    table: Table, count: int, *, before: str | None = None, actions: Sequence[str] = ()
) -> Past:
    """The newest so many instants of the timeline, before a time and of some actions where asked.

    Guarantees: reads the files of these instants alone.
    """
    asked = [each for each in table.timeline if not actions or each.action.value in actions]
    there = [each for each in asked if before is None or each.time < before]
    told = told_by(table, there[-count:])
    is_more = len(there) > count
    return Past(
        told=tuple(reversed(told)),
        matching=len(asked),
        older=there[-count].time if is_more else None,
    )


def written_between(table: Table, first: str, last: str) -> tuple[Told, ...]:
    """The completed writes that were requested from one time to another, oldest first."""
    writes = table.timeline.write_instants().completed()
    return tuple(told_by(table, [each for each in writes if first <= each.time <= last]))
