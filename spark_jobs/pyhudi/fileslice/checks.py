"""Whether a data file is what the commits say it is: there, of its size, and whole within.

Sizes are compared without opening anything. A base file is then held against its footer, a log
file's blocks against the bytes that completed writes have said they appended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.errors import (
    CorruptTableError,
    MissingFileError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from pyhudi.filegroup.slices import BaseFile, LogWrite
from pyhudi.fileslice.logs import log_problems
from pyhudi.fileslice.opener import OpenBaseFile, open_base, read_errors
from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.logfile.scan import blocks_that_count
from pyhudi.storage.storage import Storage

Damage = Literal[
    "missing file", "wrong size", "unreadable file", "wrong rows", "wrong footer", "wrong source"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """What is wrong with a file, in a word and in a sentence."""

    damage: Damage
    detail: str


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
    appended: tuple[LogWrite, ...] = ()


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
    added = LogWrite(instant=instant, begin=begin, end=begin + stat.total_write_bytes)
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


def file_problems(
    storage: Storage, stated: StatedFile, size_bytes: int | None, *, reads_rows: bool = False
) -> tuple[FileProblem, ...]:
    """What is wrong with a file of a table: by its size, and within.

    Of a log file also what its rows and deletes are, where it ``reads_rows``.

    Raises:
        StorageError: the file cannot be reached, which says nothing of what is in it.
    """
    if size_bytes is None:
        return _if_any(size_problem(stated, None))
    if stated.is_log:
        return _if_any(size_problem(stated, size_bytes)) or block_problems(
            storage, stated, reads_rows=reads_rows
        )
    partition, _, name = stated.path.rpartition("/")
    file = BaseFile.of(partition, name, size_bytes)
    found = size_problem(stated, size_bytes)
    if found is not None or file is None:
        return _if_any(found)
    try:
        with open_base(storage, file) as base:
            return _if_any(base_problem(base, stated))
    except MissingFileError:
        return _if_any(size_problem(stated, None))
    except CorruptTableError as error:
        return (unreadable(error),)


def _if_any(problem: FileProblem | None) -> tuple[FileProblem, ...]:
    return () if problem is None else (problem,)


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


def source_problem(base: OpenBaseFile) -> FileProblem | None:
    """What is wrong with the file that a skeleton has its rows in; None for other files."""
    if not base.file.is_skeleton:
        return None
    if base.file.source is None:
        return FileProblem(
            damage="wrong source", detail="the bootstrap index does not say which file has its rows"
        )
    try:
        base.check_source()
    except (CorruptTableError, StorageError, UnsupportedError) as error:
        return FileProblem(damage="wrong source", detail=str(error))
    return None


def block_problems(
    storage: Storage, stated: StatedFile, *, reads_rows: bool = False
) -> tuple[FileProblem, ...]:
    """What is wrong with the blocks that completed writes have appended to a log file.

    Bytes that no completed write speaks of may be torn: a writer that died has left them.

    Raises:
        StorageError: the file cannot be read.
    """
    try:
        with read_errors(storage, stated.path), storage.open_input(stated.path) as source:
            blocks = list(iter_blocks(source, storage.absolute(stated.path)))
            lost = tuple(
                FileProblem(damage="unreadable file", detail=f"it {problem}")
                for problem in log_problems(blocks, stated.appended)
            )
            why_refused = (_why_refused(block, source if reads_rows else None) for block in blocks)
            return lost or tuple(chain.from_iterable(why_refused))
    except MissingFileError:
        return _if_any(size_problem(stated, None))
    except CorruptTableError as error:
        return (unreadable(error),)


def _why_refused(block: Block, source: pa.NativeFile | None) -> tuple[FileProblem, ...]:
    """Why readers refuse a log file for one of its blocks, whosever it is."""
    try:
        counted = blocks_that_count([block], lambda _: True)
        if source is not None and counted:
            _read(block, source)
    except (CorruptTableError, SchemaError, UnsupportedError) as error:
        return (unreadable(error),)
    return ()


def _read(block: Block, source: pa.NativeFile) -> None:
    """Read all rows or deletes of a block, and forget them."""
    if block.kind is BlockKind.DELETE:
        read_deletes(block, source)
    else:
        deque(iter_rows(block, source), maxlen=0)


def unreadable(error: Exception) -> FileProblem:
    """The problem of a file that cannot be read, as an error tells of it."""
    return FileProblem(damage="unreadable file", detail=str(error))
