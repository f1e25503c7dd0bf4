"""What this engine's processes say of a write, whichever runner they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyhudi.errors import ConflictError
from pyhudi.jobs.result import JobResult
from pyhudi.storage.objects.requests import made, of_table


def told_of(result: JobResult, locked: Mapping[str, float]) -> dict[str, Any]:
    """What goes into a line: seconds of each stage, files, and what others were in the way."""
    return {
        "stages": {name: round(seconds, 3) for name, seconds in result.seconds.items()},
        "files_rewritten": result.files.get("rewritten", 0),
        "files_created": result.files.get("created", 0),
        "conflicts": result.conflicts,
        **({"anomaly": result.anomaly} if result.anomaly else {}),
        **(locked if locked["locks"] else {}),
    }


def requests_made(table: str) -> dict[str, int]:
    """The requests to a table so far, by kind; none where it does not lie on an object store."""
    return of_table(made(), table)


def is_refused(error: Exception) -> bool:
    """Whether a write was refused because of others."""
    return isinstance(error, ConflictError)
