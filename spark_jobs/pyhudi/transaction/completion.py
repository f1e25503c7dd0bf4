"""The commit point: from here on a write is there."""

from __future__ import annotations

import logging

from pyhudi.config.versions import TableVersion
from pyhudi.errors import HudiError, StorageError
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active
from pyhudi.timeline.instant import Instant
from pyhudi.transaction.markers import delete_markers

_log = logging.getLogger(__name__)


def land(storage: Storage, version: TableVersion, completed: Instant, metadata: bytes) -> None:
    """Complete an instant: its file appears whole, and with it what was written.

    Raises:
        StorageError: it did not appear. A call that failed after it had has landed all the same.
    """
    try:
        active.write_state(storage, version, completed, metadata)
    except StorageError:
        if not _has_landed(storage, version, completed, metadata):
            raise


def delete_markers_after_commit(storage: Storage, instant: str) -> None:
    """Delete the markers of an instant that has landed, which nothing can undo any more."""
    try:
        delete_markers(storage, instant)
    except HudiError as failure:
        _log.warning("the markers of %s stay behind: %s", instant, failure)


def _has_landed(
    storage: Storage, version: TableVersion, completed: Instant, metadata: bytes
) -> bool:
    try:
        return active.read_state(storage, version, completed) == metadata
    except StorageError:
        return False
