"""Objects read in parts, with few requests: what is read together is fetched together."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptTableError
from pyhudi.storage.objects.calls import Tail

Fetch = Callable[[int, int], pa.Buffer]
"""Start and length to the bytes there."""

TAIL_BYTES: Final = 1 << 20
"""What is fetched when a file is opened: its footer. The bloom filter that Hudi puts there
has 865 KB by default, however many keys there are."""

_AHEAD_BYTES: Final = 1 << 20
"""What is fetched at least where a file is read from its start."""

_HOLE_BYTES: Final = 2 << 20
"""What is fetched in vain rather than by a request more, which takes as long."""

_RANGE_BYTES: Final = 64 << 20
"""Beyond this, what lies together is fetched in several requests at once."""

_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    start: int
    data: pa.Buffer

    @property
    def end(self) -> int:
        return self.start + int(self.data.size)


class ObjectReader:
    """The Python side of a file that Arrow reads: an object, of which pieces are at hand.

    Guarantees: memory holds the tail, the piece read last, and what was fetched ahead last.
    """

    def __init__(self, tail: Tail, fetch: Fetch) -> None:
        self.size_bytes, self._fetch = tail.size_bytes, fetch
        self._tail = _Piece(start=tail.size_bytes - tail.data.size, data=tail.data)
        self._last = self._tail
        self._ahead: list[_Piece] = []
        self._at = 0
        self.closed = False

    def fetch_ahead(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch ranges of start and length together; those fetched before are dropped."""
        self._ahead = []
        wanted = [each for each in joined(ranges) if self._piece_with(each[0], each[1]) is None]
        if len(wanted) == 1:
            self._ahead = [self._fetched(wanted[0])]
        elif wanted:
            with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(wanted))) as pool:
                self._ahead = list(pool.map(self._fetched, wanted))

    def read(self, count: int = -1) -> bytes:
        """The next bytes."""
        return bytes(self.read_buffer(count))

    def read_buffer(self, count: int = -1) -> pa.Buffer:
        """The next bytes, without a copy where they are at hand."""
        left = max(0, self.size_bytes - self._at)
        length = left if count < 0 else min(count, left)
        if length == 0:
            return pa.py_buffer(b"")
        piece = self._piece_with(self._at, length)
        if piece is None:
            piece = self._last = self._fetched((self._at, min(left, max(length, _AHEAD_BYTES))))
        found = piece.data.slice(self._at - piece.start, length)
        self._at += length
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size_bytes}[whence]
        if begin + offset < 0:
            raise CorruptTableError(f"a read before the first byte, at {begin + offset}")
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def close(self) -> None:
        """Let go of what is at hand."""
        self.closed, self._ahead = True, []
        self._tail = self._last = _Piece(start=self.size_bytes, data=pa.py_buffer(b""))

    def _piece_with(self, start: int, length: int) -> _Piece | None:
        for piece in (self._tail, *self._ahead, self._last):
            if piece.start <= start and start + length <= piece.end:
                return piece
        return None

    def _fetched(self, wanted: tuple[int, int]) -> _Piece:
        return _Piece(start=wanted[0], data=self._fetch(*wanted))


class ObjectFile(pa.PythonFile):  # type: ignore[misc]
    """A file for Arrow to read, whose reader can be told what comes next."""

    fetch_ahead: Callable[[Iterable[tuple[int, int]]], None]
    """Fetches ranges of start and length together, before they are read."""


def object_file(reader: ObjectReader) -> ObjectFile:
    """The file of a reader."""
    found = ObjectFile(reader, mode="r")
    found.fetch_ahead = reader.fetch_ahead
    return found


def joined(ranges: Iterable[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Ranges of start and length, with those that lie near one another in one.

    Guarantees: each of those given lies in one of these, and what is joined is no longer than what
        a request shall fetch.
    """
    spans: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        end = start + length
        if spans:
            first, last = spans[-1]
            if start <= last + _HOLE_BYTES and max(end, last) - first <= _RANGE_BYTES:
                spans[-1] = (first, max(end, last))
                continue
        spans.append((start, end))
    return [(start, end - start) for start, end in spans]
