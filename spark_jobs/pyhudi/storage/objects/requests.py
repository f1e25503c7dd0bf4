"""Counts of the requests that this process made to object stores.

A request is counted when it is sent, each try of it too. What the client of ``pyarrow.fs`` tries
again on its own is not seen, and counted once.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from enum import Enum


class Kind(Enum):
    """What a request does. A page of a listing is one, a bulk delete is one for 1,000 files.

    ``MULTIPART`` are those of an upload in parts: its beginning, each part, its end.
    """

    GET = "get"
    PUT = "put"
    LIST = "list"
    HEAD = "head"
    DELETE = "delete"
    MULTIPART = "multipart"


SHARES: Mapping[str, str] = {".hoodie/.temp": "markers", ".hoodie/.heartbeat": "heartbeat"}
"""The folders whose requests are counted once more, under a name of their own."""

_lock = threading.Lock()
_made: dict[str, Counter[str]] = {}


def note(where: str, kind: Kind, path: str, times: int = 1) -> None:
    """Count requests for a path below the root ``where``."""
    names = [kind.value]
    names += [share for folder, share in SHARES.items() if f"/{path}/".find(f"/{folder}/") >= 0]
    with _lock:
        counts = _made.setdefault(where, Counter())
        for name in names:
            counts[name] += times


def made() -> dict[str, dict[str, int]]:
    """The counts by root and kind, of this process since it began."""
    with _lock:
        return {where: dict(counts) for where, counts in _made.items()}


def add(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Count what other processes made, as ``since`` gave it there."""
    with _lock:
        for where, each in counts.items():
            _made.setdefault(where, Counter()).update(each)


def since(before: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The counts since an earlier ``made``; without those that are zero."""
    found = {}
    for where, counts in made().items():
        earlier = before.get(where, {})
        more = {name: count - earlier.get(name, 0) for name, count in counts.items()}
        more = {name: count for name, count in more.items() if count}
        if more:
            found[where] = more
    return found


def total(counts: Mapping[str, int]) -> int:
    """All requests of a root; those counted once more are not."""
    return sum(counts.get(kind.value, 0) for kind in Kind)


def of_table(counts: Mapping[str, Mapping[str, int]], uri: str) -> dict[str, int]:
    """The requests to a root by kind and share, zeros included; empty when there were none."""
    found = counts.get(uri.rstrip("/"), {})
    names = [*(kind.value for kind in Kind), *SHARES.values()]
    return {name: found.get(name, 0) for name in names} if found else {}
