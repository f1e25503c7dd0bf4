"""The instants of a table from one layout of the timeline to the other: which file becomes which.

Source: SevenToEightUpgradeHandler and EightToSevenDowngradeHandler, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyhudi.actions.version_bodies import body_in
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import located
from pyhudi.timeline.active import ActiveTimeline, StateFile
from pyhudi.timeline.instant import Action, Instant


def copy_instants(
    old: ActiveTimeline,
    new: ActiveTimeline,
    files: Iterable[StateFile],
    following: Mapping[str, str],
) -> None:
    """Copy files of instants; one that is there already is replaced.

    ``following`` is as for ``ended_before``.

    Raises:
        CorruptTableError: what a write says cannot be read.
        MissingFileError: an instant is gone since it was listed.
    """
    layout = new.version.timeline_layout
    for file in files:
        instant, body = file.instant, old.read_body(file.instant)
        with located(old.where(instant)):
            told = body_in(layout, instant.action.value, instant.state.name, body)
        new.put_body(_in_layout(layout, old, file, following), told)


def remove_instants(active: ActiveTimeline, but: str = "") -> None:
    """Delete the files of all instants but one, the latest first.

    Whoever lists the timeline meanwhile, and does not know yet that another counts, finds the table
    as it was earlier.
    """
    files = [file for file in active.state_files() if file.instant.time != but]
    for file in reversed(files):
        active.remove_file(file)


def ended_before(ended: str, time: str, following: Mapping[str, str]) -> str:
    """When an instant was completed, which is not before it was requested.

    Nor is it after what follows began, where that is known: a slice of a file group whose log files
    name the instant. Files that were copied tell when that was, and the log files would lie on top
    of a slice that has been made of them.
    """
    is_copied = time in following and ended >= following[time]
    return time if is_copied else max(ended, time)


def _in_layout(
    layout: TimelineLayout, old: ActiveTimeline, file: StateFile, following: Mapping[str, str]
) -> Instant:
    instant, ended = file.instant, None
    if instant.is_completed:
        # Where layout 1 does not say when that was, its file does.
        if layout is TimelineLayout.TWO:
            ended = ended_before(file.written, instant.time, following)
        return Instant(
            time=instant.time, action=instant.action, state=instant.state, completion_time=ended
        )
    action = instant.action
    if layout is TimelineLayout.ONE and action is Action.CLUSTERING:
        action = Action.REPLACE_COMMIT
    if layout is TimelineLayout.TWO and old.clustered_groups(instant) is not None:
        action = Action.CLUSTERING
    return Instant(time=instant.time, action=action, state=instant.state)
