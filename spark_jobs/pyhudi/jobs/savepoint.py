"""The request of ``spark_jobs/savepoint.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.errors import OptionError
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace, spelled

SAVEPOINT, DELETE_SAVEPOINT, LIST_SAVEPOINTS = "savepoint", "delete_savepoint", "list_savepoints"
"""What results call the operation, by its mode."""
SavepointMode = Literal["create", "delete", "list"]
SAVEPOINT_MODES: tuple[SavepointMode, ...] = ("create", "delete", "list")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointRequest(Request):
    """What to do about savepoints: the flags of ``spark_jobs/savepoint.py`` as a value.

    It can be repeated: a write has one savepoint or none.
    """

    script: ClassVar[str] = "savepoint"
    purpose: ClassVar[str] = "Create, delete or list the savepoints of a table."

    mode: Annotated[str, Flag(help=", ".join(SAVEPOINT_MODES))] = "create"
    instant: Annotated[
        str | None,
        Flag(
            help="the write, by its digits or as a time with milliseconds; the latest one gets a "
            "savepoint else"
        ),
    ] = None
    user: Annotated[str, Flag(help="who makes the savepoint")] = ""
    comment: Annotated[str, Flag(help="what it is for")] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", spelled(self.mode, SAVEPOINT_MODES))

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        by_mode = {"delete": DELETE_SAVEPOINT, "list": LIST_SAVEPOINTS}
        return by_mode.get(self.mode, SAVEPOINT)

    @property
    def trace(self) -> Trace:
        """Nothing is looked for: a repetition does no harm."""
        return "none"

    def check(self) -> None:
        """Refuse a mode that does not exist, and what does not belong to it.

        Raises:
            OptionError: says which.
        """
        if self.mode not in SAVEPOINT_MODES:
            raise OptionError(f"mode is {self.mode!r}; allowed: {', '.join(SAVEPOINT_MODES)}")
        if self.mode == "delete" and not self.instant:
            raise OptionError("name the savepoint to delete with --instant")
        if self.mode == "list" and self.instant:
            raise OptionError("all savepoints are listed; leave --instant out")
        if self.mode != "create" and (self.user or self.comment):
            raise OptionError("--user and --comment are for a savepoint that is created")
        if self.instant:
            parse_exact_instant(self.instant)
