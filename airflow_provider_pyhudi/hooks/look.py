"""One look at a timeline: the instant that fits, and what there is to see meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi.timeline.instant import Action
    from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found, None while nothing fits, and what was seen, in words."""

    found: str | None
    seen: str


def look_at(
    timeline: Timeline,
    where: str,
    *,
    exact: str | None,
    after: str | None,
    actions: Collection[Action],
) -> Look:
    """The newest completed instant of these actions that fits; times in digits.

    One that is asked for exactly also fits when it has left the timeline.
    """
    if exact is not None and not timeline.contains(exact) and timeline.is_committed(exact):
        return Look(found=exact, seen=f"{exact} is in the archive of {where}")
    completed = [each.time for each in timeline.completed() if each.action in actions]
    newest = max(completed, default=None)
    fitting = [
        time for time in completed if time > (after or "") and (exact is None or time == exact)
    ]
    names = ", ".join(sorted(action.value for action in actions))
    seen = (
        f"the newest instant of {where} is {newest}"
        if newest
        else f"{where} has no completed instant yet ({names})"
    )
    pending = timeline.pending().write_instants().last
    if pending is not None:
        seen += f", {pending.action.value} {pending.time} is {pending.state.name.lower()}"
    return Look(found=max(fitting, default=None), seen=f"{seen}{waiting_words(exact, after)}")


def deadline_words(until: str | None) -> str:
    """What goes behind a look that is not the last one: when the waiting ends, if it is known."""
    return f" until {until}" if until else ""


def waiting_words(exact: str | date | None, after: str | date | None) -> str:
    """What goes behind what was seen: what is wanted instead."""
    if exact:
        return f"; waiting for {exact}"
    return f"; waiting for one after {after}" if after else "; waiting for the first"
