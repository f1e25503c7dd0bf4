"""The request of ``spark_jobs/compaction.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.options import compaction
from pyhudi.errors import OptionError
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace, spelled

COMPACTION = "compact"
LOG_COMPACTION = "log_compact"
"""What results of the job ``compaction.py`` call the operation, the two kinds of it."""
COMPACTION_KIND, LOG_COMPACTION_KIND = COMPACTION_KINDS = "compaction", "log_compaction"
CompactionMode = Literal["schedule", "execute", "schedule_and_execute", "unschedule"]
COMPACTION_MODES: tuple[CompactionMode, ...] = (
    "schedule",
    "execute",
    "schedule_and_execute",
    "unschedule",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRequest(Request):
    """What to do about a table's log files: the flags of ``spark_jobs/compaction.py`` as a value.

    A compaction makes base files of file slices, a log compaction one log block of many.

    Guarantees: kind and mode are in the spelling of ``COMPACTION_KINDS`` and ``COMPACTION_MODES``,
        where they are among these: ``scheduleAndExecute``, as Hudi writes it, is taken too.
    """

    script: ClassVar[str] = "compaction"
    purpose: ClassVar[str] = "Compact the log files of a table."

    kind: Annotated[str, Flag(help=" or ".join(COMPACTION_KINDS))] = COMPACTION_KIND
    mode: Annotated[str, Flag(help=f"{', '.join(COMPACTION_MODES[:-1])} or unschedule")] = (
        "schedule_and_execute"
    )
    instant: Annotated[
        str | None,
        Flag(
            help="the compaction to execute or unschedule, by its digits or as a time with "
            "milliseconds; the oldest pending one is executed else"
        ),
    ] = None
    strategy: Annotated[
        str | None,
        Flag(
            help="which file slices a compaction takes, by Hudi's Java class",
            option=compaction.STRATEGY,
        ),
    ] = None
    max_delta_commits: Annotated[
        str | None,
        Flag(
            help="delta commits since the last compaction that make the next one due",
            option=compaction.MAX_DELTA_COMMITS,
        ),
    ] = None

    def __post_init__(self) -> None:
        for name, allowed in (("kind", COMPACTION_KINDS), ("mode", COMPACTION_MODES)):
            object.__setattr__(self, name, spelled(getattr(self, name), allowed))

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return LOG_COMPACTION if self.kind == LOG_COMPACTION_KIND else COMPACTION

    @property
    def trace(self) -> Trace:
        """What an earlier try that succeeded is recognised by."""
        return "plan" if self.mode == "schedule" else "commit"

    def check(self) -> None:
        """Refuse a kind or mode that does not exist, and what does not belong to it.

        Raises:
            OptionError: says which.
        """
        if self.kind not in COMPACTION_KINDS:
            raise OptionError(f"kind is {self.kind!r}; allowed: {', '.join(COMPACTION_KINDS)}")
        is_for_compactions = self.strategy is not None or self.max_delta_commits is not None
        if self.kind == LOG_COMPACTION_KIND and is_for_compactions:
            raise OptionError(
                "a log compaction has no strategy and counts no delta commits; leave --strategy "
                "and --max-delta-commits out"
            )
        if self.mode not in COMPACTION_MODES:
            raise OptionError(f"mode is {self.mode!r}; allowed: {', '.join(COMPACTION_MODES)}")
        if not self.instant and self.mode == "unschedule":
            raise OptionError("name the compaction to unschedule with --instant")
        if self.instant and self.mode in ("schedule", "schedule_and_execute"):
            raise OptionError(f"a compaction to {self.mode} gets its instant; leave --instant out")
        if self.instant:
            parse_exact_instant(self.instant)
