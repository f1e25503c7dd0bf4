"""A report as a coloured table for a terminal, as aligned text for a pipe, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyhudi.cli.cells import cell
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report

_NUMBERS = (Kind.NUMBER, Kind.COUNT, Kind.SIZE, Kind.SECONDS, Kind.RATIO, Kind.SHARE)
_STYLES = {
    "completed": "green",
    "archived": "dim",
    "requested": "yellow",
    "inflight": "yellow",
    "error": "bold red",
    "orphan": "yellow",
    "note": "cyan",
}
_GAP = "  "


def show(report: Report, console: Console) -> None:
    """Print a report: tables where the console is a terminal, aligned text elsewhere."""
    if not console.is_terminal:
        console.file.write("\n".join(plain_lines(report)) + "\n")
        return
    console.print(Text(report.subject, style="bold"))
    if report.facts:
        console.print(_fact_table(report))
    for grid in report.grids:
        console.print()
        if grid.rows:
            _show_grid(grid, report.zone, console)
        else:
            console.print(Text(f"{_heading(grid.name)}: {grid.empty}", style="dim"))
    notes = _notes(report)
    if notes:
        console.print()
    for note in notes:
        console.print(Text(note, style="dim"))


def show_json(report: Report, out: TextIO) -> None:
    """Print a report as one JSON object: facts by their names, grids as lists of objects.

    Values are as they were gathered: bytes, seconds, the digits of instants.
    """
    found: dict[str, object] = {"subject": report.subject}
    found |= {fact.name: fact.value for fact in report.facts}
    found |= {grid.name: _objects(grid) for grid in report.grids}
    found |= {"remarks": list(report.notes), "time_zone": report.zone}
    out.write(json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n")


def plain_lines(report: Report) -> Iterator[str]:
    """The lines of a report as aligned text, all columns among them."""
    yield report.subject
    if report.facts:
        yield ""
        named = [(_label(fact.name, fact.kind, report.zone), _text(fact)) for fact in report.facts]
        widest = max(len(label) for label, _ in named)
        yield from (f"{label:<{widest}}{_GAP}{text}".rstrip() for label, text in named)
    for grid in report.grids:
        yield ""
        yield _heading(grid.name) if grid.rows else f"{_heading(grid.name)}: {grid.empty}"
        if grid.rows:
            yield from _aligned(grid, report.zone)
    notes = _notes(report)
    if notes:
        yield ""
        yield from notes


def _objects(grid: Grid) -> list[dict[str, object]]:
    names = [column.name for column in grid.columns]
    return [dict(zip(names, row, strict=True)) for row in grid.rows]


def _fact_table(report: Report) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for fact in report.facts:
        text = _text(fact)
        label = _label(fact.name, fact.kind, report.zone)
        table.add_row(label, _styled(text, fact.kind))
    return table


def _show_grid(grid: Grid, zone: str, console: Console) -> None:
    texts = [
        [cell(value, column.kind) for value, column in zip(row, grid.columns, strict=True)]
        for row in grid.rows
    ]
    heads = [_label(column.name, column.kind, zone) for column in grid.columns]
    widths = [max(map(cell_len, column)) for column in zip(heads, *texts, strict=True)]
    shown = _fitting(grid.columns, widths, console.width)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold cyan",
    )
    for place in shown:
        column = grid.columns[place]
        table.add_column(
            heads[place],
            justify="right" if column.kind in _NUMBERS else "left",
            no_wrap=not column.least,
            overflow="fold" if column.least else "ellipsis",
        )
    for row in texts:
        table.add_row(*(_styled(row[at], grid.columns[at].kind) for at in shown))
    console.print(Text(_heading(grid.name), style="bold"))
    console.print(table)
    hidden = [heads[at] for at in range(len(heads)) if at not in shown]
    if hidden:
        names = ", ".join(hidden)
        console.print(Text(f"Not shown for want of room: {names}; --json has all.", style="dim"))


def _fitting(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The places of the columns that a terminal has room for, at least the first."""
    shown = list(range(len(columns)))

    def needed() -> int:
        least = (min(widths[at], columns[at].least or widths[at]) for at in shown)
        return sum(least) + len(_GAP) * (len(shown) - 1)

    while len(shown) > 1 and needed() > room:
        shown.remove(max(shown, key=lambda at: (columns[at].rank, at)))
    return shown


def _styled(text: str, kind: Kind) -> Text:
    """A cell, coloured where it is one of our own words that stands out."""
    return Text(text, style=_STYLES.get(text, "") if kind is Kind.TEXT else "")


def _aligned(grid: Grid, zone: str) -> Iterator[str]:
    heads = [_label(column.name, column.kind, zone) for column in grid.columns]
    rows = [
        [cell(value, column.kind) for value, column in zip(row, grid.columns, strict=True)]
        for row in grid.rows
    ]
    widths = [max(map(cell_len, texts)) for texts in zip(heads, *rows, strict=True)]
    for texts in (heads, *rows):
        cells = map(_justified, texts, grid.columns, widths)
        yield _GAP.join(cells).rstrip()


def _justified(text: str, column: Column, width: int) -> str:
    gap = " " * (width - cell_len(text))
    return gap + text if column.kind in _NUMBERS else text + gap


def _notes(report: Report) -> tuple[str, ...]:
    """The notes of a report, and which zone its times are in."""
    kinds = {fact.kind for fact in report.facts}
    kinds |= {column.kind for grid in report.grids for column in grid.columns}
    if not kinds & {Kind.INSTANT, Kind.MOMENT}:
        return report.notes
    return (*report.notes, f"Instants and times are in {report.zone}, the table's zone.")


def _heading(name: str) -> str:
    return name.replace("_", " ")


def _label(name: str, kind: Kind, zone: str) -> str:
    """A name for people; times say their zone, and users' own names stay as they are."""
    if kind in (Kind.DATA, Kind.NUMBER):
        return name
    return f"{_heading(name)} ({zone})" if kind is Kind.MOMENT else _heading(name)


def _text(fact: Fact) -> str:
    return cell(fact.value, fact.kind)
