"""When what happened to a table: instants as marks on lanes of time. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from pyhudi.timeline.instant import Instant

_ORDER = (
    "commit",
    "deltacommit",
    "replacecommit",
    "compaction",
    "logcompaction",
    "clustering",
    "indexing",
    "clean",
    "rollback",
    "restore",
    "savepoint",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Instants of one action that lie close together.

    Units: ``at`` is a part of the lane's length, from 0 to 1. ``first`` and ``last`` are instants.
    """

    at: float
    count: int
    pending: int
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The marks of one action, in the order of time, and how many instants they stand for."""

    action: str
    marks: tuple[Mark, ...]
    count: int


def lanes(instants: Sequence[Instant], *, marks: int) -> tuple[Lane, ...]:
    """The instants of each action over the time of all of them, in no more marks than asked for."""
    if not instants:
        return ()
    times = [seconds_of(each.time) for each in instants]
    first, span = min(times), max(times) - min(times)
    by_action: dict[str, dict[int, list[Instant]]] = defaultdict(lambda: defaultdict(list))
    for instant, time in zip(instants, times, strict=True):
        place = int((time - first) / span * (marks - 1)) if span else 0
        by_action[instant.action.value][place].append(instant)
    return tuple(
        Lane(
            action=action,
            marks=tuple(
                _mark(own, place / max(marks - 1, 1)) for place, own in sorted(places.items())
            ),
            count=sum(map(len, places.values())),
        )
        for action, places in sorted(by_action.items(), key=lambda each: _ORDER.index(each[0]))
    )


def seconds_of(instant: str) -> float:
    """The digits of an instant as seconds; only differences within one zone mean something."""
    parts = (instant[:4], *(instant[at : at + 2] for at in range(4, 14, 2)))
    try:
        year, month, day, hour, minute, second = (int(part) for part in parts)
        begin = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        # The instants of bootstraps are made up: 00000000000001.
        return 0.0
    return begin.timestamp() + int(instant[14:17] or 0) / 1000


def _mark(own: Iterable[Instant], at: float) -> Mark:
    found = sorted(own, key=lambda each: each.identity)
    return Mark(
        at=round(at, 4),
        count=len(found),
        pending=sum(not each.is_completed for each in found),
        first=found[0].time,
        last=found[-1].time,
    )
