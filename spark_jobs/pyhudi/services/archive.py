"""Move instants from the timeline to the archive.

::

    plan ── records ──▶ archive file created ── requested and inflight files deleted
                                             ── completed files deleted, oldest first

An archiver that died is gone on from by the next: what is in the archive already is not written
again, and only deleted. Of several at once one creates the archive file; the others look again.
In layout 2 the archive is a history, see ``archive_history``.

Source: HoodieTimelineArchiver, Hudi 0.15; TimelineArchiverV1 and V2, Hudi 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyhudi.actions.archived import ArchivedFile, CleanBounds
from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError, located
from pyhudi.services.archive_history import KeptInHistory, keep_in_history, tidy_history
from pyhudi.services.archive_plan import ArchiveBounds, plan_archive
from pyhudi.services.recovery import sweep
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.metadata_table import last_compaction
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline, StateFile
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer

# What one archive file holds at most, so that what is in memory is bounded.
_MOST_BYTES = 32 << 20
_TRIES = 10
_log = logging.getLogger(__name__)

RemoveFiles = Callable[[Sequence[StateFile]], None]
"""Deletes files of pending states, in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What left the timeline: instants, oldest first, and how many of their files.

    ``bytes_written`` is the size of the archive files that were made.
    """

    instants: tuple[Instant, ...] = ()
    files: int = 0
    archives: int = 0
    bytes_written: int = 0

    def __add__(self, other: Archived) -> Archived:
        return Archived(
            instants=(*self.instants, *other.instants),
            files=self.files + other.files,
            archives=self.archives + other.archives,
            bytes_written=self.bytes_written + other.bytes_written,
        )


def find_archivable(table: Table, config: ArchiveConfig) -> tuple[Instant, ...]:
    """The instants that would be archived now, oldest first."""
    if len(table.timeline) <= config.most_commits:
        return ()
    return plan_archive(table.timeline, config, _bounds(table))


def archive(writer: Writer, config: ArchiveConfig, remove: RemoveFiles) -> Archived:
    """Archive the instants that the timeline has too many of.

    Other writers may be at work: what they need stays. Where they go on beside each other, none
    begins or commits meanwhile.

    Raises:
        CorruptTableError: a file of an instant that cannot be read.
        StorageError: the storage failed; whoever archives next goes on from there.
    Guarantees: each instant is on the timeline or in the archive at any time. An instant that is
        completed is never seen pending, and none is missing between two that are there.
    """
    if not writer.gate.is_shared or find_archivable(writer.table.refresh(), config):
        with writer.gate.hold():
            return _archive_all(writer, config, remove)
    return Archived()


def _archive_all(writer: Writer, config: ArchiveConfig, remove: RemoveFiles) -> Archived:
    done = Archived()
    for _ in range(_TRIES):
        table = writer.table.refresh()
        chosen = find_archivable(table, config)
        if not chosen:
            return done
        sweep(writer)
        try:
            for part in _parts(_files_of(table.active, chosen)):
                moved = _archive(table, config, part, remove)
                if moved is None:
                    break
                done += moved
        except (AlreadyExistsError, MissingFileError):
            _log.info("%s: another job archives as well", table.storage.uri)
    return done


def _kept(timeline: Timeline) -> frozenset[Instant]:
    """The instants that keep others on the timeline, and that may be made at any time."""
    return frozenset(each for each in timeline if each.action in (Action.SAVEPOINT, Action.RESTORE))


def _bounds(table: Table) -> ArchiveBounds:
    cleans = [each for each in table.timeline.completed() if each.action is Action.CLEAN]
    return ArchiveBounds(
        table_type=table.config.table_type,
        last_clean=_clean_bounds(table, cleans[-1]) if cleans and _replaces(table) else None,
        before=last_compaction(table.storage, table.config),
        is_layered=table.config.version.timeline_layout is TimelineLayout.TWO,
    )


def _replaces(table: Table) -> bool:
    return any(each.action.completes_as is Action.REPLACE_COMMIT for each in table.timeline)


def _clean_bounds(table: Table, clean: Instant) -> CleanBounds | None:
    try:
        with located(f"{table.storage.uri} at {clean.time}"):
            return CleanBounds.from_plan(table.active.read_body(clean.in_state(State.REQUESTED)))
    except MissingFileError:
        # What it took away is not known: all that was replaced may be there.
        return None


def _files_of(active: ActiveTimeline, chosen: Sequence[Instant]) -> list[StateFile]:
    wanted = {each.identity for each in chosen}
    return [file for file in active.state_files() if file.instant.identity in wanted]


def _parts(files: Sequence[StateFile]) -> Iterator[list[StateFile]]:
    """Files in their order, cut between instants into what one archive file is made of."""
    part: list[StateFile] = []
    size = 0
    for file in files:
        is_next = bool(part) and part[-1].instant.identity != file.instant.identity
        if is_next and size + file.size_bytes > _MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(file)
        size += file.size_bytes
    if part:
        yield part


def _archive(
    table: Table, config: ArchiveConfig, files: Sequence[StateFile], remove: RemoveFiles
) -> Archived | None:
    """Archive the instants of these files; None when a savepoint or restore came in between."""
    kept: KeptInHistory | None = None
    if table.config.version.timeline_layout is TimelineLayout.TWO:
        kept = keep_in_history(table, files, fails_on_unreadable=config.fails_on_unreadable)
        archives, size = kept.archives, kept.bytes_written
    else:
        archives, size = _keep(table, config, files)
    if _kept(table.active.load()) != _kept(table.timeline):
        return None
    completed = [file for file in files if file.instant.is_completed]
    remove([file for file in files if not file.instant.is_completed])
    for file in completed:
        table.active.remove_file(file)
    if kept is not None:
        tidy_history(table, kept, {file.instant.time for file in files})
    return Archived(
        instants=tuple(file.instant for file in completed),
        files=len(files),
        archives=archives,
        bytes_written=size,
    )


def _keep(table: Table, config: ArchiveConfig, files: Sequence[StateFile]) -> tuple[int, int]:
    """Put what these files say into a new archive file; how many were made, and their bytes."""
    archived = ArchivedTimeline.of(table.storage, table.config)
    number, known = _known(archived, files)
    records = [
        record
        for file in files
        if (record := _record_of(table.active, file, known, config)) is not None
    ]
    size = archived.create(number + 1, records, config.batch) if records else 0
    return bool(records), size


def _known(
    archived: ArchivedTimeline, files: Sequence[StateFile]
) -> tuple[int, frozenset[tuple[str, str, str]]]:
    """The number of the newest archive file, and which of these files the archive has already.

    Whoever died between archiving and deleting left them in the newest one, or the few before.
    """
    wanted = {_identity(file) for file in files}
    found: set[tuple[str, str, str]] = set()
    there = archived.files()
    for each in there:
        now = wanted.intersection(record.identity for record in archived.read(each))
        if not now:
            break
        found |= now
    return max((each.number for each in there), default=0), frozenset(found)


def _identity(file: StateFile) -> tuple[str, str, str]:
    return file.instant.time, file.instant.action.value, file.instant.state.name


def _record_of(
    active: ActiveTimeline,
    file: StateFile,
    known: Iterable[tuple[str, str, str]],
    config: ArchiveConfig,
) -> ArchivedFile | None:
    if _identity(file) in known:
        return None
    body = active.read_body(file.instant)
    try:
        with located(f"{active.storage.uri} at {file.instant.time}"):
            return ArchivedFile.of_body(*_identity(file), file.written, body)
    except CorruptTableError as error:
        if config.fails_on_unreadable:
            raise
        _log.warning("an instant is archived without what its file says: %s", error)
        time, action, state = _identity(file)
        return ArchivedFile(time=time, action=action, state=state, transition_time=file.written)
