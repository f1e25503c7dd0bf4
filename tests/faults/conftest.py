"""What the tests of failures need of Python itself."""

import gc
from collections.abc import Iterator

import pytest

from tests.support.points import IS_WHOLE
from tests.support.reliability import write_kills, write_page


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads take turns by call; a pause between two calls only makes the tests slow."""
    monkeypatch.setattr("time.sleep", lambda _: None)


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Arrow tells of files that could not be closed, in Python, whenever they are collected.

    In the midst of a compilation that would break it (CPython 3.11).
    """
    yield
    gc.collect()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how much was tried, and keep it when all of it was, and held."""
    passed = [each for each in terminalreporter.stats.get("passed", ()) if each.when == "call"]
    told = [each for report in passed for each in report.user_properties]
    points = [value for name, value in told if name == "points"]
    damages = sum(value for name, value in told if name == "damages")
    killed = [value for name, value in told if name == "kill"]
    examples = dict(value for name, value in told if name == "examples")
    if told:
        terminalreporter.write_line(
            f"{sum(points):,} points of {len(points)} courses held, {damages:,} damages were told, "
            f"{sum(examples.values()):,} examples of made-up bytes did no harm, "
            f"{len(killed)} kills of real processes were survived"
        )
    if IS_WHOLE and "failed" not in terminalreporter.stats:
        write_kills(killed)
        write_page(courses=len(points), points=sum(points), damages=damages, examples=examples)
