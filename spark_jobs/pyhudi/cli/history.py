"""Instants that have left the timeline, as far back as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pyhudi.cli.progress import progress_bar
from pyhudi.cli.writes import Told, told_in_archive
from pyhudi.table.archived import ArchivedTimeline, ArchiveFile, instant_of
from pyhudi.table.table import Table
from pyhudi.timeline.clock import instant_time
from pyhudi.timeline.instant import Instant

IsAsked = Callable[[Instant], bool]
_HOUR_MS = 3_600_000
_NEVER = "9"
"""After all instants."""


def has_archive(table: Table) -> bool:
    """Whether instants have left the timeline; opens no file."""
    return bool(ArchivedTimeline.of(table.storage, table.config).files())


def newest_archived(table: Table, count: int | None, is_asked: IsAsked) -> list[Told]:
    """The newest so many archived instants that are asked for, or all, the oldest first.

    Guarantees: reads no more archive files than these lie in, and those that may hold later writes.

    Raises:
        CorruptTableError: a file of the archive cannot be read.
    """
    found: list[Told] = []
    for own, newest in _by_file(table, is_asked) if count != 0 else ():
        found += own
        if count is not None:
            found = _ordered(found)[-count:]
        if len(found) == count and newest < found[0].instant.time:
            break
    return _ordered(found)


def archived_between(table: Table, first: str, last: str) -> list[Told]:
    """The archived instants after one time and up to another, the oldest first.

    Raises:
        CorruptTableError: a file of the archive cannot be read.
    """
    found: list[Told] = []
    for own, newest in _by_file(table, lambda _: True):
        found += [each for each in own if first < each.instant.time <= last]
        if newest <= first:
            break
    return _ordered(found)


def archived_at(table: Table, time: str) -> list[Told]:
    """The instants of a time that are in the archive.

    Guarantees: opens no archive file that was made before then, and reads none but those that name
        it; the first that has it is the last.

    Raises:
        CorruptTableError: a file of the archive cannot be read.
    """
    archive, zone = ArchivedTimeline.of(table.storage, table.config), table.config.timezone
    # In autumn local times come twice.
    files = [
        file
        for file in reversed(archive.files())
        if instant_time(file.status.modified_ms + _HOUR_MS, zone) >= time
    ]
    with progress_bar("looking through the archive") as progress:
        for done, file in enumerate(files, start=1):
            if archive.mentions(file, time):
                own = (told for told in _told(archive, file) if told.instant.time == time)
                if found := _ordered(own):
                    return found
            progress(done, len(files))
    return []


def _by_file(table: Table, is_asked: IsAsked) -> Iterator[tuple[list[Told], str]]:
    """What each archive file tells of instants that the timeline has no more, the newest first.

    With it comes a time after which no earlier file has a write. Others leave the timeline at their
    own pace, so that a file of cleans alone says nothing of writes.
    """
    archive = ArchivedTimeline.of(table.storage, table.config)
    seen = {instant.identity for instant in table.timeline}
    for file in archive.files():
        told = list(_told(archive, file))
        own = {
            each.instant.identity: each
            for each in told
            if each.instant.identity not in seen and is_asked(each.instant)
        }
        seen |= own.keys()
        writes = (each.instant.time for each in told if each.instant.action.writes_rows)
        yield list(own.values()), max(writes, default=_NEVER)


def _told(archive: ArchivedTimeline, file: ArchiveFile) -> Iterator[Told]:
    for record in archive.read(file):
        instant = instant_of(record)
        if instant is not None and instant.is_completed:
            yield told_in_archive(instant, record)


def _ordered(told: Iterable[Told]) -> list[Told]:
    return sorted(told, key=lambda each: each.instant.identity)
