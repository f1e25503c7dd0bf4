"""Figures of several writers at once: what their upserts came to, tables, charts."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engines import Line
    from plot import Panels

LOCK_FIGURES = ("lock_wait_seconds", "lock_held_seconds", "lock_release_seconds", "locks")
DRAWN = {
    "commits_per_second": "commits per second",
    "median_seconds": "seconds of an upsert, median",
    "again_each": "tries again per commit",
    "lock_wait_seconds": "seconds waited for locks, per commit",
}


def figures(lines: Sequence[Line]) -> Line:
    """What the upserts of all writers came to: commits a second, tries, waits for the lock.

    Of the locks the means per commit: where others hold one, few upserts wait, and those for long.
    """
    done = [line for line in lines if "refused" not in line]
    seconds = max(line["ended"] for line in lines) - min(line["began"] for line in lines)
    took = [line["ended"] - line["began"] for line in done]
    again = sum(line.get("conflicts", 0) for line in lines)
    found = {
        "seconds": round(seconds, 3),
        "upserts": len(lines),
        "commits": len(done),
        "failed": len(lines) - len(done),
        "commits_per_second": round(len(done) / seconds, 3),
        "tries_again": again,
        "again_each": round(again / max(1, len(done)), 3),
        "median_seconds": round(statistics.median(took), 4) if took else 0.0,
        "anomalies": sum("anomaly" in line for line in lines),
    }
    if any("locks" in line for line in done):
        for name in LOCK_FIGURES:
            found[name] = round(statistics.fmean(line.get(name, 0) for line in done), 4)
    refused = [line["refused"] for line in lines if "refused" in line]
    return {**found, **({"first_refusal": refused[0]} if refused else {})}


def contests_table(lines: Iterable[Line], middle: Iterable[Line]) -> list[list[str]]:
    """A line for each engine, case and number of writers; ``middle`` are the medians over runs."""
    told = ("commits/s", "upsert s", "tried again", "failed", "lock wait s", "lock held s")
    rows = [["engine", "partitions", "writers", *told, "rows right"]]
    wrong = {
        (line["engine"], line["step"])
        for line in lines
        if not line["is_right"] or line["anomalies"]
    }
    for line in middle:
        case, _, writers = line["step"].partition(", ")
        numbers = [f"{line[name]:.2f}" for name in ("commits_per_second", "median_seconds")]
        numbers += [f"{line[name]:g}" for name in ("tries_again", "failed")]
        locked = (line.get(name) for name in ("lock_wait_seconds", "lock_held_seconds"))
        numbers += ["-" if value is None else f"{value:.3f}" for value in locked]
        is_right = "no" if (line["engine"], line["step"]) in wrong else "yes"
        rows.append([line["engine"], case, writers, *numbers, is_right])
    return rows


def contest_panels(middle: Sequence[Line]) -> Panels:
    """What a chart shows: for each figure the points of each engine and case over the writers."""
    drawn = []
    for name, title in DRAWN.items():
        points: dict[str, list[tuple[float, float]]] = {}
        for line in middle:
            case, _, writers = line["step"].partition(", ")
            if name in line:
                points.setdefault(f"{line['engine']}, {case}", []).append(
                    (float(writers), line[name])
                )
        if points:
            drawn.append((title, points))
    return drawn
