"""The files of a table as one listing found them. A pure value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.filegroup.slices import AppendTarget, BaseFile, FileSlice, GroupId, LogFile
from pyhudi.filegroup.view import append_targets, latest_base_files, latest_slices
from pyhudi.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """The files of all partitions or some, and what tells which of them count.

    ``cdc_files`` hold change data, which is no row of the table. ``replaced`` has the instant that
    hid each file group that was replaced.
    """

    timeline: Timeline
    base_files: tuple[BaseFile, ...]
    log_files: tuple[LogFile, ...]
    cdc_files: tuple[LogFile, ...]
    replaced: Mapping[GroupId, str]

    def latest_base_files(self, as_of: str | None = None) -> tuple[BaseFile, ...]:
        """The base files that hold the rows, now or as of an instant.

        Shapes: ordered by partition and file id; ``as_of`` in the digits of instant times.
        """
        return latest_base_files(
            self.base_files, self.timeline, replaced=self.replaced, as_of=as_of
        )

    def latest_slices(self, as_of: str | None = None) -> tuple[FileSlice, ...]:
        """The base files that hold the rows with the log files that change them.

        Shapes: as ``latest_base_files``; a slice may have no base file.
        """
        return latest_slices(
            self.base_files, self.log_files, self.timeline, replaced=self.replaced, as_of=as_of
        )

    def append_targets(self, compacting: Mapping[GroupId, str]) -> Mapping[GroupId, AppendTarget]:
        """Where a write appends to each file group, replaced ones among them.

        ``compacting`` is as for the function.
        """
        return append_targets(self.base_files, self.log_files, self.timeline, compacting=compacting)
