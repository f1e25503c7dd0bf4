"""Which file slice of a file group comes after which, and which log files are whose. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.slices import LogFile


class SliceOrder(Protocol):
    """The order of file slices in time, as a table version has it."""

    def rank(self, instant: str) -> str:
        """What comes later ranks higher: of slices by their base instants, or of other instants."""
        ...

    def log_rank(self, log: LogFile) -> Any:
        """The log files of a slice are read by rising rank."""
        ...

    def base_instant(self, log: LogFile, base_files: Collection[str]) -> str:
        """Whose slice a log file belongs to, in a group that has base files of these instants."""
        ...


class ByRequest:
    """Slices follow one another as their writes were requested; log files name their slice.

    Source: HoodieFileGroup, HoodieLogFile.LogFileComparator, Hudi 0.15 and 1.1 (table version 6).
    """

    def rank(self, instant: str) -> str:
        """Instants rise."""
        return instant

    def log_rank(self, log: LogFile) -> Any:
        """By slice, version and the attempt that wrote it."""
        name = log.name
        return name.base_instant, name.version, name.write_token

    def base_instant(self, log: LogFile, _: Collection[str]) -> str:
        """The one in the name, whether there is a base file or not."""
        return log.name.base_instant


_ORDERS: Mapping[TableVersion, SliceOrder] = dict.fromkeys(TableVersion, ByRequest())


def slice_order(version: TableVersion) -> SliceOrder:
    """The order of the slices in a table of this version."""
    return _ORDERS[version]
