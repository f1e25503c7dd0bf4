"""What a clean keeps and what it deletes. Pure.

::

    commits or hours    s1   s2 | s3   s4         | the earliest instant to retain
                        gone ▲    stay            ▲ as of the instants before s3 this one is read
    file versions       s1   s2   s3   s4         the newest so many stay

Source: CleanPlanner, CleanPlanActionExecutor and CleanerUtils.getEarliestCommitToRetain, Hudi 0.15.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyhudi.config.options.clean import CleanConfig, CleanPolicy
from pyhudi.filegroup.slices import FileGroup, FileSlice, GroupId
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """What stays whatever the policy says.

    ``saved`` are the names of the files of savepoints. ``compacting`` has for each file group in a
    pending compaction or log compaction the base instant of the slice that is to be compacted: it
    stays, and what is newer. ``replaced`` has the instant that hid each file group that is hidden.
    """

    saved: frozenset[str] = frozenset()
    compacting: Mapping[GroupId, str] = field(default_factory=dict)
    replaced: Mapping[GroupId, str] = field(default_factory=dict)

    def keeps(self, found: FileSlice) -> bool:
        """Whether a file of the slice is part of a savepoint."""
        return any(name in self.saved for name, _ in files_of(found))

    def awaits(self, found: FileSlice) -> bool:
        """Whether a pending compaction needs the slice."""
        since = self.compacting.get((found.partition, found.file_id))
        return since is not None and found.base_instant >= since


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedFiles:
    """The files that a clean is to delete.

    ``emptied`` are partitions in which nothing is left afterwards.

    Shapes: ``sizes`` has the bytes of each file by partition path and name; ``sources`` by
        partition path the URIs of files that the table was bootstrapped from.
    """

    sizes: Mapping[str, Mapping[str, int]]
    emptied: tuple[str, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many files there are."""
        return sum(len(files) for files in self.sizes.values())

    @property
    def size_bytes(self) -> int:
        """The bytes of all of them."""
        return sum(sum(files.values()) for files in self.sizes.values())


def may_be_due(timeline: Timeline, config: CleanConfig) -> bool:
    """Whether one more commit may make a clean do anything, going by the names of instants alone.

    Not: a promise that it does; that takes what their files say.
    """
    if any(found.action is Action.CLEAN for found in timeline.pending()):
        return True
    commits = timeline.write_instants().completed()
    return config.policy is not CleanPolicy.COMMITS or len(commits) >= config.commits_retained


def is_due(timeline: Timeline, config: CleanConfig, since: str) -> bool:
    """Whether there are commits enough after the one that was the latest at the last clean."""
    commits = timeline.write_instants().completed()
    return sum(found.time > since for found in commits) >= config.trigger_commits


def earliest_retained(timeline: Timeline, config: CleanConfig, cutoff: str) -> Instant | None:
    """The earliest commit whose files all stay; None when nothing is to be cleaned by commits.

    By commits it is never later than the earliest pending write, compaction or clustering.
    ``cutoff`` is the instant time before which hours are over.
    """
    relevant = Timeline.of(each for each in timeline if each.action is not Action.LOG_COMPACTION)
    commits = relevant.write_instants().completed().instants
    match config.policy:
        case CleanPolicy.VERSIONS:
            return None
        case CleanPolicy.HOURS:
            return next((found for found in commits if found.time >= cutoff), None)
        case CleanPolicy.COMMITS:
            if len(commits) <= config.commits_retained:
                return None
            found = commits[len(commits) - config.commits_retained]
            pending = relevant.write_instants().pending().first
            if pending is None or found.identity <= pending.identity:
                return found
            before = [each for each in commits if each.time < pending.time]
            return before[-1] if before else None


def files_to_clean(
    groups: Iterable[FileGroup],
    partitions: Mapping[str, frozenset[str]],
    protected: Protected,
    config: CleanConfig,
    earliest: Instant | None,
) -> CleanedFiles:
    """The files of some partitions that the policy does not keep.

    A partition is emptied where every file of its file groups goes, and none was hidden since the
    earliest commit to retain.

    Shapes: ``groups`` with change data among the log files; ``partitions`` has the names of all
        data files there are, committed or not, by partition path.
    """
    hidden_before = "" if earliest is None else earliest.time
    sizes: dict[str, dict[str, int]] = defaultdict(dict)
    sources: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for group in groups:
        hidden = protected.replaced.get(group.id)
        if hidden is None:
            gone = _old_slices(group, protected, config, hidden_before)
        elif config.policy is CleanPolicy.VERSIONS or hidden < hidden_before:
            gone = iter(group.slices)
        else:
            continue
        for found in gone:
            if not protected.keeps(found):
                sizes[group.partition].update(files_of(found))
                sources[group.partition] += _sources_of(found, config)
    emptied = (
        partition
        for partition, names in partitions.items()
        if partition and sizes.get(partition) and names <= sizes[partition].keys()
    )
    return CleanedFiles(
        sizes={partition: files for partition, files in sizes.items() if files},
        emptied=tuple(sorted(emptied)),
        sources={partition: uris for partition, uris in sources.items() if uris},
    )


def still_needed(
    slices: Iterable[FileSlice], groups: Iterable[FileGroup], protected: Protected
) -> frozenset[str]:
    """The names of files that no clean may delete as the table is now, whatever its plan says.

    They are those that make up the table, those of savepoints, and those that a pending compaction
    needs: what was rolled back, restored or saved since may have given an old file back its place.
    """
    pending = (each for group in groups for each in group.slices if protected.awaits(each))
    names = {name for found in (*slices, *pending) for name, _ in files_of(found)}
    return protected.saved | names


def files_of(found: FileSlice) -> Iterator[tuple[str, int]]:
    """The names and sizes of the files of a slice."""
    if found.base_file is not None:
        yield found.base_file.name, found.base_file.size_bytes
    for log in found.log_files:
        yield str(log.name), log.size_bytes


def _sources_of(found: FileSlice, config: CleanConfig) -> tuple[str, ...]:
    """What goes with a slice of the files that the table was bootstrapped from.

    Source: CleanPlanner.getCleanFileInfoForSlice, Hudi 0.15 and 1.1.
    """
    source = None if found.base_file is None else found.base_file.source
    return () if source is None or not config.deletes_sources else (source.uri,)


def touched_partitions(
    timeline: Timeline, begin: str, end: str, written_by: Callable[[Instant], Iterable[str]]
) -> tuple[str, ...]:
    """The partitions in which commits from one instant to before another wrote or hid files."""
    commits = timeline.write_instants().completed()
    found = (each for each in commits if begin <= each.time < end)
    return tuple(sorted({partition for each in found for partition in written_by(each)}))


def _old_slices(
    group: FileGroup, protected: Protected, config: CleanConfig, earliest: str
) -> Iterator[FileSlice]:
    """The slices of a file group that is there, but for those that the policy keeps."""
    if config.policy is CleanPolicy.VERSIONS:
        yield from _beyond_versions(group, protected, config.versions_retained)
        return
    kept = {group.slices[0].base_instant} if group.slices else set[str]()
    kept.update(_newest_before(group.slices, earliest))
    for found in group.slices:
        is_old = found.base_instant < earliest and found.base_instant not in kept
        if is_old and not protected.awaits(found):
            yield found


def _beyond_versions(group: FileGroup, protected: Protected, kept: int) -> Iterator[FileSlice]:
    # What a compaction is about to make of its slice counts as one version.
    free = [found for found in group.slices if not protected.awaits(found)]
    yield from free[kept - 1 if group.id in protected.compacting else kept :]


def _newest_before(slices: Sequence[FileSlice], instant: str) -> Iterator[str]:
    before = (found.base_instant for found in slices if found.base_instant < instant)
    yield from (found for _, found in zip(range(1), before, strict=False))
