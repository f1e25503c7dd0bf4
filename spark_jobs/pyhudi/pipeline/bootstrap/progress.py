"""How far a bootstrap has come, in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pyhudi.pipeline.bootstrap.dataset.source import SourceData

_log = logging.getLogger(__name__)

# So often at most is said how far it has come; files of a round are fewest worth one.
_MOST_ROUNDS = 20
_FEWEST_FILES = 16

T = TypeVar("T")


class Progress:
    """Counts the files of a source that are done, and says after each round what is left."""

    def __init__(self, table: str, files: Sequence[SourceData]) -> None:
        self._table, self._files, self._bytes = table, len(files), _size(files)
        self._done_files = self._done_bytes = 0
        self._started = time.perf_counter()

    def add(self, files: Sequence[SourceData]) -> None:
        """Count files that are done."""
        self._done_files += len(files)
        self._done_bytes += _size(files)
        seconds = time.perf_counter() - self._started
        left = self._bytes - self._done_bytes
        more = seconds * left / max(1, self._done_bytes)
        _log.info(
            "%s: %d of %d files and %.1f of %.1f MiB of the source are taken over, %d files and "
            "%.1f MiB are left, about %.0f s",
            *(self._table, self._done_files, self._files),
            *(self._done_bytes / (1 << 20), self._bytes / (1 << 20)),
            *(self._files - self._done_files, left / (1 << 20), more),
        )


def rounds(items: Sequence[T], parallelism: int) -> Iterator[Sequence[T]]:
    """The items in parts that are worth running by themselves.

    A round ends when its slowest task does, so that many small ones would leave cores idle.
    """
    size = max(_FEWEST_FILES * parallelism, -(-len(items) // _MOST_ROUNDS), 1)
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _size(files: Sequence[SourceData]) -> int:
    return sum(each.file.size_bytes for each in files)
