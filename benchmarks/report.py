"""Render the JSON lines of benchmarks into docs/performance.md and its plots.

    python benchmarks/report.py results/*.jsonl

Between the page's two markers each measurement has a section, and those of the files are written
anew, so no number there is typed by hand; the others stay as they are. Where one thing was measured
twice, the later lines in the order of the files count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bootstrap_told
from contest_figures import contest_panels, contests_table
from engines import ROOT, Line
from figures import verdict, width_panels, widths_table, window_panels, windows_table
from plot import draw, draw_lines
from requests_told import storage_table, verdicts
from results import by_step, engines_of, medians, memory_table, seconds_table

PAGE = ROOT / "docs" / "performance.md"
HEADING = "### "
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
NOT_ABOUT = (
    *("command", "date", "repeat", "scale_factor", "layout", "table_type", "interleave"),
    *("megabytes", "upserts", "new_rows", "storage", "source_bytes"),
)
REWRITES = "copy_on_write"
ON_DISK = "local"


@dataclass(frozen=True)
class Measured:
    """One benchmark as it was run: what about, and its lines."""

    benchmark: str
    about: Line
    lines: list[Line] = field(default_factory=list)

    @property
    def what(self) -> tuple[str, ...]:
        """What tells one measurement from another."""
        keys = ("scale_factor", "layout", "megabytes", "upserts", "new_rows")
        kind = self.about.get("table_type", REWRITES)
        found = (self.benchmark, *(str(self.about.get(key, "")) for key in keys))
        storage = self.about.get("storage", ON_DISK)
        return (*found, kind) if storage == ON_DISK else (*found, storage, kind)


def read(files: Iterable[Path]) -> list[Measured]:
    """The measurements of the files; one that failed midway is left out."""
    found: list[Measured] = []
    latest: dict[tuple[str, ...], Measured] = {}
    for file in files:
        for text in file.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if "about" in line:
                found.append(Measured(line["benchmark"], line["about"]))
            elif "ended" in line:
                latest[found[-1].what] = found[-1]
            else:
                found[-1].lines.append(line)
    return [latest[what] for what in sorted(latest)]


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table."""
    head, *body = rows
    ruler = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(row)} |" for row in (head, ruler, *body)]


def section(measured: Measured, plots: Path | None) -> list[str]:
    """Heading, command, tables, plot of one measurement; writes the plot into a folder, if any."""
    title = heading(measured)
    if measured.benchmark in ("longevity", "width"):
        return figures_section(measured, title, plots)
    if measured.benchmark == "writers":
        return writers_section(measured, title, plots)
    if measured.about.get("storage", ON_DISK) != ON_DISK:
        return storage_section(measured, title)
    is_bootstrap = measured.benchmark == "bootstrap"
    middle = medians(bootstrap_told.done(measured.lines) if is_bootstrap else measured.lines)
    more = ("rows", "files_written") if measured.benchmark == "partitions" else ("rows",)
    is_large = measured.benchmark == "large_file"
    about = measured.about
    lines = [
        f"{HEADING}{title}",
        "",
        f"`{about['command']}`, {about['date']}, median of {about['repeat']} "
        f"({_machine(about)}). Seconds; in parentheses how many times ours a peer took.",
        "",
        *markdown(files_table(middle) if is_large else seconds_table(middle, more)),
        "",
        *bootstrap_verdicts(measured, middle),
        *plotted(measured, title, middle, plots),
    ]
    if not is_large and any("peak_jvm_bytes" in line for line in middle):
        lines += [
            "Peak memory in MB, of the JVM / of the largest Python worker (delta_rs: its process):",
            "",
            *markdown(memory_table(line for line in middle if "peak_jvm_bytes" in line)),
            "",
        ]
    return lines


def bootstrap_verdicts(measured: Measured, middle: Sequence[Line]) -> list[str]:
    """What was to be reached, of a bootstrap alone."""
    if measured.benchmark != "bootstrap":
        return []
    told = bootstrap_told.verdicts(by_step(middle), measured.about["source_bytes"])
    return [*(f"- {text}" for text in told), ""]


def figures_section(measured: Measured, title: str, plots: Path | None) -> list[str]:
    """The section of figures over upserts or partitions: what grows, the table, the chart."""
    about, lines = measured.about, measured.lines
    is_long = measured.benchmark == "longevity"
    loads = [line["load"] for line in lines if "load" in line]
    found = [
        f"{HEADING}{title}",
        "",
        f"`{about['command']}`, {about['date']} ({_machine(about)}; other work on the machine: the "
        f"load average was {min(loads):.0f} to {max(loads):.0f}).",
        "",
    ]
    for line in lines:
        if "growth" in line:
            found += [f"{line['engine']}: {verdict(line)}.", ""]
    name = plot_name(measured)
    if plots:
        below = "upserts" if is_long else "partitions"
        shown = window_panels(lines) if is_long else width_panels(lines)
        draw_lines(title, below, shown, plots / name, "linear" if is_long else "log")
    table = windows_table(lines) if is_long else widths_table(lines)
    return [*found, *markdown(table), "", f"![{title}]({name})", ""]


def writers_section(measured: Measured, title: str, plots: Path | None) -> list[str]:
    """The section of several writers at once: the table, the chart."""
    name, middle = plot_name(measured), medians(measured.lines)
    if plots:
        draw_lines(title, "writers", contest_panels(middle), plots / name)
    table = markdown(contests_table(measured.lines, middle))
    return [*_begun(measured, title), *table, "", f"![{title}]({name})", ""]


def storage_section(measured: Measured, title: str) -> list[str]:
    """The section of tables on an object store beside those on a disk: seconds and requests."""
    found, table = _begun(measured, title), storage_table(by_step(medians(measured.lines)))
    for text in verdicts(table, measured.lines):
        found += [f"{text[0].upper()}{text[1:]}.", ""]
    return [*found, *markdown(table), ""]


def _begun(measured: Measured, title: str) -> list[str]:
    about = measured.about
    loads = [line["load"] for line in measured.lines if "load" in line]
    return [
        f"{HEADING}{title}",
        "",
        f"`{about['command']}`, {about['date']}, median of {about['repeat']} ({_machine(about)}; "
        f"the load average was {min(loads):.0f} to {max(loads):.0f}, with the engines themselves).",
        "",
    ]


def files_table(middle: Sequence[Line]) -> list[list[str]]:
    """A line per large file: what it is, how long its merge took and what the worker held."""
    facts = "MB", "log MB", "rows", "row groups", "incoming rows"
    rows = [["file", *facts, "seconds", "worker, peak MB"]]
    for line in middle:
        sizes = line["file_bytes"] / 1e6, line.get("log_bytes", 0) / 1e6
        numbers = (*sizes, line["file_rows"], line["file_row_groups"])
        held = f"{line['peak_largest_worker_bytes'] / 1e6:,.0f}"
        told = [*(f"{number:,.0f}" for number in (*numbers, line["rows"]))]
        rows.append([line["engine"].partition(":")[2], *told, f"{line['seconds']:.1f}", held])
    return rows


def heading(measured: Measured) -> str:
    """What was measured, in a line."""
    about = measured.about
    size = f"scale factor {about.get('scale_factor')}"
    logs = "" if measured.what[-1] == REWRITES else ", merge-on-read"
    new = f", {about['new_rows']} new rows each" if about.get("new_rows") else ""
    store = "" if about.get("storage", ON_DISK) == ON_DISK else ", on S3"
    widths = sorted({line["partitions"] for line in measured.lines if "partitions" in line})
    return {
        "longevity": f"{about.get('upserts', 0):,} small upserts into one table{new}{logs}",
        "width": f"One of {', '.join(f'{width:,}' for width in widths)} partitions{logs}",
        "upsert": f"Write steps, lineitem, {size}, {about.get('layout')}{logs}{store}",
        "writers": f"Writers at once, {about.get('upserts')} upserts each{logs}{store}",
        "partitions": f"Upserts into 1, 8 and 80 of 80 partitions, {size}",
        "bootstrap": f"A dataset made a table, lineitem, {size}",
        "cold": "A cold spark-submit, 10,000 flights",
        "large_file": f"Merging into one base file of {about.get('megabytes')} MB",
    }[measured.benchmark]


def plotted(measured: Measured, title: str, middle: list[Line], plots: Path | None) -> list[str]:
    """Write the plot of a measurement; the lines that show it."""
    steps = {name: lines for name, lines in by_step(middle).items() if name != "start"}
    engines = engines_of(steps)
    groups = [(name, [_seconds(lines.get(e)) for e in engines]) for name, lines in steps.items()]
    name = plot_name(measured)
    if plots:
        draw(f"{title}: seconds", engines, groups, plots / name)
    return [f"![{title}]({name})", ""]


def plot_name(measured: Measured) -> str:
    """The file of a measurement's plot."""
    parts = (part for part in measured.what if part not in ("", "0", REWRITES, ON_DISK))
    return "-".join(["performance", *parts]) + ".svg"


def _machine(about: Line) -> str:
    return ", ".join(f"{k} {v}" for k, v in about.items() if k not in NOT_ABOUT)


def _seconds(line: dict[str, Any] | None) -> float | None:
    return None if line is None else float(line["seconds"])


def placed(page: str, sections: Sequence[Sequence[str]]) -> str:
    """The page with these sections, in place of those of the same headings or behind all others."""
    before, found, rest = page.partition(BEGIN)
    body, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{PAGE.name} has no markers {BEGIN} and {END}")
    old = [text.rstrip() for text in body.split(HEADING)[1:]]
    texts = {text.partition("\n")[0]: text for text in old}
    for lines in sections:
        text = "\n".join(lines).strip("\n").removeprefix(HEADING)
        texts[text.partition("\n")[0]] = text
    written = "".join(f"{HEADING}{text}\n\n" for text in texts.values())
    return f"{before}{BEGIN}\n\n{written}{END}{after}"


def main() -> None:
    """Read the files, write plots and page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+", help="files that --output wrote")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write into")
    parser.add_argument("--no-plots", action="store_true", help="leave the plots as they are")
    given = parser.parse_args()
    plots = None if given.no_plots else given.page.parent
    sections = [section(measured, plots) for measured in read(given.results)]
    page = placed(given.page.read_text(encoding="utf-8"), sections)
    given.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
