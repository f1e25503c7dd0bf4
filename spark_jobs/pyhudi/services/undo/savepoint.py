"""Create and delete savepoints: a write's instant and files that no service takes away.

Nobody has to stop for it. Who cleans, archives, rolls back or restores looks at savepoints after
saying so on the timeline or in the archive, and who makes a savepoint looks there after making it:
one of the two sees the other.

Source: SavepointActionExecutor and SavepointHelpers, Hudi 0.15.
"""

from __future__ import annotations

import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.errors import (
    AlreadyExistsError,
    ConflictError,
    MissingFileError,
    RequestError,
    WriterAtWorkError,
)
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.filegroup.slices import FileSlice
from pyhudi.read.retention import retained_by
from pyhudi.services.rollback import rollback_target
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.savepoints import pending_restores, without_later
from pyhudi.table.table import Table
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.appended import is_own_log
from pyhudi.transaction.exclusion import check_timeline_counts
from pyhudi.transaction.instant_run import complete_instant
from pyhudi.transaction.markers import read_markers

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Who makes a savepoint, and what for."""

    user: str
    comment: str


def create_savepoint(table: Table, clock: Clock, instant: str, note: Note) -> SavepointMetadata:
    """Keep the files of the table as of a completed write.

    Raises:
        RequestError: there is no such write, or some of its files may have been cleaned, or a
            compaction is about to take the place of others.
        ConflictError: others took the write back, or cleaned, meanwhile.
        AlreadyExistsError: it has a savepoint.
    """
    files = files_to_save(table, instant)
    metadata = SavepointMetadata(
        user=note.user, created_ms=clock.now_ms(), comment=note.comment, files=files
    )
    saved, active = _savepoint(instant), table.active
    # Without an inflight file first there is none to be left behind by who dies between the two.
    completed = complete_instant(active, saved, metadata, clock)
    try:
        now = table.refresh()
        _check(now, instant)
        check_timeline_counts(table, now.config)
    except (RequestError, WriterAtWorkError) as reason:
        active.remove(completed)
        raise ConflictError(f"the table changed meanwhile: {reason}; retry") from reason
    with contextlib.suppress(AlreadyExistsError):
        active.start(saved, None)
    if completed not in active.load().instants:
        # Somebody has deleted it already.
        active.remove(saved)
    _log.info("%s: savepoint %s of %s", table.config.name, instant, note.user or "nobody")
    return metadata


def files_to_save(table: Table, instant: str) -> dict[str, tuple[str, ...]]:
    """The names of the files that a savepoint of a write would keep, by partition.

    Raises:
        RequestError: as ``create_savepoint``.
        ConflictError: others took the write back, or cleaned, meanwhile.
    """
    _check(table, instant)
    try:
        return _files_at(table, instant)
    except MissingFileError as gone:
        raise ConflictError(f"the table changed meanwhile: {gone}") from gone


def check_deletable(table: Table, instant: str) -> None:
    """Refuse to delete the savepoint to which a table is being restored.

    Raises:
        RequestError: it is the one.
    """
    active = table.active
    for pending in pending_restores(active.load()):
        if active.read_restore_plan(pending).savepoint == instant:
            raise RequestError(
                f"restore {pending.time} to savepoint {instant} has not ended; run it again first",
                where=table.storage.uri,
            )


def delete_savepoint(table: Table, instant: str) -> bool:
    """Give the files of a savepoint up; False when there is none.

    Raises:
        RequestError: the table is being restored to it.
    """
    check_deletable(table, instant)
    active, saved = table.active, _savepoint(instant)
    done = [each for each in table.timeline.completed() if each.identity == saved.identity]
    for state in (State.INFLIGHT, State.REQUESTED):
        active.remove(saved.in_state(state))
    for each in done or (saved.in_state(State.COMPLETED),):
        active.remove(each)
    active.forget_ending(saved)
    return bool(done)


def _savepoint(instant: str) -> Instant:
    return Instant(time=instant, action=Action.SAVEPOINT, state=State.INFLIGHT)


def _check(table: Table, instant: str) -> None:
    reason = _why_not(table, instant)
    if reason is not None:
        raise RequestError(f"no savepoint of {instant}: {reason}", where=table.storage.uri)


def _why_not(table: Table, instant: str) -> str | None:
    active, timeline = table.active, table.timeline
    if not timeline.write_instants().completed().contains(instant):
        return "no completed write has this instant"
    if instant in ArchivedTimeline.of(table.storage, table.config).writes_since(instant):
        return "it is about to leave the timeline, and is archived by now"
    for found in timeline.pending():
        if found.action is Action.RESTORE:
            return f"restore {found.time} has not ended"
        target = rollback_target(active, found)
        if target is not None and target.time == instant:
            return f"rollback {found.time} undoes it"
        if found.action is Action.COMPACTION and found.time < instant:
            return (
                f"compaction {found.time} was planned before it and has not run, and the savepoint "
                "would not keep the files that it will make; run or unschedule it first"
            )
    return _why_cleaned(table, instant)


def _why_cleaned(table: Table, instant: str) -> str | None:
    """Why files of the table as of a write may be gone, or go when a planned clean is carried out.

    Source: SavepointActionExecutor.execute, Hudi 0.15, which looks at the last clean alone.
    """
    for clean in table.timeline:
        earliest = retained_by(table, clean) if clean.action is Action.CLEAN else None
        if earliest is not None and instant < earliest:
            return f"clean {clean.time} keeps the files of {earliest} and later alone"
    return None


def _files_at(table: Table, instant: str) -> dict[str, tuple[str, ...]]:
    """The names of the files that make up the table as of a write, by partition."""
    names: dict[str, list[str]] = defaultdict(list, {each: [] for each in table.partitions()})
    for found in _slices_at(table, instant):
        if found.base_file is not None:
            names[found.partition].append(found.base_file.name)
        names[found.partition].extend(str(log.name) for log in found.log_files)
    return {partition: tuple(found) for partition, found in names.items()}


def _slices_at(table: Table, instant: str) -> Iterable[FileSlice]:
    """The file slices that a restore to a write leaves.

    Where log files name their write, those of later ones are deleted by it. Else blocks of these
    are taken back, and the files that have them stay.
    """
    if table.config.version.logs_name_their_write:
        restored = replace(table, timeline=without_later(table.timeline, instant))
        return restored.latest_slices()
    slices, later = table.latest_slices(as_of=instant), _logs_of_later(table, instant)
    return (
        replace(found, log_files=tuple(log for log in found.log_files if log.path not in later))
        for found in slices
    )


def _logs_of_later(table: Table, instant: str) -> set[str]:
    """Log files that later writes have made alone, and delete where they do not complete.

    To be asked where names of log files do not tell their write.
    """
    pending = table.active.load().pending_writes()
    return {
        file.path
        for write in pending
        if write.time > instant
        for file in read_markers(table.storage, write.time)
        if parse_log_file_name(file.path.rpartition("/")[2]) is not None
        # What is gone has been deleted since the table was listed.
        if is_own_log(table.storage, file.path, write.time) or not table.storage.exists(file.path)
    }
