"""What processes note of themselves: a line of JSON each time, which a kill leaves readable."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Notes:
    """The file that one process adds lines to.

    Each line is one call, so that a process that is killed has written it whole or not at all.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def add(self, kind: str, *, is_safe: bool = True, **said: Any) -> None:
        """Add a line; a ``safe`` one is on the disk before anything else is done.

        Units: ``at`` in seconds since 1970, ``tick`` in seconds of the clock that nobody sets.
        """
        line = {"kind": kind, "at": time.time(), "tick": time.monotonic(), **said}
        os.write(self._file, (json.dumps(line) + "\n").encode())
        if is_safe:
            os.fsync(self._file)


def read_notes(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; none of one that was never made."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)
