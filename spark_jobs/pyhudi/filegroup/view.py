"""Files and timeline folded into file groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyhudi.filegroup.slices import BaseFile, FileGroup, FileSlice
from pyhudi.timeline.timeline import Timeline

GroupId = tuple[str, str]
"""Partition path and file id."""


def file_groups(files: Iterable[BaseFile], timeline: Timeline) -> tuple[FileGroup, ...]:
    """The file groups that committed files make up, ordered by partition and file id.

    Files of writes that are pending, failed or rolled back are left out. Of two files of one group
    and instant, which only a broken writer leaves, the one of the greater write token counts.

    Source: AbstractTableFileSystemView.buildFileGroups, Hudi 0.15.
    """
    is_committed = timeline.committed_test()
    groups: dict[GroupId, dict[str, BaseFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if is_committed(file.instant):
            versions = groups.setdefault((file.partition, file.file_id), {})
            versions[file.instant] = file
    return tuple(
        FileGroup(
            partition=partition,
            file_id=file_id,
            slices=tuple(
                FileSlice(base_file=versions[instant]) for instant in sorted(versions, reverse=True)
            ),
        )
        for (partition, file_id), versions in sorted(groups.items())
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
    return tuple(found.base_file for found in latest if found is not None)


def _is_hidden(replaced_at: str | None, as_of: str | None) -> bool:
    return replaced_at is not None and (as_of is None or replaced_at <= as_of)
