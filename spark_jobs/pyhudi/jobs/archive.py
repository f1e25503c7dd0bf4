"""The request of ``spark_jobs/archive.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pyhudi.config.options import archive
from pyhudi.flags import Flag
from pyhudi.jobs.request import Request, Trace

ARCHIVE = "archive"
"""What a result calls the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRequest(Request):
    """Of which table to archive old instants: the flags of ``spark_jobs/archive.py`` as a value.

    It leaves no instant of its own, and to do it again is harmless: no key is looked for.
    """

    script: ClassVar[str] = "archive"
    purpose: ClassVar[str] = "Move old instants of a table from its timeline to its archive."

    least_commits: Annotated[
        str | None,
        Flag(
            name="--keep-min-commits",
            help="commits that stay on the timeline",
            option=archive.LEAST_COMMITS,
        ),
    ] = None
    most_commits: Annotated[
        str | None,
        Flag(
            name="--keep-max-commits",
            help="commits on the timeline above which the oldest are archived",
            option=archive.MOST_COMMITS,
        ),
    ] = None
    dry_run: Annotated[
        bool, Flag(help="list what would be archived, and leave everything as it is")
    ] = False

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return ARCHIVE

    @property
    def trace(self) -> Trace:
        """What an earlier try that succeeded is recognised by."""
        return "none"
