"""New objects, written as a stream: one request for a small one, an upload in parts for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

PART_BYTES: Final = 10 << 20
"""The parts of ``pyarrow.fs`` (Arrow 26); an object that is smaller is put at once."""


class ObjectWriter:
    """The Python side of a file that Arrow writes.

    ``put`` is given a small object whole, when it is closed. A larger one goes to the stream that
    ``begin`` opens, and ``count_parts`` is told how many requests that were.

    Guarantees: an object that is abandoned appears never, unless it was larger than a part by then:
        ``pyarrow.fs`` has no way to give an upload up, and completes it.
    """

    def __init__(
        self,
        put: Callable[[bytes], None],
        begin: Callable[[], pa.NativeFile],
        count_parts: Callable[[int], None],
    ) -> None:
        self._put, self._begin, self._count_parts = put, begin, count_parts
        self._held: list[bytes] = []
        self._stream: pa.NativeFile | None = None
        self._size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write the next bytes."""
        if self._stream is None:
            self._held.append(bytes(data))
        else:
            self._stream.write(data)
        self._size += len(data)
        if self._stream is None and self._size >= PART_BYTES:
            self._stream = self._begin()
            for each in self._held:
                self._stream.write(each)
            self._held = []
        return len(data)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Nothing: an object appears when it is closed."""

    def abandon(self) -> None:
        """Give it up."""
        if self._stream is not None:
            self.close()
        self.closed, self._held = True, []

    def close(self) -> None:
        """Make the object appear."""
        if self.closed:
            return
        self.closed = True
        if self._stream is None:
            self._put(b"".join(self._held))
            self._held = []
            return
        self._stream.close()
        self._count_parts(2 + -(-self._size // PART_BYTES))


class ObjectSink(pa.PythonFile):  # type: ignore[misc]
    """A file for Arrow to write, which can be given up."""

    abandon: Callable[[], None]
    """Closes it; it appears only if it was larger than a part."""


def object_sink(writer: ObjectWriter) -> ObjectSink:
    """The file of a writer."""
    found = ObjectSink(writer, mode="w")
    found.abandon = writer.abandon
    return found
