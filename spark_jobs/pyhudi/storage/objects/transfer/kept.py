"""Small files whose bytes never change, kept by this process once they were read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final


class KeptFiles:
    """The bytes of files by name; the ones asked for longest ago go first.

    Units: ``most_bytes`` of all together.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._size = most_bytes, 0
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> bytes | None:
        """The bytes, if they are kept."""
        with self._lock:
            if name in self._files:
                self._files.move_to_end(name)
            return self._files.get(name)

    def put(self, name: str, data: bytes) -> None:
        """Keep the bytes, unless they alone are too many."""
        if len(data) > self._most_bytes:
            return
        with self._lock:
            self._size += len(data) - len(self._files.pop(name, b""))
            self._files[name] = data
            while self._size > self._most_bytes:
                self._size -= len(self._files.popitem(last=False)[1])

    def drop(self, name: str) -> None:
        """Forget a file, which may come to be another one."""
        with self._lock:
            self._size -= len(self._files.pop(name, b""))


KEPT: Final = KeptFiles(32 << 20)
"""Those of this process."""
