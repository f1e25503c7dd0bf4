"""Which process writes, so that another on the same machine can tell that it is gone."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_NAMESPACE: Final = "/proc/self/ns/pid"
_ENDED: Final = ("Z", "X")
"""Nobody has asked yet how it ended, and nearly gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """A process, told from others of its id that came later or live elsewhere.

    ``boot`` and ``namespace`` say whose process ids are meant: machines and containers may share a
    host name. ``started`` counts what the system counts. They are None where it does not tell.
    """

    host: str
    boot: str | None
    namespace: str | None
    pid: int
    started: str | None

    @classmethod
    def of(cls, pid: int) -> ProcessMark:
        """The mark of a process of this machine."""
        return cls(
            host=socket.gethostname(),
            boot=_text(_BOOT_ID),
            namespace=_namespace(),
            pid=pid,
            started=_status_of(pid).started,
        )

    @classmethod
    def here(cls) -> ProcessMark:
        """The mark of this process."""
        return cls.of(os.getpid())

    @classmethod
    def from_bytes(cls, data: bytes) -> ProcessMark | None:
        """The mark in the bytes of ``to_bytes``; None when they are something else."""
        try:
            found = json.loads(data)
            return cls(**{**found, "pid": int(found["pid"])})
        except (ValueError, KeyError, TypeError):
            return None

    def to_bytes(self) -> bytes:
        """The mark as JSON."""
        return json.dumps(asdict(self)).encode()

    def is_gone(self) -> bool:
        """Whether the process is known to have ended; of one that lives elsewhere nothing is.

        One that was killed has ended, whether its parent has asked for its exit code or not.
        """
        now = ProcessMark.of(self.pid)
        if (self.host, self.boot, self.namespace) != (now.host, now.boot, now.namespace):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            pass
        if _status_of(self.pid).has_ended:
            return True
        # Ids are used again, for processes and for threads.
        return None not in (self.started, now.started) and self.started != now.started


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    """What the system tells of a process.

    Units: ``started`` in ticks since the system did.
    """

    started: str | None = None
    has_ended: bool = False


def _status_of(pid: int) -> _Status:
    """The status of a process; empty where the system does not tell.

    Source: proc_pid_stat(5), Linux: fields 3, 20 and 22; the second, in brackets, may hold blanks
    itself.
    """
    text = _text(f"/proc/{pid}/stat")
    if text is None:
        return _Status()
    fields = text.rpartition(")")[2].split()
    state, threads, started = fields[0], fields[17], fields[19]
    # Where threads are left, only the first one of the process has ended.
    return _Status(started=started, has_ended=state in _ENDED and int(threads) <= 1)


def _namespace() -> str | None:
    try:
        return os.readlink(_NAMESPACE)
    except OSError:
        return None


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
