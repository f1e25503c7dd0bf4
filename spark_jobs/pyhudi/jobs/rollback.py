"""The request of ``spark_jobs/rollback.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace

ROLLBACK = "rollback"
"""What results call the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(Request):
    """Which write to take back: the flags of ``spark_jobs/rollback.py`` as a value.

    It can be repeated: what was rolled back stays so, and the result says by which instant.
    """

    script: ClassVar[str] = "rollback"
    purpose: ClassVar[str] = "Roll back the latest write of a table, or one that did not complete."

    instant: Annotated[
        str,
        Flag(help="the write to roll back, by its digits or as a time with milliseconds"),
    ]

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return ROLLBACK

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
