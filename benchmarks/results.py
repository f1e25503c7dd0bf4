"""JSON lines of a benchmark: kept, checked against each other, made into medians and tables."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from engines import CORES, OURS, ROOT, Line

ANSWERS = ("fingerprint", "sum")
"""What engines that did the same must answer alike."""


def surroundings(benchmark: str, **more: Any) -> Line:
    """The first line of a run: what was measured, when, on what."""
    revision = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    packages = ("pyspark", "pyarrow", "deltalake")
    return {
        "benchmark": benchmark,
        "about": {
            "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
            "revision": revision.stdout.strip(),
            "command": " ".join(["python", "benchmarks/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
            "processor": _processor(),
            "cores": CORES,
            "memory_gb": round(pages / 1e9),
            "python": platform.python_version(),
            **{name: _version(name) for name in packages},
            **more,
        },
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.processor()


@dataclass
class Record:
    """Prints each line, appends it to a file if one is named, and holds engines to one answer."""

    benchmark: str
    output: Path | None = None
    lines: list[Line] = field(default_factory=list)
    _answers: dict[tuple[str, str], tuple[str, Any]] = field(default_factory=dict)

    def begin(self, **more: Any) -> None:
        """Say what is measured and where."""
        self._print(surroundings(self.benchmark, **more))

    def add(self, line: Line, **more: Any) -> None:
        """Keep a line; ends the benchmark when its answer is another engine's no more."""
        whole = {"benchmark": self.benchmark, **more, **line}
        self._print(whole)
        self.lines.append(whole)
        for name in ANSWERS:
            if name in line:
                self._check(line["engine"], line["step"], name, line[name])

    def end(self) -> None:
        """Say that the benchmark came to its end; a report leaves out one that did not."""
        self._print({"benchmark": self.benchmark, "ended": True})

    def _check(self, engine: str, step: str, name: str, answer: Any) -> None:
        first, expected = self._answers.setdefault((step, name), (engine, answer))
        if answer != expected:
            raise SystemExit(
                f"after {step} the tables differ: {name} is {answer} in {engine} and {expected} "
                f"in {first}"
            )

    def _print(self, line: Line) -> None:
        text = json.dumps(line)
        print(text, flush=True)
        if self.output is not None:
            self.output.parent.mkdir(parents=True, exist_ok=True)
            with open(self.output, "a", encoding="utf-8") as file:
                file.write(f"{text}\n")


def medians(lines: Iterable[Line]) -> list[Line]:
    """One line per engine and step: the median of every number over the runs, and their count."""
    grouped: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        grouped[line["engine"], line["step"]].append(line)
    found = []
    for (engine, step), runs in grouped.items():
        numbers = [n for n, v in runs[0].items() if isinstance(v, int | float) and n != "run"]
        middle = {n: round(statistics.median(run[n] for run in runs), 3) for n in numbers}
        seconds = [run["seconds"] for run in runs]
        spread = {"fastest": min(seconds), "slowest": max(seconds)}
        found.append({"engine": engine, "step": step, "runs": len(runs), **middle, **spread})
    return found


def by_step(middle: Iterable[Line]) -> dict[str, dict[str, Line]]:
    """The medians as step -> engine -> line, in the order in which they were measured."""
    found: dict[str, dict[str, Line]] = defaultdict(dict)
    for line in middle:
        found[line["step"]][line["engine"]] = line
    return dict(found)


def engines_of(steps: dict[str, dict[str, Line]]) -> list[str]:
    """The engines that were measured, ours first."""
    names = list(dict.fromkeys(name for lines in steps.values() for name in lines))
    return sorted(names, key=lambda name: not name.startswith(OURS))


def times_text(line: Line | None, ours: Line | None) -> str:
    """Seconds, and of a peer how many times ours that is."""
    if line is None:
        return "-"
    seconds = f"{line['seconds']:.2f}" if line["seconds"] < 10 else f"{line['seconds']:.1f}"
    if ours is None or line["engine"].startswith(OURS) or not ours["seconds"]:
        return seconds
    return f"{seconds} ({line['seconds'] / ours['seconds']:.1f}x)"


def seconds_table(middle: Iterable[Line], more: Sequence[str] = ("rows",)) -> list[list[str]]:
    """A line per step with each engine's seconds; `more` are numbers of ours to show beside."""
    steps = by_step(middle)
    engines = engines_of(steps)
    rows = [["step", *more, *engines]]
    for step, lines in steps.items():
        ours = lines.get(OURS)
        first = ours or next(iter(lines.values()))
        beside = [f"{int(first.get(name, 0)):,}" for name in more]
        rows.append([step, *beside, *(times_text(lines.get(name), ours) for name in engines)])
    return rows


def memory_table(middle: Iterable[Line]) -> list[list[str]]:
    """Peak memory per step: JVM / largest Python worker of each engine."""
    steps = by_step(middle)
    engines = engines_of(steps)
    rows = [["step", *engines]]
    for step, lines in steps.items():
        rows.append([step, *(_memory(lines.get(name)) for name in engines)])
    return rows


def _memory(line: Line | None) -> str:
    if line is None:
        return "-"
    jvm, worker = line["peak_jvm_bytes"] / 1e6, line["peak_largest_worker_bytes"] / 1e6
    driver = line["peak_driver_python_bytes"] / 1e6
    if not jvm:
        return f"{driver:,.0f}"
    return f"{jvm:,.0f} / {worker:,.0f}" if worker else f"{jvm:,.0f}"


def plain_text(rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal, the first column to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def show(record: Record, more: Sequence[str] = ("rows",)) -> None:
    """Medians on standard error: seconds with ratios, then memory."""
    record.end()
    middle = medians(record.lines)
    print("\nseconds, of peers how many times ours", file=sys.stderr)
    print(plain_text(seconds_table(middle, more)), file=sys.stderr)
    print("\npeak MB: JVM / largest Python worker; delta_rs: its process", file=sys.stderr)
    measured = [line for line in middle if "peak_jvm_bytes" in line]
    print(plain_text(memory_table(measured)), file=sys.stderr)
