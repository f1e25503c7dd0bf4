"""Files and timeline folded into file groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from pyhudi.filegroup.order import SliceOrder
from pyhudi.filegroup.slices import AppendTarget, BaseFile, FileGroup, FileSlice, GroupId, LogFile
from pyhudi.timeline.instant import Action
from pyhudi.timeline.timeline import Timeline


def file_groups(
    files: Iterable[BaseFile], logs: Iterable[LogFile], timeline: Timeline, order: SliceOrder
) -> tuple[FileGroup, ...]:
    """The file groups that committed files make up, ordered by partition and file id.

    Files of writes that are pending, failed or rolled back are left out. Of two files of one group
    and instant, which only a broken writer leaves, the one of the greater write token counts. Log
    files belong to the slice that ``order`` says, which is there also without a base file, or
    before its compaction has run; which of their blocks count is told by the blocks.

    Source: AbstractTableFileSystemView.buildFileGroups, HoodieFileGroup, Hudi 0.15.
    """
    is_committed = timeline.committed_test()
    compacting = pending_compactions(timeline)
    bases: dict[GroupId, dict[str, BaseFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if is_committed(file.instant):
            bases.setdefault((file.partition, file.file_id), {})[file.instant] = file
    deltas: dict[GroupId, dict[str, list[LogFile]]] = {}
    for log in sorted(logs, key=order.log_rank):
        group = log.partition, log.name.file_id
        begun = chain(bases.get(group, ()), deltas.get(group, ()))
        instant = order.base_instant(log, begun)
        is_slice = is_committed(instant) or instant in compacting
        if is_slice and order.is_read(log, is_committed):
            deltas.setdefault(group, {}).setdefault(instant, []).append(log)
    return tuple(
        FileGroup(
            partition=group[0],
            file_id=group[1],
            slices=_slices(group, bases.get(group, {}), deltas.get(group, {}), order),
        )
        for group in sorted(bases.keys() | deltas.keys())
    )


def _slices(
    group: GroupId,
    bases: Mapping[str, BaseFile],
    logs: Mapping[str, Sequence[LogFile]],
    order: SliceOrder,
) -> tuple[FileSlice, ...]:
    partition, file_id = group
    return tuple(
        FileSlice(
            partition=partition,
            file_id=file_id,
            base_instant=instant,
            base_file=bases.get(instant),
            log_files=tuple(logs.get(instant, ())),
        )
        for instant in sorted(bases.keys() | logs.keys(), key=order.rank, reverse=True)
    )


def pending_compactions(timeline: Timeline) -> frozenset[str]:
    """The instants of compactions that are planned or run: slices begin with them already."""
    return frozenset(
        instant.time for instant in timeline.pending() if instant.action is Action.COMPACTION
    )


def latest_base_files(
    groups: Iterable[FileGroup],
    order: SliceOrder,
    *,
    replaced: Mapping[GroupId, str],
    as_of: str | None = None,
) -> tuple[BaseFile, ...]:
    """The base files that hold the table, or held it at an instant.

    ``groups`` are of base files alone: where log files are not read, a slice without a base file
    hides none. ``replaced`` tells for a file group the instant whose commit replaced it: from then
    on it is hidden.

    Source: AbstractTableFileSystemView.getLatestBaseFilesBeforeOrOn and isFileGroupReplaced, Hudi
    0.15 (both go by requested time).
    """
    found = (slices[0].base_file for slices in _visible(groups, order, replaced, as_of))
    return tuple(file for file in found if file is not None)


def latest_slices(
    groups: Iterable[FileGroup],
    timeline: Timeline,
    order: SliceOrder,
    *,
    replaced: Mapping[GroupId, str],
    as_of: str | None = None,
) -> tuple[FileSlice, ...]:
    """The file slices that hold the table, or held it at an instant, log files included.

    While a compaction is planned or runs, log files that name it as their base are read on top of
    the slice that it compacts. ``replaced`` is as for ``latest_base_files``.

    Source: AbstractTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn and
    mergeCompactionPendingFileSlices, Hudi 0.15.
    """
    compacting = pending_compactions(timeline)
    return tuple(_merged(slices, compacting) for slices in _visible(groups, order, replaced, as_of))


def append_targets(
    groups: Iterable[FileGroup], order: SliceOrder, *, compacting: Mapping[GroupId, str]
) -> dict[GroupId, AppendTarget]:
    """Where writes append to each file group that committed files make up.

    That is its newest slice; of a group that ``compacting`` names, whose pending compaction has the
    instant given there, the slice which the compaction begins. Version numbers go on after every
    log file there is, also those of writes that failed.

    Source: HoodieAppendHandle.init, AbstractTableFileSystemView.addPendingCompactionFileSlice, Hudi
    0.15.
    """
    found = {}
    for group in groups:
        newest, planned = group.slices[0], compacting.get(group.id)
        if planned is not None and order.rank(newest.base_instant) < order.rank(planned):
            newest = FileSlice(
                partition=group.partition, file_id=group.file_id, base_instant=planned
            )
        found[group.id] = AppendTarget.after(newest)
    return found


def _visible(
    groups: Iterable[FileGroup],
    order: SliceOrder,
    replaced: Mapping[GroupId, str],
    as_of: str | None,
) -> Iterator[tuple[FileSlice, ...]]:
    """The slices of each group that is there, newest first, none of them later than ``as_of``."""

    def is_seen(instant: str) -> bool:
        return as_of is None or order.rank(instant) <= as_of

    for group in groups:
        hidden = replaced.get(group.id)
        if hidden is not None and is_seen(hidden):
            continue
        slices = tuple(each for each in group.slices if is_seen(each.base_instant))
        if slices:
            yield slices


def _merged(slices: Sequence[FileSlice], compacting: frozenset[str]) -> FileSlice:
    latest = slices[0]
    if latest.base_instant not in compacting or len(slices) == 1:
        return latest
    below = _merged(slices[1:], compacting)
    return replace(below, log_files=below.log_files + latest.log_files)
