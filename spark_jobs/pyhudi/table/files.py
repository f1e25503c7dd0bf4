"""The files of a table as one listing found them. A pure value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.filegroup.order import SliceOrder
from pyhudi.filegroup.slices import AppendTarget, BaseFile, FileGroup, FileSlice, GroupId, LogFile
from pyhudi.filegroup.view import append_targets, file_groups, latest_base_files, latest_slices
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """The files of all partitions or some, and what tells which of them count.

    ``cdc_files`` hold change data, which is no row of the table. ``replaced`` has the instant that
    hid each file group that was replaced.
    """

    timeline: Timeline
    order: SliceOrder
    base_files: tuple[BaseFile, ...]
    log_files: tuple[LogFile, ...]
    cdc_files: tuple[LogFile, ...]
    replaced: Mapping[GroupId, str]

    def file_groups(self) -> tuple[FileGroup, ...]:
        """Every file group with all its slices, replaced ones among them.

        Shapes: ordered by partition and file id.
        """
        return file_groups(self.base_files, self.log_files, self.timeline, self.order)

    def latest_base_files(self, as_of: str | None = None) -> tuple[BaseFile, ...]:
        """The base files that hold the rows, now or as of an instant.

        Shapes: ordered by partition and file id; ``as_of`` in the digits of instant times.
        """
        groups = file_groups(self.base_files, (), self.timeline, self.order)
        return latest_base_files(groups, self.order, replaced=self.replaced, as_of=as_of)

    def newest_base_file(self, as_of: str | None = None) -> BaseFile | None:
        """That of ``latest_base_files`` which was written last; None in an empty table."""
        found = self.latest_base_files(as_of)
        return max(found, key=lambda file: self.order.rank(file.instant), default=None)

    def latest_slices(self, as_of: str | None = None) -> tuple[FileSlice, ...]:
        """The base files that hold the rows with the log files that change them.

        Shapes: as ``latest_base_files``; a slice may have no base file.
        """
        return latest_slices(
            self.file_groups(), self.timeline, self.order, replaced=self.replaced, as_of=as_of
        )

    def append_targets(self, compacting: Mapping[GroupId, str]) -> Mapping[GroupId, AppendTarget]:
        """Where a write appends to each file group, replaced ones among them.

        ``compacting`` is as for the function.
        """
        return append_targets(self.file_groups(), self.order, compacting=compacting)
