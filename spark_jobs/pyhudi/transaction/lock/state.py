"""Who has the lock of a table, as its file tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from pyhudi.transaction.process import ProcessMark

_UTC = "%Y-%m-%d %H:%M:%S UTC"

Standing = Literal["free", "held", "expired", "abandoned"]
"""Whose a lock is: nobody's; somebody's; that of one who let its time pass, or whose process has
ended, and so anybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """A lock at one moment.

    ``path`` is its file. ``owner`` is what its holder calls itself, ``process`` where it runs, as
    far as the file tells; nobody knows of Hudi's. ``until_ms`` is when it is anybody's unless its
    holder renews it; None for never.

    Units: times in milliseconds since 1970 in UTC, by the clocks of holder and storage.
    """

    path: str
    standing: Standing
    owner: str | None = None
    process: ProcessMark | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether others have to wait for it."""
        return self.standing == "held"

    def told(self) -> str:
        """Who has it since when, as a part of a sentence."""
        if self.standing == "free":
            return "nobody holds it by now"
        who = "a writer that does not say who it is, as Hudi's do not,"
        if self.owner is not None:
            who = f"owner {self.owner}"
        if self.process is not None:
            who = f"process {self.process.pid} on {self.process.host}"
        since = "" if self.since_ms is None else f" since {utc(self.since_ms)}"
        until = (
            "" if self.until_ms is None else f", until {utc(self.until_ms)} unless it is renewed"
        )
        return f"{who} holds {self.path}{since}{until}"


def utc(milliseconds: int) -> str:
    """A moment as people read it."""
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).strftime(_UTC)
