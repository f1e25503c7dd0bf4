"""How far a bootstrap has come, in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Final, TypeVar

from pyhudi.pipeline.bootstrap.dataset.source import SourceData, path_of_part

_log = logging.getLogger(__name__)

# So many rounds at most; files of a round are fewest worth one.
_MOST_ROUNDS = 20
_FEWEST_FILES = 16

_LINES: Final = 10
_SILENCE_S: Final = 5.0
_MIB: Final = 1 << 20

T = TypeVar("T")


class Pace:
    """Says when a line is due: at each tenth of something, and after some seconds in between."""

    def __init__(self, whole: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._whole, self._clock = max(whole, 1), clock
        self._started = self._spoke = clock()
        self._tenths = 0

    def is_due(self, done: int) -> bool:
        """Whether to say now that so much is done; it is taken for said."""
        tenths, now = done * _LINES // self._whole, self._clock()
        if tenths <= self._tenths and now - self._spoke < _SILENCE_S:
            return False
        self._tenths, self._spoke = tenths, now
        return True

    def seconds_left(self, done: int) -> float:
        """About how long the rest takes, when it goes on like this."""
        return (self._clock() - self._started) * (self._whole - done) / max(1, done)


class Progress:
    """Counts what of the files of a source is done, and says in the log what is left.

    ``done`` is the word for it. What is heard may come from any thread.
    """

    def __init__(
        self,
        table: str,
        files: Sequence[SourceData],
        done: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table, self._word, self._bytes = table, done, _size(files)
        self._files = {each.file.path: each for each in files}
        self._of_part: dict[str, int] = {}
        self._of_file: dict[str, int] = {}
        self._done_files = self._done_bytes = 0
        self._pace, self._lock = Pace(self._bytes, clock), Lock()

    def hear(self, name: str, rows: int) -> None:
        """Count so many rows as done of the part of a file that has this ``part_name``."""
        with self._lock:
            path, before = path_of_part(name), self._of_part.get(name, 0)
            self._of_part[name] = max(rows, before)
            self._count(self._files[path], self._of_file.get(path, 0) + max(0, rows - before))
            self._say_if_due()

    def finish(self, files: Sequence[SourceData]) -> None:
        """Count files as done, whatever was heard of them."""
        with self._lock:
            for file in files:
                self._count(file, file.rows)
            self._say_if_due()

    def _count(self, file: SourceData, rows: int) -> None:
        """Of a file so many rows are done."""
        before = self._of_file.get(file.file.path)
        rows = min(max(rows, before or 0), file.rows)
        self._of_file[file.file.path] = rows
        self._done_files += before != file.rows and rows == file.rows
        self._done_bytes += _bytes_of(file, rows)
        self._done_bytes -= 0 if before is None else _bytes_of(file, before)

    def _say_if_due(self) -> None:
        if not self._pace.is_due(self._done_bytes):
            return
        left = self._bytes - self._done_bytes
        _log.info(
            "%s: %d of %d files and %.1f of %.1f MiB of the source are %s, %d files and %.1f MiB "
            "are left, about %.0f s",
            *(self._table, self._done_files, len(self._files)),
            *(self._done_bytes / _MIB, self._bytes / _MIB, self._word),
            *(len(self._files) - self._done_files, left / _MIB),
            self._pace.seconds_left(self._done_bytes),
        )


class RowProgress:
    """Counts the rows that are in files of the table, of those that a source has."""

    def __init__(
        self,
        table: str,
        files: Sequence[SourceData],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table, self._bytes = table, _size(files)
        self._rows = sum(each.rows for each in files)
        self._of_file: dict[str, int] = {}
        self._done, self._clock, self._lock = 0, clock, Lock()
        self._pace: Pace | None = None

    def hear(self, path: str, rows: int) -> None:
        """Count so many rows as written to a file."""
        with self._lock:
            # Rows are read first, which says nothing of how fast they are written.
            self._pace = self._pace or Pace(self._rows, self._clock)
            self._done += max(0, rows - self._of_file.get(path, 0))
            self._of_file[path] = max(rows, self._of_file.get(path, 0))
            done = min(self._done, self._rows)
            if not self._pace.is_due(done):
                return
            size = self._bytes / _MIB / max(1, self._rows)
            _log.info(
                "%s: %d of %d rows, about %.1f of %.1f MiB of the source, are written to %d files, "
                "%d rows and %.1f MiB are left, about %.0f s",
                *(self._table, done, self._rows, done * size, self._bytes / _MIB),
                *(len(self._of_file), self._rows - done, (self._rows - done) * size),
                self._pace.seconds_left(done),
            )


def rounds(items: Sequence[T], parallelism: int) -> Iterator[Sequence[T]]:
    """The items in parts that are worth running by themselves.

    A round ends when its slowest task does, so that many small ones would leave cores idle.
    """
    size = max(_FEWEST_FILES * parallelism, -(-len(items) // _MOST_ROUNDS), 1)
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _bytes_of(file: SourceData, rows: int) -> int:
    size = file.file.size_bytes
    return size if rows == file.rows else size * rows // file.rows


def _size(files: Sequence[SourceData]) -> int:
    return sum(each.file.size_bytes for each in files)
