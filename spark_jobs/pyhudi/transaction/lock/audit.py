"""What holders of the storage lock note of it, where a table asks for that."""

from __future__ import annotations

import json
import logging
from typing import Literal

from pyhudi.errors import MissingFileError, StorageError
from pyhudi.storage.storage import Storage

_FOLDER = ".hoodie/.locks"
_SWITCH = f"{_FOLDER}/audit_enabled.json"
_ENABLED = "STORAGE_LOCK_AUDIT_SERVICE_ENABLED"

_log = logging.getLogger(__name__)

Event = Literal["START", "RENEW", "END"]


class LockAudit:
    """The file of one holder: a line of JSON for each time that it took, renewed or gave back.

    A file that cannot be written is warned of, and stops nobody.

    Source: StorageLockProviderAuditService and AuditServiceFactory, Hudi 1.1 and 1.2.
    """

    def __init__(self, storage: Storage, owner: str, started_ms: int, validity_ms: int) -> None:
        self._storage, self._owner = storage, owner
        self._started_ms, self._validity_ms = started_ms, validity_ms
        self._lines: list[str] = []

    def note(self, event: Event, at_ms: int) -> None:
        """Add a line.

        Units: milliseconds since 1970 in UTC.
        """
        line = {
            "ownerId": self._owner,
            "transactionStartTime": self._started_ms,
            "timestamp": at_ms,
            "state": event,
            "lockExpiration": at_ms + self._validity_ms,
            "lockHeld": True,
        }
        self._lines.append(json.dumps(line) + "\n")
        path = f"{_FOLDER}/audit/{self._started_ms}_{self._owner}.jsonl"
        try:
            self._storage.put(path, "".join(self._lines).encode())
        except StorageError as failure:
            _log.warning("the lock's audit file was not written: %s", failure)


def is_audited(storage: Storage) -> bool:
    """Whether the table asks for such files."""
    try:
        found = json.loads(storage.read(_SWITCH))
    except MissingFileError:
        return False
    except (StorageError, ValueError) as failure:
        _log.warning("the lock is not audited: %s", failure)
        return False
    return isinstance(found, dict) and found.get(_ENABLED) is True
