"""New objects, written as a stream: one request for most, an upload in parts for large ones."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from pyhudi.errors import UnclearAnswerError

PART_BYTES: Final = 10 << 20
"""The parts of ``pyarrow.fs`` (Arrow 26); an object that is smaller is put at once."""

ROOM_BYTES: Final = 64 << 20
"""What the larger objects of a process may hold together to be put at once too."""

_log = logging.getLogger(__name__)


class Room:
    """Memory that the objects which a process writes share, beside a part for each of them."""

    def __init__(self, size: int = ROOM_BYTES) -> None:
        self._lock, self._left = threading.Lock(), size

    def take(self, size: int) -> bool:
        """Whether there was so much left, which is taken then."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        """Leave it to others."""
        with self._lock:
            self._left += size


NO_ROOM: Final = Room(0)
"""For clients that put what is larger than a part in parts anyway."""

ROOM: Final = Room()
"""That of this process."""


class ObjectWriter:
    """The Python side of a file that Arrow writes.

    ``put`` is given an object whole, when it is closed, as long as there is ``room`` for it. A
    larger one goes to the stream that ``begin`` opens, and ``count_parts`` is told how many
    requests that were; so does one whose put got no answer, as on a connection that is slow.

    Guarantees: an object that is abandoned appears never, unless it had no room by then:
        ``pyarrow.fs`` has no way to give an upload up, and completes it.
    """

    def __init__(
        self,
        put: Callable[[bytes | memoryview], None],
        begin: Callable[[], pa.NativeFile],
        count_parts: Callable[[int], None],
        room: Room = ROOM,
    ) -> None:
        self._put, self._begin, self._count_parts = put, begin, count_parts
        self._held, self._room, self._taken = pa.BufferOutputStream(), room, 0
        self._stream: pa.NativeFile | None = None
        self._size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write the next bytes."""
        (self._stream or self._held).write(data)
        self._size += len(data)
        if self._stream is None and not self._has_room():
            self._send(self._held.getvalue())
        return len(data)

    def _has_room(self) -> bool:
        more = self._size - self._taken
        if self._size < PART_BYTES:
            return True
        if not self._room.take(more):
            return False
        self._taken += more
        return True

    def _send(self, held: pa.Buffer) -> None:
        """Go on in parts, with what is held first."""
        self._stream = self._begin()
        self._stream.write(held)
        self._forget()

    def _forget(self) -> None:
        self._held = None
        self._room.give_back(self._taken)
        self._taken = 0

    def tell(self) -> int:
        """How many bytes were written."""
        return self._size

    def flush(self) -> None:
        """Nothing: an object appears when it is closed."""

    def abandon(self) -> None:
        """Give it up."""
        if self._stream is not None:
            self.close()
        elif not self.closed:
            self._forget()
        self.closed = True

    def close(self) -> None:
        """Make the object appear."""
        if self.closed:
            return
        self.closed = True
        if self._stream is None:
            self._put_held(self._held.getvalue())
        if self._stream is not None:
            self._stream.close()
            self._count_parts(2 + -(-self._size // PART_BYTES))

    def _put_held(self, held: pa.Buffer) -> None:
        try:
            # obstore takes unsigned bytes alone, and Arrow's buffers say that theirs are signed.
            self._put(memoryview(held).cast("B") if held.size else b"")
        except UnclearAnswerError as failure:
            if self._size < PART_BYTES:
                raise
            _log.warning("%d bytes were not put at once, and go in parts: %s", self._size, failure)
            self._send(held)
        finally:
            if self._held is not None:
                self._forget()


class ObjectSink(pa.PythonFile):  # type: ignore[misc]
    """A file for Arrow to write, which can be given up."""

    abandon: Callable[[], None]
    """Closes it; it appears only if there was no room for it."""


def object_sink(writer: ObjectWriter) -> ObjectSink:
    """The file of a writer."""
    found = ObjectSink(writer, mode="w")
    found.abandon = writer.abandon
    return found
