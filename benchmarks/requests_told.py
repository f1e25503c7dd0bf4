"""What a table on an object store costs: times those on a disk, and requests of each kind."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engines import Line

ON_STORE = "_s3"
"""What the name of an engine ends with whose table lies on an object store."""

GOAL = 1.3
"""A step on an object store should take no more than so many times what it takes on a disk."""

PER_READ, PER_WRITTEN, BESIDE = 6, 4, 60
"""Requests that are to be enough: for each file read, for each written, and for all else."""

KINDS = ("get", "put", "list", "head", "delete", "multipart")
SHARES = ("markers", "heartbeat")
"""Those among them that are about these, counted once more."""


def made(line: Line) -> int:
    """All requests of a step."""
    return sum(int(line.get(f"requests_{kind}", 0)) for kind in KINDS)


def budget(line: Line) -> dict[str, Any]:
    """What an upsert may ask, by the files it rewrote, each of which it has read.

    Files that it has read and left alone are not known here, which makes it less than it may be.
    """
    rewritten, written = line["files_rewritten"], line["files_rewritten"] + line["files_created"]
    enough = PER_READ * rewritten + PER_WRITTEN * written + BESIDE
    return {"requests": made(line), "requests_enough": enough}


def storage_table(steps: Mapping[str, Mapping[str, Line]]) -> list[list[str]]:
    """A line for each step and engine of ours: seconds on both, CPU seconds, requests by kind.

    ``steps`` are the medians by step and engine.
    """
    heads = "disk s", "S3 s", "times", "CPU disk s", "CPU S3 s", "server CPU s"
    rows = [["step", *heads, "requests", *KINDS, *SHARES]]
    for step, engines in steps.items():
        for name, line in engines.items():
            if not name.endswith(ON_STORE):
                continue
            disk = engines.get(name.removesuffix(ON_STORE))
            seconds = [_text(disk and disk["seconds"]), _text(line["seconds"])]
            times = f"{line['seconds'] / disk['seconds']:.2f}" if disk else "-"
            cpu = disk and disk.get("processor_seconds"), line.get("processor_seconds")
            spent = [_text(each) for each in (*cpu, line.get("server_seconds"))]
            counts = (int(line.get(f"requests_{kind}", 0)) for kind in (*KINDS, *SHARES))
            counted = [f"{count:,}" for count in (made(line), *counts)]
            what = step if name.startswith("pyhudi_s3") else f"{step}, {name}"
            rows.append([what, *seconds, times, *spent, *counted])
    return rows


def verdicts(table: Sequence[Sequence[str]], lines: Iterable[Line]) -> list[str]:
    """Whether steps on the store take too long, by their table, and whether they ask too much."""
    found = []
    times = {row[0]: float(row[3]) for row in table[1:] if row[3] != "-"}
    steps = {step: each for step, each in times.items() if step != "start"}
    if steps:
        step, most = max(steps.items(), key=lambda each: each[1])
        kept = "at most" if most <= GOAL else "up to"
        middle = statistics.geometric_mean(steps.values())
        found.append(
            f"steps take {kept} {most:.2f} times as long as on the disk ({step}), reads among "
            f"them, {middle:.2f} times on average; {GOAL} is the goal"
        )
    for line in (each for each in lines if "requests_enough" in each):
        share = line["requests_markers"] + line["requests_heartbeat"]
        found.append(
            f"an upsert of 1 % that rewrote {line['files_rewritten']} files made "
            f"{line['requests']:,} requests, of which {line['requests_markers']:,} for markers and "
            f"{line['requests_heartbeat']} for the heartbeat ({share / line['requests']:.0%}); "
            f"{line['requests_enough']:,} is the goal"
        )
        break
    return found


def _text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
