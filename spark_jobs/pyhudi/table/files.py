"""The files of a table as one listing found them. A pure value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyhudi.filegroup.order import SliceOrder
from pyhudi.filegroup.promised import Damage, Promise, damages
from pyhudi.filegroup.slices import (
    AppendTarget,
    BaseFile,
    FileGroup,
    FileSlice,
    GroupId,
    LogFile,
    LogWrite,
)
from pyhudi.filegroup.view import (
    append_targets,
    file_groups,
    latest_base_files,
    latest_slices,
    pending_compactions,
)
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
        return latest_base_files(
            self._base_groups(), self.order, replaced=self.replaced, as_of=as_of
        )

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

    def damages(self, promises: Iterable[Promise], as_of: str | None = None) -> list[Damage]:
        """What is not there of what completed writes wrote, now or as of an instant.

        ``promises`` are those of all writes to these partitions until then. Where none is of a log
        file, neither are log files looked at.
        """
        asked = list(promises)
        has_logs = any(promise.is_log for promise in asked)
        groups = self.file_groups() if has_logs else self._base_groups()
        slices = latest_slices(
            groups, self.timeline, self.order, replaced=self.replaced, as_of=as_of
        )
        is_committed, compacting = (
            self.timeline.committed_test(),
            pending_compactions(self.timeline),
        )
        hidden = {
            group
            for group, at in self.replaced.items()
            if as_of is None or self.order.rank(at) <= as_of
        }
        return damages(
            asked,
            slices,
            self._sizes(),
            is_hidden=hidden.__contains__,
            counts=lambda instant: is_committed(instant) or instant in compacting,
        )

    def with_writes(self, promises: Iterable[Promise]) -> TableFiles:
        """The same files, of which log files know the writes that appended to them."""
        writes: dict[str, list[LogWrite]] = defaultdict(list)
        for each in promises:
            if each.is_log and each.begin < each.end:
                own = LogWrite(instant=each.instant, begin=each.begin, end=each.end)
                writes[each.path].append(own)
        logs = tuple(replace(log, writes=tuple(writes.get(log.path, ()))) for log in self.log_files)
        return replace(self, log_files=logs)

    def _sizes(self) -> dict[str, int]:
        bases = {file.path: file.size_bytes for file in self.base_files}
        return bases | {log.path: log.size_bytes for log in self.log_files}

    def _base_groups(self) -> tuple[FileGroup, ...]:
        return file_groups(self.base_files, (), self.timeline, self.order)
