"""The request of ``spark_jobs/restore.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace

RESTORE = "restore"
"""What results call the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(Request):
    """Which savepoint to go back to: the flags of ``spark_jobs/restore.py`` as a value.

    It can be repeated: a table that is at the savepoint stays there, and a restore that did not end
    is finished.
    """

    script: ClassVar[str] = "restore"
    purpose: ClassVar[str] = "Take a table back to a savepoint; all that came after it is undone."

    instant: Annotated[
        str,
        Flag(help="the savepoint, by the digits of its write or as a time with milliseconds"),
    ]

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return RESTORE

    @property
    def trace(self) -> Trace:
        """Nothing is looked for: a repetition does no harm."""
        return "none"

    def check(self) -> None:
        """Refuse an instant that is none.

        Raises:
            OptionError: says why.
        """
        parse_exact_instant(self.instant)
