"""Whether a data file is what the commits say it is: there, of its size, and whole within.

Sizes are compared without opening anything. A base file is then held against its footer, a log
file's blocks against the bytes that completed writes have said they appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pyhudi.actions.commit import WriteStat
from pyhudi.errors import CorruptTableError, MissingFileError, SchemaError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import OpenBaseFile, open_base, read_errors
from pyhudi.logfile.reader import iter_blocks
from pyhudi.storage.storage import Storage

Damage = Literal["missing file", "wrong size", "unreadable file", "wrong rows", "wrong footer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """What is wrong with a file, in a word and in a sentence."""

    damage: Damage
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBytes:
    """Bytes of a log file that a completed write has appended."""

    instant: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFile:
    """What completed writes say of a data file.

    ``instant`` is that of the last of them. ``size_bytes`` and ``rows`` are 0 where they say none;
    a log file may have grown since by blocks of writes that failed. ``appended`` is of log files.
    """

    path: str
    instant: str
    is_log: bool
    size_bytes: int = 0
    rows: int = 0
    appended: tuple[StatedBytes, ...] = ()


def stated_files(writes: Iterable[tuple[str, Iterable[WriteStat]]]) -> Mapping[str, StatedFile]:
    """The data files that completed writes name, by path; writes by instant, the oldest first."""
    found: dict[str, StatedFile] = {}
    for instant, stats in writes:
        for stat in stats:
            if stat.path:
                found[stat.path] = _stated(stat, stat.path, instant, found.get(stat.path))
    return found


def _stated(stat: WriteStat, path: str, instant: str, before: StatedFile | None) -> StatedFile:
    if stat.log_files is None:
        return StatedFile(
            path=path,
            instant=instant,
            is_log=False,
            size_bytes=stat.file_size_bytes,
            rows=stat.num_writes,
        )
    begin = stat.log_offset
    added = StatedBytes(instant=instant, begin=begin, end=begin + stat.total_write_bytes)
    known = before or StatedFile(path=path, instant=instant, is_log=True)
    size = max(known.size_bytes, stat.file_size_bytes, added.end)
    return replace(known, instant=instant, size_bytes=size, appended=(*known.appended, added))


def size_problem(stated: StatedFile, size_bytes: int | None) -> FileProblem | None:
    """What is wrong with a file by its size, which is None where it is not there."""
    wanted, by = stated.size_bytes, f"the commit {stated.instant}"
    if size_bytes is None:
        return FileProblem(damage="missing file", detail=f"{by} names it, and it is not there")
    is_short = size_bytes < wanted
    if is_short or (wanted and not stated.is_log and size_bytes > wanted):
        return FileProblem(
            damage="wrong size", detail=f"it has {size_bytes:,} bytes, and {by} says {wanted:,}"
        )
    return None


def file_problem(
    storage: Storage, stated: StatedFile, size_bytes: int | None
) -> FileProblem | None:
    """What is wrong with a file of a table: by its size, and within.

    Raises:
        StorageError: the file cannot be reached, which says nothing of what is in it.
    """
    found = size_problem(stated, size_bytes)
    if found is not None or size_bytes is None:
        return found
    if stated.is_log:
        return log_problem(storage, stated)
    partition, _, name = stated.path.rpartition("/")
    file = BaseFile.of(partition, name, size_bytes)
    if file is None:
        return None
    try:
        with open_base(storage, file) as base:
            return base_problem(base, stated)
    except MissingFileError:
        return size_problem(stated, None)
    except CorruptTableError as error:
        return unreadable(error)


def base_problem(base: OpenBaseFile, stated: StatedFile) -> FileProblem | None:
    """What is wrong with a base file that is open and whole, by its footer."""
    if stated.rows and base.row_count != stated.rows:
        return FileProblem(
            damage="wrong rows",
            detail=f"its footer counts {base.row_count:,} rows, and the commit {stated.instant} "
            f"wrote {stated.rows:,}",
        )
    try:
        base.footer.bloom_filter()
    except (CorruptTableError, SchemaError) as error:
        return unreadable(error)
    return None


def log_problem(storage: Storage, stated: StatedFile) -> FileProblem | None:
    """What is wrong with the blocks that completed writes have appended to a log file.

    Bytes that no completed write speaks of may be torn: a writer that died has left them.

    Raises:
        StorageError: the file cannot be read.
    """
    try:
        with read_errors(storage, stated.path), storage.open_input(stated.path) as source:
            blocks = list(iter_blocks(source, storage.absolute(stated.path)))
    except MissingFileError:
        return size_problem(stated, None)
    for block in blocks:
        end = block.offset + block.size_bytes
        for each in stated.appended:
            if block.offset < each.end and end > each.begin and block.instant != each.instant:
                what = block.problem or f"they are of the instant {block.instant or 'none'}"
                return FileProblem(
                    damage="unreadable file",
                    detail=f"bytes {block.offset:,} to {end:,}, which the commit {each.instant} "
                    f"wrote, are no whole block of it: {what}",
                )
    return None


def unreadable(error: Exception) -> FileProblem:
    """The problem of a file that cannot be read, as an error tells of it."""
    return FileProblem(damage="unreadable file", detail=str(error))
