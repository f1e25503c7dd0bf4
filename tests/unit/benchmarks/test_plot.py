"""What the chart of a benchmark shows: every value that was measured, written out."""

from __future__ import annotations

from benchmarks.plot import Bars, bars_of


def test_every_value_is_drawn_and_written_at_the_end_of_its_bar() -> None:
    steps = [("one", [1.5, 60.0]), ("two", [3.0, None]), ("three", [None, 0.0])]
    assert bars_of(["ours", "theirs"], steps) == [
        Bars("ours", tops=(0, 3), seconds=(1.5, 3.0), labels=("1.50 s", "3.00 s")),
        Bars("theirs", tops=(1, 7), seconds=(60.0, 0.0), labels=("60 s", "0.00 s")),
    ]
