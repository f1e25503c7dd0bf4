"""The request of ``spark_jobs/clean.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.options import clean
from pyhudi.errors import OptionError
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace, spelled

CLEAN = "clean"
"""What results call the operation."""
CleanMode = Literal["schedule", "execute", "schedule_and_execute"]
CLEAN_MODES: tuple[CleanMode, ...] = ("schedule", "execute", "schedule_and_execute")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRequest(Request):
    """Which old files of a table to delete: the flags of ``spark_jobs/clean.py`` as a value.

    It has no use for an idempotency key: cleaning again deletes what is old by then, and no more.

    Guarantees: the mode is in the spelling of ``CLEAN_MODES``, where it is among these:
        ``scheduleAndExecute``, as Hudi writes it, is taken too.
    """

    script: ClassVar[str] = "clean"
    purpose: ClassVar[str] = "Delete the files of a table that no retained instant needs."

    mode: Annotated[str, Flag(help=f"{', '.join(CLEAN_MODES[:-1])} or {CLEAN_MODES[-1]}")] = (
        "schedule_and_execute"
    )
    instant: Annotated[
        str | None,
        Flag(
            help="the planned clean to execute, by its digits or as a time with milliseconds; all "
            "that are planned are executed else"
        ),
    ] = None
    policy: Annotated[
        str | None, Flag(help="what decides which files stay", option=clean.POLICY)
    ] = None
    retain_commits: Annotated[
        str | None,
        Flag(help="latest commits whose files stay", option=clean.COMMITS_RETAINED),
    ] = None
    dry_run: Annotated[
        bool, Flag(help="say how many files and bytes would go, by partition, and delete nothing")
    ] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", spelled(self.mode, CLEAN_MODES))

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return CLEAN

    @property
    def trace(self) -> Trace:
        """What an earlier try that succeeded is recognised by."""
        return "none"

    def check(self) -> None:
        """Refuse a mode that does not exist, and what does not belong to it.

        Raises:
            OptionError: says which.
        """
        if self.mode not in CLEAN_MODES:
            raise OptionError(f"mode is {self.mode!r}; allowed: {', '.join(CLEAN_MODES)}")
        if self.instant and self.mode != "execute":
            raise OptionError(f"mode {self.mode} takes no instant: it makes one")
        if self.instant:
            parse_exact_instant(self.instant)
