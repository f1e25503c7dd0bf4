"""Whether a store replaces an object only as long as it is the one that was read."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from typing import Final

from pyhudi.errors import PreconditionError, StorageError, UnclearAnswerError, UnsupportedError
from pyhudi.storage.objects.calls import Calls
from pyhudi.storage.objects.patience import patiently, tries
from pyhudi.storage.objects.place import Connection, Place

_PROBES: Final = ".hoodie/.aux"

_lock = threading.Lock()
_honoured: set[Connection] = set()
"""The buckets that were probed by this process."""


def check_swaps(place: Place, calls: Calls) -> None:
    """Find out whether an object is replaced though it has another version, once in a process.

    Raises:
        UnsupportedError: it is.
        StorageError: that could not be found out.
    """
    connection = place.connection
    if connection in _honoured:
        return
    key = place.key(f"{_PROBES}/.pyhudi-probe-{secrets.token_hex(8)}")
    try:
        patiently(lambda: calls.put(key, b"first"))
        first = patiently(lambda: calls.version(key)).version
        patiently(lambda: calls.put(key, b"second"))
        is_refused = _is_refused(calls, key, first)
    finally:
        with suppress(StorageError):
            patiently(lambda: calls.delete([key]))
    if not is_refused:
        raise UnsupportedError(
            f"{connection.shown} does not honour conditional writes: a file was replaced although "
            "it was another by then than it should be. Two writers could hold one lock there. Use "
            "a store that honours If-Match on PutObject, or a lock in a folder of a disk that all "
            "writers share"
        )
    with _lock:
        _honoured.add(connection)


def _is_refused(calls: Calls, key: str, version: str) -> bool:
    for missed in tries():
        try:
            calls.swap(key, b"third", version)
        except PreconditionError:  # noqa: PERF203 - a request takes longer
            return True
        except UnclearAnswerError as error:
            missed(error)
        else:
            return False
    raise StorageError(f"{key} could not be written, so that nobody knows whether swaps are safe")
