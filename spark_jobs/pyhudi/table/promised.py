"""What the completed writes of a table say of its files, and what is said when that is not so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from pyhudi.actions.commit import ReplaceCommitMetadata
from pyhudi.config.read import WHAT_TO_DO
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.filegroup.promised import Damage, Promise, promises_of
from pyhudi.filegroup.slices import GroupId
from pyhudi.storage.objects.storage import ObjectStorage
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline

_READERS = 16
_FEW_INSTANTS = 32
"""So many small files are read one after the other where that is faster than threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What completed writes say: the files that must be there, and the file groups they replaced.

    ``replaced`` has the instant that hid each file group.
    """

    promises: tuple[Promise, ...]
    replaced: Mapping[GroupId, str]


def told_by(
    active: ActiveTimeline,
    timeline: Timeline,
    *,
    is_asked: Callable[[Instant], bool],
    is_kept: Callable[[str], bool],
) -> Told:
    """What the writes on the active timeline say of the partitions that ``is_kept`` names.

    Promises are those of the instants that ``is_asked`` names, and none of a write whose neighbours
    are archived, of which only a savepoint kept it: how its file groups went on is not known.

    Guarantees: reads one small file for each completed write.

    Raises:
        CorruptTableError: the file of an instant cannot be read.
        MissingFileError: a write was rolled back since the timeline was loaded.
    """
    start, completions = timeline.start, timeline.completions()
    promises: list[Promise] = []
    replaced: dict[GroupId, str] = {}

    def is_wanted(instant: Instant) -> bool:
        return instant.time >= start and is_asked(instant)

    found = [
        each
        for each in timeline.write_instants().completed()
        if each.action is Action.REPLACE_COMMIT or is_wanted(each)
    ]
    for instant, metadata in _read(active, found, is_kept):
        for partition, file_ids in metadata.partition_to_replaced_file_ids.items():
            for file_id in file_ids:
                replaced.setdefault((partition, file_id), instant.time)
        if is_wanted(instant):
            own = promises_of(instant.time, metadata.commit.write_stats, completions)
            promises += (each for each in own if is_kept(each.group[0]))
    return Told(promises=tuple(promises), replaced=replaced)


def _read(
    active: ActiveTimeline, instants: Sequence[Instant], is_kept: Callable[[str], bool]
) -> Iterator[tuple[Instant, ReplaceCommitMetadata]]:
    """What completed instants say; one that was archived meanwhile says nothing.

    Raises:
        MissingFileError: one was rolled back meanwhile, or what it replaced can no longer be read.
    """

    def read(instant: Instant) -> ReplaceCommitMetadata | None:
        try:
            return active.read_replace_commit(instant, is_kept)
        except MissingFileError as error:
            is_archived = instant.time < active.load().start
            if is_archived and instant.action is not Action.REPLACE_COMMIT:
                return None
            raise MissingFileError(
                f"{active.where(instant)} is gone: was the write rolled back while the table was "
                "read? Retry to read the table as it is now",
                where=active.storage.uri,
            ) from error

    # On an object store each of them is a request, which is mostly waiting.
    few = 1 if isinstance(active.storage, ObjectStorage) else _FEW_INSTANTS
    if len(instants) <= few:
        found: Iterable[ReplaceCommitMetadata | None] = map(read, instants)
    else:
        with ThreadPoolExecutor(max_workers=_READERS) as threads:
            found = list(threads.map(read, instants))
    for instant, metadata in zip(instants, found, strict=True):
        if metadata is not None:
            yield instant, metadata


def are_rolled_back(active: ActiveTimeline, timeline: Timeline, lost: Sequence[Damage]) -> bool:
    """Whether the writes of lost files are completed for a moment only.

    A writer that others took for dead, and rolled back, takes its commit back after it.
    """
    gone: set[str] = set()
    for found in timeline:
        if found.action is Action.ROLLBACK:
            with suppress(MissingFileError, CorruptTableError):
                gone.add(active.read_rollback_plan(found).instant.time)
    return all(each.instant in gone for each in lost)


def refuse(lost: Sequence[Damage], *, where: str, has_changed: bool) -> None:
    """Refuse files that are not what the table's commits say; none is fine.

    Raises:
        MissingFileError: files are gone, and the table ``has_changed`` since it was opened.
        CorruptTableError: says which file, which write, and what can be done.
    """
    if not lost:
        return
    others = f", and {len(lost) - 1} other files are damaged too" if len(lost) > 1 else ""
    if has_changed and all(each.is_gone for each in lost):
        raise MissingFileError(
            f"{lost[0]}{others}; the table has changed since: was it cleaned while it was read? "
            "Retry to read the table as it is now",
            where=where,
        )
    raise CorruptTableError(
        f"{lost[0]}{others}: rows that were committed are lost. {WHAT_TO_DO}", where=where
    )
