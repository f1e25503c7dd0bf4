"""Timelines that were found whole, by which later listings are judged without another request.

Whoever archives deletes the oldest instants first. A listing that has all that an earlier one had
lacks nothing of what came since: for that to be archived while it was listed, everything of the
earlier one would have had to go first. On a store where a listing is a request or two, that
is less than a suspended process could make of a folder that it reads entry by entry.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from pyhudi.timeline.instant import Instant
from pyhudi.timeline.timeline import Timeline


class WholeTimelines:
    """What completed instants timelines had, by their folders; the latest ``most`` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[str, tuple[Instant | None, frozenset[Instant]]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, folder: str, timeline: Timeline) -> None:
        """Remember a timeline that is whole."""
        with self._lock:
            self._found[folder] = _told(timeline)
            self._found.move_to_end(folder)
            while len(self._found) > self._most:
                self._found.popitem(last=False)

    def has_all_in(self, folder: str, timeline: Timeline) -> bool:
        """Whether one was found whole, and this one has the same first write and all the others."""
        with self._lock:
            found = self._found.get(folder)
        if found is None:
            return False
        first, completed = _told(timeline)
        return first == found[0] and found[1] <= completed


def _told(timeline: Timeline) -> tuple[Instant | None, frozenset[Instant]]:
    return timeline.write_instants().first, frozenset(timeline.completed())


WHOLE: Final = WholeTimelines(64)
"""Those of this process."""
