"""The page of the points at which writes and compactions are stopped."""

from collections.abc import Iterable
from typing import Final

from tests.support.crash_cases import Case, cases
from tests.support.crashes import Course, course_of
from tests.support.source_tree import ROOT

PAGE: Final = ROOT / "docs" / "reliability.md"
REWRITE: Final = "make reliability"

_HEAD = """\
# Reliability

Every write and compaction below was stopped at each of its storage calls, by the functions that
production runs, with tasks in one process and the table in memory. A death ends the process before
a call. An error lets a call fail, at once or after it has done its work, or lets it and all later
ones that need space fail. At each point:

- a reader sees the rows of before or those of after, whole; after an error that was raised, those
  of before;
- what is raised is an error of the engine or of the operating system;
- after the next write, and the next run of a plan, no data file, marker, heartbeat, pending instant
  or saved record is left that no commit accounts for, and the rows are right.

Deaths that leave the same files are looked at once. A late error of a call that changes nothing is
the same as an error, and is not counted again. `make reliability` tries every point and writes this
page; `make test` tries a sample of them (`tests/faults/test_crash_in_write.py`).

| Operation | Table type | Index | Storage calls | Deaths | Different states | Errors |
|---|---|---|---:|---:|---:|---:|
"""


def page_of(found: Iterable[tuple[Case, Course]]) -> str:
    """The page of what was tried."""
    rows, totals = [], [0, 0, 0]
    for case, course in found:
        numbers = course.calls, len(course.states), len(course.faults())
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        rows.append(_row(case.operation, case.table_type, case.index, *numbers))
    return "".join([_HEAD, *rows, _row("all", "", "", *totals)])


def write_page(*, courses: int, points: int) -> None:
    """Write the page, when so many points of so many courses are all that there are."""
    found = [(case, course_of(case.prepare(), case.act)) for case in cases()]
    whole = sum(course.calls + len(course.faults()) for _, course in found)
    if (courses, points) == (2 * len(found), whole):
        PAGE.write_text(page_of(found), encoding="utf-8")


def _row(operation: str, table_type: str, index: str, calls: int, states: int, errors: int) -> str:
    # A death before each call, and none of them after the last.
    numbers = (f"{each:,}" for each in (calls, calls, states, errors))
    return f"| {' | '.join((operation, table_type, index, *numbers))} |\n"
