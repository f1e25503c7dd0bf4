"""Files and timeline folded into file groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pyhudi.filegroup.slices import AppendTarget, BaseFile, FileGroup, FileSlice, GroupId, LogFile
from pyhudi.timeline.instant import Action
from pyhudi.timeline.timeline import Timeline


def file_groups(
    files: Iterable[BaseFile], timeline: Timeline, *, logs: Iterable[LogFile] = ()
) -> tuple[FileGroup, ...]:
    """The file groups that committed files make up, ordered by partition and file id.

    Files of writes that are pending, failed or rolled back are left out. Of two files of one group
    and instant, which only a broken writer leaves, the one of the greater write token counts. Log
    files belong to the slice whose base instant is in their name, which is there also without a
    base file, or before its compaction has run; which of their blocks count is told by the blocks.

    Source: AbstractTableFileSystemView.buildFileGroups, HoodieFileGroup, Hudi 0.15.
    """
    is_committed = timeline.committed_test()
    compacting = _pending_compactions(timeline)
    bases: dict[GroupId, dict[str, BaseFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if is_committed(file.instant):
            bases.setdefault((file.partition, file.file_id), {})[file.instant] = file
    deltas: dict[GroupId, dict[str, list[LogFile]]] = {}
    for log in sorted(logs, key=lambda log: log.name.order):
        instant = log.name.base_instant
        if is_committed(instant) or instant in compacting:
            slices = deltas.setdefault((log.partition, log.name.file_id), {})
            slices.setdefault(instant, []).append(log)
    return tuple(
        FileGroup(
            partition=partition,
            file_id=file_id,
            slices=_slices((partition, file_id), bases, deltas),
        )
        for partition, file_id in sorted(bases.keys() | deltas.keys())
    )


def _slices(
    group: GroupId,
    all_bases: Mapping[GroupId, Mapping[str, BaseFile]],
    all_logs: Mapping[GroupId, Mapping[str, Sequence[LogFile]]],
) -> tuple[FileSlice, ...]:
    bases, logs = all_bases.get(group, {}), all_logs.get(group, {})
    partition, file_id = group
    return tuple(
        FileSlice(
            partition=partition,
            file_id=file_id,
            base_instant=instant,
            base_file=bases.get(instant),
            log_files=tuple(logs.get(instant, ())),
        )
        for instant in sorted(bases.keys() | logs.keys(), reverse=True)
    )


def _pending_compactions(timeline: Timeline) -> frozenset[str]:
    return frozenset(
        instant.time for instant in timeline.pending() if instant.action is Action.COMPACTION
    )


def latest_base_files(
    files: Iterable[BaseFile],
    timeline: Timeline,
    *,
    replaced: Mapping[GroupId, str],
    as_of: str | None = None,
) -> tuple[BaseFile, ...]:
    """The base files that hold the table, or held it at an instant.

    ``replaced`` tells for a file group the instant whose commit replaced it: from then on it is
    hidden.

    Source: AbstractTableFileSystemView.getLatestBaseFilesBeforeOrOn and isFileGroupReplaced, Hudi
    0.15 (both go by requested time).
    """
    latest = (
        group.latest(as_of)
        for group in file_groups(files, timeline)
        if not _is_hidden(replaced.get((group.partition, group.file_id)), as_of)
    )
    return tuple(
        found.base_file for found in latest if found is not None and found.base_file is not None
    )


def latest_slices(
    files: Iterable[BaseFile],
    logs: Iterable[LogFile],
    timeline: Timeline,
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
    compacting = _pending_compactions(timeline)
    found = (
        _merged(group, compacting, as_of)
        for group in file_groups(files, timeline, logs=logs)
        if not _is_hidden(replaced.get((group.partition, group.file_id)), as_of)
    )
    return tuple(each for each in found if each is not None)


def append_targets(
    files: Iterable[BaseFile],
    logs: Iterable[LogFile],
    timeline: Timeline,
    *,
    compacting: Mapping[GroupId, str],
) -> dict[GroupId, AppendTarget]:
    """Where writes append to each file group that committed files make up.

    That is its newest slice; of a group that ``compacting`` names, whose pending compaction has the
    instant given there, the slice which the compaction begins. Version numbers go on after every
    log file there is, also those of writes that failed.

    Source: HoodieAppendHandle.init, AbstractTableFileSystemView.addPendingCompactionFileSlice, Hudi
    0.15.
    """
    found = {}
    for group in file_groups(files, timeline, logs=logs):
        key = group.partition, group.file_id
        newest = group.slices[0]
        instant = max(newest.base_instant, compacting.get(key, ""))
        if newest.base_instant < instant:
            newest = FileSlice(partition=key[0], file_id=key[1], base_instant=instant)
        found[key] = AppendTarget.after(newest)
    return found


def _merged(group: FileGroup, compacting: frozenset[str], as_of: str | None) -> FileSlice | None:
    latest = group.latest(as_of)
    if latest is None or latest.base_instant not in compacting:
        return latest
    earlier = [each for each in group.slices if each.base_instant < latest.base_instant]
    if not earlier:
        return latest
    below = _merged(replace(group, slices=tuple(earlier)), compacting, None)
    return None if below is None else replace(below, log_files=below.log_files + latest.log_files)


def _is_hidden(replaced_at: str | None, as_of: str | None) -> bool:
    return replaced_at is not None and (as_of is None or replaced_at <= as_of)
