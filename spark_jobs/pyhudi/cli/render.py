"""A report as a coloured table for a terminal, as aligned text for a pipe, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyhudi.cli.cells import cell
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value

_NUMBERS = (Kind.COUNT, Kind.SIZE, Kind.SECONDS, Kind.RATIO, Kind.SHARE)
_STYLES = {
    "completed": "green",
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
        if grid.rows:
            console.print(_grid_table(grid, report.zone, console.width))
        else:
            console.print(Text(f" {_heading(grid.name)}: {grid.empty}", style="dim"))
    for note in report.notes:
        console.print(Text(note, style="dim"))


def show_json(report: Report, out: TextIO) -> None:
    """Print a report as one JSON object: facts by their names, grids as lists of objects.

    Values are as they were gathered: bytes, seconds, the digits of instants.
    """
    found: dict[str, object] = {"subject": report.subject}
    found |= {fact.name: _json_value(fact.value, fact.kind) for fact in report.facts}
    found |= {grid.name: _objects(grid) for grid in report.grids}
    found |= {"notes": list(report.notes), "time_zone": report.zone}
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
    if report.notes:
        yield ""
        yield from report.notes


def _objects(grid: Grid) -> list[dict[str, object]]:
    return [
        {
            column.name: _json_value(value, column.kind)
            for column, value in zip(grid.columns, row, strict=True)
        }
        for row in grid.rows
    ]


def _json_value(value: Value, kind: Kind) -> object:
    if kind is Kind.JSON and isinstance(value, str):
        return json.loads(value)
    return value


def _fact_table(report: Report) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for fact in report.facts:
        text = _text(fact)
        label = _label(fact.name, fact.kind, report.zone)
        table.add_row(label, Text(text, style=_STYLES.get(text, "")))
    return table


def _grid_table(grid: Grid, zone: str, width: int) -> Table:
    shown = [place for place, column in enumerate(grid.columns) if column.from_width <= width]
    table = Table(
        title=_heading(grid.name),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        header_style="bold cyan",
    )
    for place in shown:
        column = grid.columns[place]
        table.add_column(
            _label(column.name, column.kind, zone),
            justify="right" if column.kind in _NUMBERS else "left",
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
        )
    for row in grid.rows:
        texts = [cell(row[place], grid.columns[place].kind) for place in shown]
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in texts))
    return table


def _aligned(grid: Grid, zone: str) -> Iterator[str]:
    heads = [_label(column.name, column.kind, zone) for column in grid.columns]
    rows = [
        [cell(value, column.kind) for value, column in zip(row, grid.columns, strict=True)]
        for row in grid.rows
    ]
    widths = [max(map(len, texts)) for texts in zip(heads, *rows, strict=True)]
    for texts in (heads, *rows):
        cells = map(_justified, texts, grid.columns, widths)
        yield _GAP.join(cells).rstrip()


def _justified(text: str, column: Column, width: int) -> str:
    return text.rjust(width) if column.kind in _NUMBERS else text.ljust(width)


def _heading(name: str) -> str:
    return name.replace("_", " ")


def _label(name: str, kind: Kind, zone: str) -> str:
    """A name for people; times say their zone."""
    return f"{_heading(name)} ({zone})" if kind is Kind.MOMENT else _heading(name)


def _text(fact: Fact) -> str:
    return cell(fact.value, fact.kind)
