"""What a validation looks at: what the timeline says, and what lies in the table's folders."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.cli.history import has_archive
from pyhudi.cli.validation.expected import EVERYTHING, NEWEST_ALONE, Retained
from pyhudi.cli.validation.findings import Finding, Grade
from pyhudi.cli.writes import Told, replaced_by
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.filegroup.slices import GroupId
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant, State

THREADS = 8
_WINDOW = 256
_META_FOLDER = ".hoodie"

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTimeline:
    """What the instants of a timeline say, as far as they can be read.

    ``commits`` are the completed writes, oldest first, archived ones among them where the archive
    was read; ``archived`` are the times of these. ``findings`` tell of those that are not among
    them, and of others that make no sense.
    """

    commits: tuple[tuple[Instant, CommitMetadata], ...]
    retained: Retained
    findings: tuple[Finding, ...]
    archived: frozenset[str] = frozenset()

    @property
    def stats(self) -> tuple[tuple[str, tuple[WriteStat, ...]], ...]:
        """The statistics of each write by its instant, oldest first."""
        return tuple((at.time, tuple(commit.write_stats)) for at, commit in self.commits)


def in_threads(function: Callable[[T], R], given: Iterable[T]) -> list[R]:
    """What a function gives for each of these, in their order; it mostly waits for storage."""
    with ThreadPoolExecutor(max_workers=THREADS) as threads:
        return list(threads.map(function, given))


def in_window(function: Callable[[T], R], given: Iterable[T]) -> Iterator[R]:
    """As ``in_threads``, some at a time: few results wait to be taken."""
    left = iter(given)
    with ThreadPoolExecutor(max_workers=THREADS) as threads:
        while window := tuple(islice(left, _WINDOW)):
            yield from threads.map(function, window)


def see_timeline(table: Table, older: Sequence[Told] | None = None) -> SeenTimeline:
    """Read every instant of the active timeline; ``older`` are all archived ones, if these are."""
    instants = tuple(table.timeline)
    read = in_threads(lambda instant: _read(table, instant), instants)
    problems = [found for found in read if isinstance(found, Finding)]
    whole = list(zip(instants, read, strict=True))
    archived = [(each.instant, each.commit) for each in older or () if each.commit is not None]
    active = [(at, found) for at, found in whole if isinstance(found, CommitMetadata)]
    records = [each.archived for each in older or () if each.archived is not None]
    cleans = [
        *(each.metadata or {} for each in records if each.action == Action.CLEAN.value),
        *(found for at, found in whole if at.action is Action.CLEAN and isinstance(found, dict)),
    ]
    return SeenTimeline(
        commits=tuple(sorted((*archived, *active), key=lambda each: each[0].identity)),
        retained=Retained(
            since=_retained_since(table, None if older is None else cleans),
            cleaned=frozenset(name for each in cleans for name in _deleted_names(each)),
            replaced=_replaced(
                table,
                (*(older or ()), *(Told(instant=at) for at, _ in active)),
            ),
            compacting=frozenset(
                each.time for each in table.timeline.pending() if each.action is Action.COMPACTION
            ),
        ),
        findings=tuple(problems),
        archived=frozenset(at.time for at, _ in archived),
    )


def see_files(storage: Storage) -> tuple[FileStatus, ...]:
    """Every file in the table's folders but those of ``.hoodie``, sorted by path."""
    folders, files = [""], list[FileStatus]()
    while folders:
        inner: list[str] = []
        for entries in in_threads(storage.list, folders):
            inner += [each.path for each in entries if each.is_dir and each.path != _META_FOLDER]
            files += [each for each in entries if not each.is_dir]
        folders = inner
    return tuple(sorted(files, key=lambda file: file.path))


def folder_of(path: str) -> str:
    """The folder that a path lies in, ``""`` for the table's own."""
    return posixpath.dirname(path)


def _read(table: Table, instant: Instant) -> CommitMetadata | dict[str, object] | Finding | None:
    """What an instant says, or what is wrong with it."""
    active, where = table.active, f"{instant.time}.{instant.action.value}"
    try:
        if not instant.is_completed:
            return _pending_problem(table, instant)
        if not instant.action.writes_rows:
            return dict(active.read_plain(instant).entries)
        if not active.read_plain(instant).entries:
            return _error("empty instant", where, "its file is empty: what it wrote is unknown")
        return active.read_commit(instant)
    except CorruptTableError as error:
        return _error("unreadable instant", where, str(error))
    except MissingFileError:
        return None  # rolled back or archived since the timeline was listed


def _pending_problem(table: Table, instant: Instant) -> Finding | None:
    """What is wrong with an instant that has not completed: its plan, or that it has none."""
    if instant.action is Action.SAVEPOINT:  # which is never requested
        return None
    if table.active.is_requested(instant):
        table.active.read_plain(instant.in_state(State.REQUESTED))
        return None
    where = f"{instant.time}.{instant.action.value}"
    return _error("unrequested instant", where, "it is inflight, and was never requested")


def _error(what: str, where: str, detail: str) -> Finding:
    return Finding(grade=Grade.ERROR, what=what, where=where, detail=detail)


def _retained_since(table: Table, known: Sequence[Mapping[str, object]] | None) -> str:
    """Since when files are kept, by the last clean; ``known`` are all, if the archive was read."""
    cleans = [each for each in table.timeline.completed() if each.action is Action.CLEAN]
    if not cleans and known:
        last = known[-1]
        said = last.get("earliestCommitToRetain") or last.get("lastCompletedCommitTimestamp")
        return str(said or NEWEST_ALONE)
    if not cleans:
        return NEWEST_ALONE if known is None and has_archive(table) else EVERYTHING
    try:
        return table.active.read_clean(cleans[-1]).earliest_retained or cleans[-1].time
    except (CorruptTableError, MissingFileError):
        return NEWEST_ALONE


def _deleted_names(clean: Mapping[str, object]) -> set[str]:
    """The names of the files that a clean says it has deleted."""
    partitions = clean.get("partitionMetadata")
    found = partitions.values() if isinstance(partitions, dict) else ()
    return {
        posixpath.basename(name) for each in found for name in each.get("successDeleteFiles") or ()
    }


def _replaced(table: Table, told: Iterable[Told]) -> Mapping[GroupId, str]:
    """The instant that hid each file group which was replaced."""
    found: dict[GroupId, str] = {}
    for each in told:
        for partition, file_ids in replaced_by(table, each).items():
            for file_id in file_ids:
                found.setdefault((partition, file_id), each.instant.time)
    return found
