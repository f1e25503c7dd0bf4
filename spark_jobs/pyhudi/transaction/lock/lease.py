"""What the lock object of the storage provider says: a lease, and whose it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from pyhudi.storage.versioned import Versioned
from pyhudi.transaction.lock.state import LockState, Standing
from pyhudi.transaction.process import ProcessMark

DRIFT_MS = 500
"""How long a lease that has ended is left alone, for clocks that are apart.

Source: StorageBasedLockProvider.CLOCK_DRIFT_BUFFER_MS, Hudi 1.0.2 to 1.2.
"""
_LEAST_LEASE_MS = 5000
"""A lease that ends sooner after it was written is none that Hudi would grant but for its error."""
_RENEWALS = 4
"""How many renewals a holder may miss before it counts as gone, when its lease does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who may hold the lock until when; ``is_over`` when it was given back.

    Hudi writes and reads the first three. ``since_ms`` and ``process`` are ours: unknown properties
    are nothing to it.

    Units: times in milliseconds since 1970 in UTC, by the holder's clock.
    Source: StorageLockData and StorageLockFile, Hudi 1.0.2 to 1.2.
    """

    is_over: bool
    until_ms: int
    owner: str
    since_ms: int | None = None
    process: ProcessMark | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> Lease | None:
        """The lease in an object; None when it holds something else."""
        try:
            found: Any = json.loads(data)
            is_over, until_ms, owner = found["expired"], found["validUntil"], found["owner"]
            since_ms, process = found.get("since"), found.get("process")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if not (isinstance(is_over, bool) and type(until_ms) is int and isinstance(owner, str)):
            return None
        return cls(
            is_over=is_over,
            until_ms=until_ms,
            owner=owner,
            since_ms=since_ms if type(since_ms) is int else None,
            process=ProcessMark.from_bytes(json.dumps(process).encode()),
        )

    def to_bytes(self) -> bytes:
        """The object."""
        found: dict[str, object] = {
            "expired": self.is_over,
            "validUntil": self.until_ms,
            "owner": self.owner,
        }
        if self.since_ms is not None:
            found["since"] = self.since_ms
        if self.process is not None:
            found["process"] = asdict(self.process)
        return json.dumps(found, separators=(",", ":")).encode()


def lease_state(path: str, found: Versioned, *, now_ms: int) -> LockState:
    """Who has the lock whose object is there; one that makes no sense is held by nobody knows whom.

    Source: StorageBasedLockProvider.isLockStillValid, Hudi 1.0.2 to 1.2.
    """
    lease = Lease.from_bytes(found.data)
    if lease is None:
        return LockState(path=path, standing="held", since_ms=found.modified_ms)
    standing: Standing = "held"
    if lease.is_over:
        standing = "free"
    elif lease.process is not None and lease.process.is_gone():
        standing = "abandoned"
    elif now_ms > lease.until_ms + DRIFT_MS:
        standing = "expired"
    return LockState(
        path=path,
        standing=standing,
        owner=lease.owner,
        process=lease.process,
        since_ms=lease.since_ms,
        until_ms=lease.until_ms,
    )


def ends_too_soon(found: Versioned, *, now_ms: int, renew_s: int) -> bool:
    """Whether one holds the lock whose lease ended as soon as it was written.

    Hudi 1.0.2 takes the seconds of its option for milliseconds, so that its holders are overtaken
    while they write. A holder whose clock is far behind the storage's looks the same. One that has
    not renewed its lease for long is gone.

    Source: StorageBasedLockProvider.tryLock, Hudi 1.0.2.
    """
    lease = Lease.from_bytes(found.data)
    if lease is None or lease.is_over:
        return False
    is_renewed = now_ms - found.modified_ms < _RENEWALS * renew_s * 1000
    return is_renewed and lease.until_ms - found.modified_ms < _LEAST_LEASE_MS
