"""Figures over the upserts and over the partitions of a table: lines, tables, what grows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engines import Line
    from plot import Panels

WINDOWS, FEWEST = 10, 3
"""Into how many windows the upserts of a table are parted, and how many tell whether one grows."""

TOLERANCE = 0.1
"""Figures that grow by no more than this, from the second window to the last, are flat."""

FIGURES: Mapping[str, str] = {
    "seconds": "seconds per upsert",
    "read_seconds": "seconds per read",
    "processor_seconds": "CPU seconds per upsert",
    "calls": "storage calls per upsert",
    "entries": "listed entries per upsert",
    "read_calls": "storage calls per read",
    "hoodie_files": "files in .hoodie",
    "metadata_table_files": "files of Hudi's metadata table",
    "archive_files": "archive files",
    "data_files": "data files",
}
"""What is held to be flat, where it was measured, with what it is called."""

DRAWN = ("seconds", "read_seconds", "hoodie_files", "data_files", "processor_seconds", "calls")
GROWS_BY_DESIGN = ("archive_files",)
"""Each run of archiving leaves a file, unless an option has them merged."""

WIDTH_STEPS = ("make", "upsert", "first_clean", "upsert_later", "read")
WIDTH_FIGURES: Mapping[str, str] = {
    "seconds": "seconds",
    "processor_seconds": "CPU seconds",
    "calls": "storage calls",
    "entries": "listed entries",
    "task_bytes": "bytes of the largest task",
}

WIDTH_DRAWN = ("seconds", "calls")

FILES = ("hoodie_files", "archive_files", "metadata_table_files", "data_files")
META_FOLDER = ".hoodie"
ARCHIVES = ((META_FOLDER, "archived"), (META_FOLDER, "timeline", "history"))
METADATA_TABLE = (META_FOLDER, "metadata")
PARTITION_FILE = ".hoodie_partition_metadata"


def window_line(upserts: Sequence[Line], reads: Sequence[Line]) -> Line:
    """The figures of one window: medians, of CPU time the mean, as it is counted in ticks.

    What runs after every so many upserts is not in their median; the mean and the slowest have it.
    Of the files, which were counted after each read, the most are told, as they come and go.
    """
    seconds = [line["seconds"] for line in upserts]
    found = {
        "upserts": len(upserts),
        "seconds": statistics.median(seconds),
        "mean_seconds": statistics.fmean(seconds),
        "slowest_seconds": max(seconds),
        "processor_seconds": statistics.fmean(line["processor_seconds"] for line in upserts),
        "read_seconds": statistics.median(line["seconds"] for line in reads),
    }
    if "calls" in upserts[0]:
        found["calls"] = statistics.fmean(line["calls"] for line in upserts)
        found["entries"] = statistics.fmean(line["entries"] for line in upserts)
        found["read_calls"] = statistics.fmean(line["calls"] for line in reads)
    for name in FILES:
        found[name] = max(line[name] for line in reads)
    return {name: round(value, 4) for name, value in found.items()}


def file_counts(table: Path) -> Line:
    """The files of a table on a local disk, without the checksums that Hadoop lays beside them.

    ``hoodie_files`` are those of `.hoodie` but for archives and the metadata table of Hudi.
    """
    found = dict.fromkeys(FILES, 0)
    for path in table.rglob("*"):
        if path.suffix == ".crc" or path.name.startswith(PARTITION_FILE) or not path.is_file():
            continue
        found[_kind(path.relative_to(table).parts)] += 1
    return found


def _kind(parts: tuple[str, ...]) -> str:
    if parts[0] != META_FOLDER:
        return "data_files"
    if parts[:2] == METADATA_TABLE:
        return "metadata_table_files"
    if any(parts[: len(folder)] == folder for folder in ARCHIVES):
        return "archive_files"
    return "hoodie_files"


def growth(values: Sequence[float]) -> float:
    """By what share of itself a figure grows from the second window to the last.

    It goes by the median of the slopes between any two windows, so that a window in which the
    machine was busy counts for little.
    """
    rest = list(enumerate(values))[1:]
    slope = statistics.median((b - a) / (j - i) for (i, a), (j, b) in combinations(rest, 2))
    begin = statistics.median(value - slope * (place - 1) for place, value in rest)
    grown = slope * (len(rest) - 1)
    return round(grown / begin, 3) if begin > 0 else float(grown > 0)


def growth_line(windows: Sequence[Line]) -> Line:
    """How much each figure grows, and which are not flat."""
    names = [name for name in FIGURES if any(line.get(name) for line in windows)]
    found = {name: growth([line[name] for line in windows]) for name in names}
    grown = [
        name for name, share in found.items() if share > TOLERANCE and name not in GROWS_BY_DESIGN
    ]
    return {"growth": found, "not_flat": grown}


def verdict(line: Line) -> str:
    """Whether the figures are flat after the first window but one, and by how much they are not."""
    grown = [f"{FIGURES[name]} {line['growth'][name]:+.0%}" for name in line["not_flat"]]
    if grown:
        told = f"not flat from the second window to the last: {', '.join(grown)}"
        is_time_alone = set(line["not_flat"]) <= {"seconds", "read_seconds"}
        is_busy = is_time_alone and "processor_seconds" in line["growth"]
        return f"{told}, while the CPU time is: look at the load" if is_busy else told
    share, name = max(
        (share, name) for name, share in line["growth"].items() if name not in GROWS_BY_DESIGN
    )
    most = f"{FIGURES[name]} grow most, {share:+.0%}" if share > 0 else "nothing grows"
    return f"flat from the second window on; {most}"


def window_panels(lines: Iterable[Line]) -> Panels:
    """What a chart shows of windows: for each figure the points of each engine."""
    found = [line for line in lines if "until" in line]
    drawn = []
    for name in DRAWN:
        points: dict[str, list[tuple[float, float]]] = {}
        for line in found:
            if name in line:
                points.setdefault(line["engine"], []).append((line["until"], line[name]))
        if points:
            drawn.append((FIGURES[name], points))
    return drawn


def windows_table(lines: Iterable[Line]) -> list[list[str]]:
    """A line for each engine and window with its figures."""
    found = [line for line in lines if "until" in line]
    names = [name for name in FIGURES if any(line.get(name) for line in found)]
    rows = [["engine", "upserts", *(FIGURES[name] for name in names)]]
    rows += [
        [line["engine"], line["step"], *(_text(line.get(name)) for name in names)] for line in found
    ]
    return rows


def width_panels(lines: Iterable[Line]) -> Panels:
    """What a chart shows of tables of ever more partitions: for each figure those of each step."""
    steps = [line for line in lines if line["step"] != "make"]
    drawn = []
    for name in WIDTH_DRAWN:
        points: dict[str, list[tuple[float, float]]] = {}
        for line in steps:
            points.setdefault(line["step"], []).append((line["partitions"], line[name]))
        drawn.append((WIDTH_FIGURES[name], points))
    return drawn


def widths_table(lines: Iterable[Line]) -> list[list[str]]:
    """A line for each step and number of partitions."""
    rows = [["step", "partitions", *WIDTH_FIGURES.values()]]
    for line in sorted(lines, key=lambda each: WIDTH_STEPS.index(each["step"])):
        numbers = [_text(line.get(name)) for name in WIDTH_FIGURES]
        rows.append([line["step"], f"{line['partitions']:,}", *numbers])
    return rows


def _text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:.3g}"
