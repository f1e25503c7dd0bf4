"""The Python side of files on HDFS that Arrow reads and writes."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import InvariantError, StorageError
from pyhudi.storage.objects.calls import Tail
from pyhudi.storage.objects.transfer.ranges import TAIL_BYTES, ObjectFile, ObjectReader

FAILURES: Final = (OSError, RuntimeError)
"""What hdfs-native raises; what the name node says beyond the usual is a RuntimeError."""


class HdfsReader:
    """A file on HDFS, read by the thread that asks, and ahead by threads of Python.

    Arrow's own threads are turned away: one that holds a piece of Python when the process ends
    makes it abort ("terminate called without an active exception"), and a write that was committed
    would end as if it had failed. Readers say ``pre_buffer=False`` and ``use_threads=False``.
    """

    def __init__(self, inner: Any, where: str) -> None:
        self._inner, self._where = inner, where
        size_bytes = len(inner)
        length = min(size_bytes, TAIL_BYTES)
        tail = self._fetched(size_bytes - length, length) if length else pa.py_buffer(b"")
        self._pieces = ObjectReader(Tail(data=tail, size_bytes=size_bytes), self._fetched)
        self.closed = False

    def fetch_ahead(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch ranges of start and length together."""
        self._pieces.fetch_ahead(ranges)

    def read(self, count: int = -1) -> bytes:
        """The next bytes.

        Raises:
            InvariantError: a thread that is not Python's asks.
            StorageError: they could not be read.
        """
        self._check_thread()
        return self._pieces.read(count)

    def read_buffer(self, count: int = -1) -> pa.Buffer:
        """The next bytes, without a copy where they are at hand; fails as ``read`` does."""
        self._check_thread()
        return self._pieces.read_buffer(count)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        return self._pieces.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._pieces.tell()

    def close(self) -> None:
        """Let go of what is at hand; nothing is open between two reads."""
        self.closed = True
        self._pieces.close()

    def _fetched(self, start: int, length: int) -> pa.Buffer:
        with _named("read", self._where):
            data = self._inner.read_range(start, length)
        if len(data) != length:
            raise StorageError(f"{self._where} gave {len(data)} of {length} bytes at {start}")
        return pa.py_buffer(data)

    def _check_thread(self) -> None:
        if threading.current_thread().name.startswith("Dummy-"):
            raise InvariantError(
                f"{self._where} is read by a thread of Arrow; open it with pre_buffer=False and "
                "use_threads=False"
            )


def hdfs_file(reader: HdfsReader) -> ObjectFile:
    """The file of a reader, for Arrow."""
    found = ObjectFile(reader, mode="r")
    found.fetch_ahead = reader.fetch_ahead
    return found


class HdfsWriter:
    """A file on HDFS that is being written, whose errors name it."""

    def __init__(self, inner: Any, where: str) -> None:
        self._inner, self._where = inner, where
        self._at = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Append bytes.

        Raises:
            StorageError: they could not be written.
        """
        with _named("write", self._where):
            self._inner.write(data)
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._at

    def flush(self) -> None:
        """Nothing: bytes are safe when the file is closed."""

    def close(self) -> None:
        """Complete the file; from then on it has its length.

        Raises:
            StorageError: the name node did not complete it.
        """
        if not self.closed:
            self.closed = True
            with _named("write", self._where):
                self._inner.close()


@contextmanager
def _named(verb: str, where: str) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StorageError(f"cannot {verb} {where}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    r"""What happened, without the stack of the name node, whose lines come escaped as well."""
    return re.split(r"\n|\\n", str(error), maxsplit=1)[0]
