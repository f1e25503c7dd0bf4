"""What the lock file of the file system provider says."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import asdict, fields
from datetime import datetime, timezone
from typing import Any

from pyhudi.storage.storage import FileStatus
from pyhudi.transaction.lock.state import LockState, Standing
from pyhudi.transaction.process import ProcessMark

_MINUTE_MS = 60_000


def lock_text(token: str, process: ProcessMark, now_ms: int) -> bytes:
    """One line of JSON: what Hudi's LockInfo has, and who holds it.

    Hudi's file is empty as a rule, and it quotes whatever is in one.

    Source: LockInfo and FileSystemBasedLockProvider.initLockInfo, Hudi 0.15 to 1.2.
    """
    moment = datetime.fromtimestamp(now_ms / 1000, timezone.utc)
    text = {
        "lockCreateTime": moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
        "lockThreadName": threading.current_thread().name,
        "lockStacksInfo": [],
        "owner": token,
        **asdict(process),
    }
    return json.dumps(text).encode() + b"\n"


def is_of(data: bytes, token: str) -> bool:
    """Whether a lock file is the one that this token was given to."""
    return _parsed(data).get("owner") == token


def lock_state(
    path: str, status: FileStatus, data: bytes, *, now_ms: int, expire_minutes: int
) -> LockState:
    """Who has the lock whose file is there.

    Hudi takes it away when it is older than its holder's and everybody's option says.

    Source: FileSystemBasedLockProvider.checkIfExpired, Hudi 0.15 to 1.2.
    """
    found = _parsed(data)
    process = _process(found)
    owner = found.get("owner")
    until_ms = status.modified_ms + expire_minutes * _MINUTE_MS if expire_minutes else None
    standing: Standing = "held"
    if process is not None and process.is_gone():
        standing = "abandoned"
    elif until_ms is not None and now_ms > until_ms:
        standing = "expired"
    return LockState(
        path=path,
        standing=standing,
        owner=owner if isinstance(owner, str) else None,
        process=process,
        since_ms=_created_ms(found) or status.modified_ms,
        until_ms=until_ms,
    )


def identity_of(status: FileStatus, data: bytes) -> str:
    """Tells one lock file from those that lie at its path before and after it; a part of a name."""
    return hashlib.sha256(data + str(status.modified_ms).encode()).hexdigest()[:16]


def _parsed(data: bytes) -> dict[str, Any]:
    """What a file says; nothing where it is empty or holds something else."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _process(found: dict[str, Any]) -> ProcessMark | None:
    names = [field.name for field in fields(ProcessMark)]
    if not set(names) <= set(found):
        return None
    return ProcessMark.from_bytes(json.dumps({name: found[name] for name in names}).encode())


def _created_ms(found: dict[str, Any]) -> int | None:
    """When the lock was taken; Hudi's is in the zone of its process, and so says little."""
    if "owner" not in found:
        return None
    try:
        moment = datetime.strptime(str(found["lockCreateTime"]), "%Y-%m-%d %H:%M:%S.%f")  # noqa: DTZ007
    except (ValueError, KeyError):
        return None
    return round(moment.replace(tzinfo=timezone.utc).timestamp() * 1000)
