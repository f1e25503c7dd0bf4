"""Whether another writer took an instant for dead and has undone it, asked where it comes back.

A writer that was suspended may go on long after others gave it up. What it completes then would
name files that are gone, so it looks once more behind its commit, and takes it back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TypeVar

from pyhudi.errors import CorruptTableError, MissingFileError, StorageError
from pyhudi.timeline.active import ActiveTimeline, Seen
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.exclusion import Writer, undone_by_another
from pyhudi.transaction.heartbeat import Heartbeat

_LOOKS = 3
_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


def check_kept(
    writer: Writer,
    completed: Instant,
    requested: Instant,
    heartbeat: Heartbeat,
    undone_before: Collection[Instant] | None = None,
) -> Seen | None:
    """Take an instant back at once that was taken for dead since the last look.

    Whoever undoes it has planned that before it deletes a file, and takes the request away last. It
    is made pending rather than removed: without the oldest write of a timeline its files would be
    taken for those of an archived one. Gives the timeline as it was seen, None where
    it was not. ``undone_before`` is that of ``is_undone``.
    """
    active = writer.active
    try:
        seen = _asked_again(active.look)
        if not _asked_again(lambda: _is_undone(seen, requested, undone_before)):
            return seen
    except StorageError as failure:
        _log.warning("nobody knows whether %s was taken for dead: %s", completed.time, failure)
        return None
    try:
        active.revert(completed)
    except MissingFileError:
        _log.info("%s is pending again by others", completed.time)
    except StorageError:
        active.remove(completed)
    raise undone_by_another(writer, completed.time, heartbeat)


def is_undone(active: ActiveTimeline, requested: Instant) -> bool:
    """Whether another writer has undone an instant, or is about to."""
    return _is_undone(active.look(), requested, None)


def _is_undone(seen: Seen, requested: Instant, undone_before: Collection[Instant] | None) -> bool:
    """Whether an instant is undone, by what is seen of the timeline.

    The request of a plan stays when a run of it is undone. So the rollbacks tell, those that have
    ended too, but for those of earlier runs: ``undone_before``, which is None for a write.
    """
    active = seen.active
    for rollback in (found for found in seen.timeline if found.action is Action.ROLLBACK):
        if rollback.is_completed if undone_before is None else rollback in undone_before:
            continue
        try:
            target = active.read_rollback_plan(rollback).instant
        except MissingFileError:
            if undone_before is None:  # it has ended since
                return not active.is_requested(requested)
            continue  # it was withdrawn
        except CorruptTableError:  # it died before it had deleted anything, and is planned anew
            continue
        if target.time == requested.time:
            return True
    return all(file.instant != requested for file in seen.files)


def _asked_again(ask: Callable[[], _Answer]) -> _Answer:
    """What is asked, some times where there was no answer: the instant is completed."""
    for _ in range(_LOOKS - 1):
        with suppress(StorageError):
            return ask()
    return ask()
