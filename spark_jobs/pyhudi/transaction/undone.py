"""Whether another writer took an instant for dead and has undone it, asked where it comes back.

A writer that was suspended may go on long after others gave it up. What it completes then would
name files that are gone, so it looks once more behind its commit, and takes it back.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from pyhudi.errors import CorruptTableError, MissingFileError, StorageError
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer, undone_by_another

_LOOKS = 3
_log = logging.getLogger(__name__)


def check_kept(writer: Writer, completed: Instant, requested: Instant) -> None:
    """Take an instant back at once that was taken for dead since the last look.

    Whoever undoes it has planned that before it deletes a file, and takes the request away last. It
    is made pending rather than removed: without the oldest write of a timeline its files would be
    taken for those of an archived one.
    """
    try:
        if not _was_undone(writer.active, requested):
            return
    except StorageError as failure:
        _log.warning("nobody knows whether %s was taken for dead: %s", completed.time, failure)
        return
    try:
        writer.active.revert(completed)
    except MissingFileError:
        _log.info("%s is pending again by others", completed.time)
    except StorageError:
        writer.active.remove(completed)
    raise undone_by_another(writer, completed.time)


def is_undone(active: ActiveTimeline, requested: Instant) -> bool:
    """Whether another writer has undone an instant, or is about to."""
    states = [file.instant for file in active.state_files()]
    pending = Timeline.of(states).pending()
    for rollback in (found for found in pending if found.action is Action.ROLLBACK):
        try:
            target = active.read_rollback_plan(rollback).instant
        except MissingFileError:  # it has ended since
            return not active.is_requested(requested)
        except CorruptTableError:  # it died before it had deleted anything, and is planned anew
            continue
        if target.time == requested.time:
            return True
    return requested not in states


def _was_undone(active: ActiveTimeline, requested: Instant) -> bool:
    """As ``is_undone``, asked again where there was no answer: the instant is completed."""
    for _ in range(_LOOKS - 1):
        with suppress(StorageError):
            return is_undone(active, requested)
    return is_undone(active, requested)
