"""Templates and what they say values with; every text is escaped unless it is made here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

_DAY_S = 86_400


@functools.cache
def templates() -> Environment:
    """The templates of the page, with the filters by which values become texts."""
    from pyhudi.cli.cells import cell, duration, moment, size

    found = Environment(
        loader=PackageLoader("airflow_provider_pyhudi.page"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "ago": ago,
        "cell": cell,
        "changes": changes,
        "duration": duration,
        "moment": moment,
        "size": size,
        "words": words,
    }
    return found


def ago(instant: str, now: str) -> str:
    """How long before another instant one was, in one unit: ``3 min ago``."""
    from pyhudi.cli.overview.lanes import seconds_of

    seconds = seconds_of(now) - seconds_of(instant)
    if seconds < 0:
        return "from now on"
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 2 * _DAY_S:
        return f"{seconds // 3600:.0f} h ago"
    return f"{seconds // _DAY_S:,.0f} days ago"


def changes(found: Mapping[str, int] | None) -> list[tuple[str, str, str]]:
    """What became of rows, but for counts of none: the word, its sign, and the count."""
    signs = {"inserted": "+", "updated": "~", "deleted": "\u2212"}
    counts = (found or {}).items()
    return [(word, signs.get(word, ""), f"{count:,}") for word, count in counts if count]


def words(name: str) -> str:
    """A name of a fact or column as people write it: ``small files``."""
    return name.replace("_", " ")


def bars(histogram: Any) -> list[dict[str, Any]]:
    """The classes of a histogram of sizes with the length of each bar, the longest being 100."""
    most = max((row[2] for row in histogram), default=1)
    return [
        {
            "first": first,
            "end": end,
            "files": files,
            "share": share,
            "bytes": size_bytes,
            "length": round(files / most * 100, 1),
        }
        for first, end, files, share, size_bytes, _ in histogram
    ]
