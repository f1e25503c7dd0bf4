"""What an instant's file is called, and how its name is read. Pure.

::

    layout 1, in .hoodie/            20260102030405678.commit.requested    requested
                                     20260102030405678.inflight            inflight (of a commit)
                                     20260102030405678.commit              completed
    layout 2, in .hoodie/timeline/   the same, but completed
                                     20260102030405678_20260102030409999.commit

Source: HoodieInstant, Hudi 0.15; InstantFileNameGeneratorV2 and InstantGeneratorV2, Hudi 1.1.
"""

from __future__ import annotations

import re

from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.timeline.instant import Action, Instant, State

_NAME = re.compile(r"(\d+)(?:_(\d+))?\.([a-z]+)(?:\.([a-z]+))?")
_INFLIGHT = "inflight"
_PENDING = {"requested": State.REQUESTED, _INFLIGHT: State.INFLIGHT}
_ACTIONS = {action.value: action for action in Action}


def folder(version: TableVersion, name: str = "timeline") -> str:
    """The folder of the active timeline, which layout 2 has below this name."""
    is_first = version.timeline_layout is TimelineLayout.ONE
    return ".hoodie" if is_first else f".hoodie/{name}"


def file_name(instant: Instant, version: TableVersion) -> str:
    """The name of the file of an instant in its state."""
    time, action = instant.time, instant.action
    match instant.state:
        case State.REQUESTED:
            return f"{time}.{action.value}.requested"
        case State.INFLIGHT:
            # The inflight file of a commit was there first, and has kept its name without action.
            return f"{time}.{_INFLIGHT}" if action is Action.COMMIT else _inflight(instant)
        case State.COMPLETED:
            # Layout 2 has completed files without a second time too: those that were upgraded.
            has_end = version.timeline_layout is TimelineLayout.TWO and not instant.is_unnamed
            ended = f"_{instant.completion_time}" if has_end and instant.completion_time else ""
            return f"{time}{ended}.{action.completes_as.value}"


def parse_file_name(name: str, version: TableVersion) -> Instant | None:
    """The instant that a file of the timeline folder stands for; None for any other file."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    time, ended, word, suffix = found.groups()
    if ended is not None and version.timeline_layout is TimelineLayout.ONE:
        return None
    if word == _INFLIGHT and suffix is None:
        return Instant(time=time, action=Action.COMMIT, state=State.INFLIGHT)
    action = _ACTIONS.get(word)
    if action is None or (suffix is not None and suffix not in _PENDING):
        return None
    if suffix is not None:
        return Instant(time=time, action=action, state=_PENDING[suffix])
    return Instant(
        time=time,
        action=action,
        state=State.COMPLETED,
        completion_time=ended,
        is_unnamed=ended is None and version.timeline_layout is TimelineLayout.TWO,
    )


def _inflight(instant: Instant) -> str:
    return f"{instant.time}.{instant.action.value}.{_INFLIGHT}"
