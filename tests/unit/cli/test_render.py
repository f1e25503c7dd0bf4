"""One report in three forms."""

import io
import json

import pytest
from rich.console import Console

from pyhudi.cli.render import plain_lines, show, show_json
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report

REPORT = Report(
    subject="orders",
    facts=(Fact(name="log_bytes", value=2048, kind=Kind.SIZE),),
    grids=(
        Grid(
            name="some_files",
            columns=(
                Column(name="instant", kind=Kind.INSTANT),
                Column(name="started", kind=Kind.MOMENT, rank=2),
                Column(name="base", kind=Kind.SIZE),
                Column(name="dag_run", rank=1, least=10),
            ),
            rows=(
                ("20260102030405678", "20260102030405678", 1024, "flights 🚀 2013"),
                ("20260102030405679", "20260102030405679", 5, None),
            ),
        ),
        Grid(name="others", columns=(Column(name="a"),), rows=(), empty="there are no others"),
    ),
    notes=("Nothing else.",),
)


def in_terminal(width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    show(REPORT, console)
    return out.getvalue()


def test_a_pipe_gets_every_column_aligned() -> None:
    assert list(plain_lines(REPORT)) == [
        "orders",
        "",
        "log bytes  2.0 KiB",
        "",
        "some files",
        "instant            started (UTC)           base  dag run",
        "20260102030405678  2026-01-02 03:04:05  1.0 KiB  flights 🚀 2013",
        "20260102030405679  2026-01-02 03:04:05      5 B  -",
        "",
        "others: there are no others",
        "",
        "Nothing else.",
        "Instants and times are in UTC, the table's zone.",
    ]


def test_json_has_the_same_facts_as_they_were_gathered() -> None:
    out = io.StringIO()
    show_json(REPORT, out)
    assert json.loads(out.getvalue()) == {
        "subject": "orders",
        "log_bytes": 2048,
        "some_files": [
            {
                "instant": "20260102030405678",
                "started": "20260102030405678",
                "base": 1024,
                "dag_run": "flights 🚀 2013",
            },
            {
                "instant": "20260102030405679",
                "started": "20260102030405679",
                "base": 5,
                "dag_run": None,
            },
        ],
        "others": [],
        "remarks": ["Nothing else."],
        "time_zone": "UTC",
    }


@pytest.mark.parametrize(
    ("width", "hidden"), [(120, ""), (45, "started (UTC)"), (30, "started (UTC), dag run")]
)
def test_a_narrow_terminal_loses_the_columns_that_matter_least(width: int, hidden: str) -> None:
    text = " ".join(in_terminal(width).split())
    assert (f"Not shown for want of room: {hidden}; --json has all." in text) == bool(hidden)
    assert ("flights" in text) == ("dag run" not in hidden)
    assert "…" not in text


def test_a_word_of_ours_is_coloured_and_the_same_word_of_a_user_is_not() -> None:
    columns = (Column(name="state"), Column(name="state", kind=Kind.DATA))
    grid = Grid(name="rows", columns=columns, rows=(("completed", "completed"),))
    out = io.StringIO()
    show(
        Report(subject="orders", grids=(grid,)),
        Console(file=out, force_terminal=True, width=80, color_system="standard"),
    )
    assert out.getvalue().count("\x1b[32mcompleted") == 1


@pytest.mark.parametrize("width", [30, 45, 80, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, in_terminal(width).splitlines())) <= width
