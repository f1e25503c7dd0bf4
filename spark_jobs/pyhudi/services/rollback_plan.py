"""Which files go when a write is taken back, and what speaks against it. Pure.

Source: ListingBasedRollbackStrategy and BaseRollbackActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyhudi.actions.commit import NO_PREVIOUS_COMMIT, WriteStat
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.actions.rollback import RollbackPlan, RollbackRequest
from pyhudi.filegroup.names import parse_log_file_name, path_to_delete
from pyhudi.filegroup.slices import BaseFile, GroupId, LogFile
from pyhudi.timeline.instant import Instant
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentFiles:
    """The data files of the partitions that a write touched; ``logs`` has change data too."""

    bases: tuple[BaseFile, ...]
    logs: tuple[LogFile, ...]

    @property
    def paths(self) -> frozenset[str]:
        """Each file by its path relative to the table."""
        return frozenset({*(file.path for file in self.bases), *(log.path for log in self.logs)})

    def joined(self, others: PresentFiles) -> PresentFiles:
        """These, and of others those that are not among them."""
        known = self.paths
        return PresentFiles(
            bases=(*self.bases, *(each for each in others.bases if each.path not in known)),
            logs=(*self.logs, *(each for each in others.logs if each.path not in known)),
        )

    @property
    def groups(self) -> frozenset[GroupId]:
        """The file groups that have any file."""
        bases = {(file.partition, file.file_id) for file in self.bases}
        return frozenset({*bases, *((log.partition, log.name.file_id) for log in self.logs)})

    def groups_begun_at(self, time: str) -> frozenset[GroupId]:
        """The file groups with a base file of an instant."""
        return frozenset((f.partition, f.file_id) for f in self.bases if f.instant == time)

    def without(self, gone: Collection[tuple[str, str]]) -> PresentFiles:
        """All but some, given by their partitions and names."""
        return PresentFiles(
            bases=tuple(each for each in self.bases if (each.partition, each.name) not in gone),
            logs=tuple(each for each in self.logs if (each.partition, str(each.name)) not in gone),
        )

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """Each file by its partition and its name."""
        bases = {(file.partition, file.name) for file in self.bases}
        return frozenset({*bases, *((log.partition, str(log.name)) for log in self.logs)})


def files_to_delete(plan: RollbackPlan) -> Iterator[str]:
    """The paths of the files that a rollback deletes.

    Raises:
        CorruptTableError: one leads out of its table.
    """
    for request in plan.requests:
        yield from (path_to_delete(file, request.partition) for file in request.files_to_delete)


def undo_requests(
    time: str, files: PresentFiles, appended: Collection[str], absolute: Callable[[str], str]
) -> tuple[RollbackRequest, ...]:
    """What undoes a write that was completed, or began a slice.

    All files of slices that it began are deleted. In other slices, whose log files with blocks of
    the write have the paths ``appended``, a block is to take those back; readers that began before
    still find the files.

    Shapes: one request for a file to delete, and one for a slice that gets a block.
    """
    own = [
        *((file.partition, file.path) for file in files.bases if file.instant == time),
        *((log.partition, log.path) for log in files.logs if log.name.base_instant == time),
    ]
    deleting = (
        RollbackRequest(partition=partition, files_to_delete=(absolute(path),))
        for partition, path in sorted(own)
    )
    slices: dict[tuple[str, str, str], LogFile] = {}
    for log in files.logs:
        if log.path in appended and log.name.base_instant != time and not log.name.is_cdc:
            slices[log.partition, log.name.file_id, log.name.base_instant] = log
    blocks = (
        RollbackRequest(
            partition=partition,
            file_id=file_id,
            latest_base_instant=base_instant,
            log_blocks={absolute(log.path): log.size_bytes},
        )
        for (partition, file_id, base_instant), log in sorted(slices.items())
    )
    return (*deleting, *blocks)


def why_kept(timeline: Timeline, write: Instant, saved: Collection[str]) -> str | None:
    """What about the timeline keeps a completed write from being taken back; None for nothing.

    A write that began later and was completed earlier has not seen it, and is not in the way: a
    compaction takes long, and writes go on beside it.

    Source: BaseRollbackActionExecutor.validateRollbackCommitSequence and
    validateSavepointRollbacks, Hudi 0.15 and 1.1, which go by requested time.
    """
    writes, time = timeline.write_instants().completed(), write.time
    later = [found.time for found in writes if found.time > time and not _is_before(found, write)]
    if later:
        return (
            f"{len(later)} later writes are completed, the latest is {later[-1]}; roll those back "
            "first, the latest first, or restore a savepoint"
        )
    if time in saved:
        return "it has a savepoint; delete that first"
    return None


def _is_before(one: Instant, other: Instant) -> bool:
    """Whether one was completed before another; not where the timeline does not tell."""
    return (
        one.completion_time is not None
        and other.completion_time is not None
        and one.completion_time < other.completion_time
    )


def why_not_whole(
    time: str,
    stats: Iterable[WriteStat],
    replaced: Mapping[str, Collection[str]],
    plan: CompactionPlan | None,
    files: PresentFiles,
) -> str | None:
    """What of the state before a write is not there any more; None where all of it is.

    ``plan`` is that of a compaction or log compaction. Hudi does not look, and rows that a clean
    took the older files of are lost then.
    """
    gone = next(_gone(stats, replaced, plan, files), None)
    if gone is None:
        return None
    return (
        f"{gone}, which {time} replaced, is not there any more: it was cleaned or is about to be, "
        "and its rows would be lost"
    )


def _gone(
    stats: Iterable[WriteStat],
    replaced: Mapping[str, Collection[str]],
    plan: CompactionPlan | None,
    files: PresentFiles,
) -> Iterator[str]:
    groups, names = files.groups, files.names
    if plan is not None:
        for each in plan.operations:
            for name in filter(None, (each.base_file, *each.log_files)):
                if (each.partition, name) not in names:
                    yield f"the file {name} of partition {each.partition!r}"
        return
    bases = {(file.partition, file.file_id, file.instant) for file in files.bases}
    for stat in stats:
        is_log = parse_log_file_name((stat.path or "").rpartition("/")[2]) is not None
        is_rewrite = not is_log and stat.prev_commit not in (None, "", NO_PREVIOUS_COMMIT)
        if is_rewrite and (stat.partition_path or "", stat.file_id, stat.prev_commit) not in bases:
            yield f"the file of {stat.file_id} at {stat.prev_commit}"
    for partition, file_ids in replaced.items():
        for file_id in file_ids:
            if (partition, file_id) not in groups:
                yield f"the file group {file_id} of partition {partition!r}"


def planned_on(
    requests: Iterable[RollbackRequest],
    plans: Iterable[tuple[str, CompactionPlan]],
) -> str | None:
    """The instant of a pending plan with a file that is to be deleted; None without any."""
    gone = {
        (request.partition, path.rpartition("/")[2])
        for request in requests
        for path in request.files_to_delete
    }
    for instant, plan in plans:
        for each in plan.operations:
            files = filter(None, (each.base_file, *each.log_files))
            if any((each.partition, name) in gone for name in files):
                return instant
    return None
