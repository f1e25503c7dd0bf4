"""Which file slice of a file group comes after which, and which log files are whose. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.filegroup.slices import BaseFile, GroupId, LogFile


class SliceOrder(Protocol):
    """The order of file slices in time, as a table version has it."""

    def rank(self, instant: str) -> str:
        """What comes later ranks higher: of slices by their base instants, or of other instants."""
        ...

    def log_rank(self, log: LogFile) -> Any:
        """The log files of a slice are read by rising rank."""
        ...

    def base_instant(self, log: LogFile, slices: Iterable[str]) -> str:
        """Whose slice a log file belongs to, in a group that has slices at these instants."""
        ...

    def is_read(self, log: LogFile, is_committed: Callable[[str], bool]) -> bool:
        """Whether a log file can have blocks that count, going by its name."""
        ...


class ByRequest:
    """Slices follow one another as their writes were requested; log files name their slice.

    Source: HoodieFileGroup, HoodieLogFile.LogFileComparator, Hudi 0.15 and 1.1 (table version 6).
    """

    def rank(self, instant: str) -> str:
        """Instants rise."""
        return instant

    def log_rank(self, log: LogFile) -> Any:
        """By the instant in the name, version and the attempt that wrote it."""
        return _by_name(log)

    def base_instant(self, log: LogFile, _: Iterable[str]) -> str:
        """The one in the name, whether there is a base file or not."""
        return log.name.base_instant

    def is_read(self, _log: LogFile, _is_committed: Callable[[str], bool]) -> bool:
        """Any: blocks of several writes can be in it."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCompletion:
    """Log files name their write, and belong to the last slice that it was completed after.

    ``completions`` says when writes were completed, by their instants. A write that it does not
    name was completed before every slice that began after it.

    Source: HoodieFileGroup.getBaseInstantTime and CompletionTimeQueryView.getCompletionTime, Hudi
    1.0 and 1.1 (table versions 8 and 9).
    """

    completions: Mapping[str, str]

    def rank(self, instant: str) -> str:
        """Instants rise."""
        return instant

    def log_rank(self, log: LogFile) -> Any:
        """By the instant in the name, version and the attempt that wrote it."""
        return _by_name(log)

    def base_instant(self, log: LogFile, slices: Iterable[str]) -> str:
        """The latest that began before the write was completed; its own where there is none."""
        own = log.name.base_instant
        completed = self.completions.get(own, own)

        def is_before(begun: str) -> bool:
            # The instants of a bootstrap are shorter than times, and come before all of these.
            return begun <= (completed if len(completed) == len(begun) else own)

        return max(filter(is_before, slices), default=own)

    def is_read(self, log: LogFile, is_committed: Callable[[str], bool]) -> bool:
        """Where its write is committed: no other has blocks in it."""
        return is_committed(log.name.base_instant)


def earliest_unplaced(
    bases: Iterable[BaseFile], logs: Iterable[LogFile], completions: Mapping[str, str]
) -> str | None:
    """The earliest write of log files of which ``completions`` would have to say more.

    That is one that it does not name, and later than which a base file of its group began: either
    can have come first. None where all log files can be placed.
    """
    newest: dict[GroupId, str] = {}
    for base in bases:
        group = base.partition, base.file_id
        newest[group] = max(newest.get(group, ""), base.instant)
    unsure = (
        log.name.base_instant
        for log in logs
        if log.name.base_instant not in completions
        and log.name.base_instant < newest.get((log.partition, log.name.file_id), "")
    )
    return min(unsure, default=None)


def slice_order(version: TableVersion, completions: Mapping[str, str]) -> SliceOrder:
    """The order of the slices in a table of this version, whose writes were completed then."""
    if version.timeline_layout is TimelineLayout.ONE:
        return ByRequest()
    return ByCompletion(completions=completions)


def _by_name(log: LogFile) -> tuple[str, int, str]:
    name = log.name
    return name.base_instant, name.version, name.write_token
