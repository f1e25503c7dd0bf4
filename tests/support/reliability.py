"""The page of the points at which writes and compactions are stopped."""

from typing import Final

from tests.support.crash_cases import Case, cases
from tests.support.crashes import Course, course_of
from tests.support.source_tree import ROOT

PAGE: Final = ROOT / "docs" / "reliability.md"
REWRITE: Final = "make reliability"

_CRASHES = """\
# Reliability

What is stopped, damaged or made up by the tests, and what comes of it. `make reliability` tries all
of it and writes this page; `make test` tries a sample.

## Stopped at any storage call

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
the same as an error, and is not counted again (`tests/faults/test_crash_in_write.py`).

| Operation | Table type | Index | Storage calls | Deaths | Different states | Errors |
|---|---|---|---:|---:|---:|---:|
"""


def write_page(*, courses: int, points: int) -> None:
    """Write the page, when so many points of so many courses are all that there are."""
    found = [(case, course_of(case.prepare(), case.act)) for case in cases()]
    rows = [row_of(case, course) for case, course in found]
    totals = [sum(column) for column in zip(*(_numbers(each) for _, each in found), strict=True)]
    if (courses, points) == (len(found), totals[0] + totals[-1]):
        PAGE.write_text("".join([_HEAD, *rows, _row("all", "", "", *totals)]), encoding="utf-8")


def row_of(case: Case, course: Course) -> str:
    """The row of a case on the page."""
    return _row(case.operation, case.table_type, case.index, *_numbers(course))


def numbers_on_page() -> list[list[int]]:
    """The numbers in each row of the page, the last of which is their sum."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.startswith(_HEAD), f"{PAGE.name} begins otherwise; {REWRITE} writes it again"
    rows = page.removeprefix(_HEAD).splitlines()
    return [[int(each.replace(",", "")) for each in row.split("|")[4:-1]] for row in rows]


def _numbers(course: Course) -> tuple[int, int, int, int]:
    # A death before each call, and none of them after the last.
    return course.calls, course.calls, len(course.states), len(course.faults())


def _row(operation: str, table_type: str, index: str, *numbers: int) -> str:
    texts = (operation, table_type, index, *(f"{each:,}" for each in numbers))
    return f"| {' | '.join(texts)} |\n"
