"""Which files belong together. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.actions.file_group import GroupId as GroupId
from pyhudi.config.formats import BaseFileFormat
from pyhudi.filegroup.names import LogFileName, file_path, parse_base_file_name, parse_log_file_name
from pyhudi.timeline.instant import METADATA_BOOTSTRAP


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """The file outside the table whose rows a skeleton has the meta columns of, row for row.

    ``size_bytes`` and ``modified_ms`` are those that it had when the table was bootstrapped.
    ``path_fields`` are the partition columns in path order, which may lie in its path alone.
    """

    uri: str
    size_bytes: int
    modified_ms: int = 0
    path_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFile:
    """A columnar file of a file group as of one instant.

    ``path`` is relative to the table, ``partition`` the partition path, ``""`` without partitions.
    ``location`` is the path or URI of the bytes where they lie outside the table, ``""`` where they
    lie at ``path``. A file with a ``source`` is a skeleton: it has the meta columns alone, and the
    other columns of its rows lie there.
    """

    path: str
    partition: str
    file_id: str
    write_token: str
    instant: str
    size_bytes: int
    location: str = ""
    source: RowSource | None = None

    @classmethod
    def of(cls, partition: str, name: str, size_bytes: int) -> BaseFile | None:
        """The base file of this name in a partition; None when it is none."""
        parsed = parse_base_file_name(name)
        if parsed is None or BaseFileFormat.of_file(name) is None:
            return None
        return cls(
            path=file_path(partition, name),
            partition=partition,
            file_id=parsed.file_id,
            write_token=parsed.write_token,
            instant=parsed.instant,
            size_bytes=size_bytes,
        )

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_skeleton(self) -> bool:
        """Whether it has the meta columns alone, made by a bootstrap that left the rows in place.

        Source: AbstractTableFileSystemView.addBootstrapBaseFileIfPresent, Hudi 0.15 and 1.1 (by the
        instant).
        """
        return self.instant == METADATA_BOOTSTRAP

    @property
    def bytes_to_read(self) -> int:
        """The bytes of all its columns, those of its source included."""
        return self.size_bytes + (0 if self.source is None else self.source.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWrite:
    """The bytes of a log file that a completed write appended, from ``begin`` to before ``end``."""

    instant: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A file of rows and deletes that change the rows of a file slice.

    ``path`` is relative to the table, ``partition`` the partition path, ``""`` without partitions.
    ``writes`` are those known to have appended to it, against which its blocks are held.
    """

    path: str
    partition: str
    name: LogFileName
    size_bytes: int
    writes: tuple[LogWrite, ...] = ()

    @classmethod
    def of(cls, partition: str, name: str, size_bytes: int) -> LogFile | None:
        """The log file of this name in a partition; None when it is none."""
        parsed = parse_log_file_name(name)
        if parsed is None:
            return None
        path = file_path(partition, name)
        return cls(path=path, partition=partition, name=parsed, size_bytes=size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """A file group from one write of a base file, or of a first log file, to the next.

    Shapes: ``log_files`` in the order in which they are read.
    """

    partition: str
    file_id: str
    base_instant: str
    base_file: BaseFile | None = None
    log_files: tuple[LogFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """All that one set of record keys was ever written to.

    Shapes: ``slices`` newest first, at most one per base instant.
    """

    partition: str
    file_id: str
    slices: tuple[FileSlice, ...]

    @property
    def id(self) -> GroupId:
        """What the group is called."""
        return self.partition, self.file_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendTarget:
    """Where a write appends to a file group: the next log file of its newest slice.

    ``base_file`` and ``log_files`` are the names of what the slice has already, as statistics list
    them. ``base_instant`` is the one that the log file's name has.
    """

    partition: str
    file_id: str
    base_instant: str
    next_version: int = 1
    base_file: str = ""
    log_files: tuple[str, ...] = ()

    @classmethod
    def after(cls, found: FileSlice) -> AppendTarget:
        """The log file that follows all those of a slice."""
        return cls(
            partition=found.partition,
            file_id=found.file_id,
            base_instant=found.base_instant,
            next_version=max((log.name.version for log in found.log_files), default=0) + 1,
            base_file="" if found.base_file is None else found.base_file.name,
            log_files=tuple(str(log.name) for log in found.log_files),
        )

    @property
    def base_file_instant(self) -> str:
        """The instant of the base file; empty where there is none."""
        parsed = parse_base_file_name(self.base_file)
        return "" if parsed is None else parsed.instant

    def of_write(self, instant: str) -> AppendTarget:
        """The first log file of a write at an instant, where log files name their write.

        Statistics of such a file list no others.
        """
        return AppendTarget(partition=self.partition, file_id=self.file_id, base_instant=instant)

    def file_name(self, version: int, write_token: str) -> str:
        """The name of one of the slice's log files."""
        name = LogFileName(
            file_id=self.file_id,
            base_instant=self.base_instant,
            version=version,
            write_token=write_token,
        )
        return str(name)
