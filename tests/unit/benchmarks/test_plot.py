"""The chart of a benchmark is SVG that a browser draws, with every value written out."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks import plot


def test_every_value_stands_at_the_end_of_its_bar() -> None:
    chart = plot.bar_chart(
        "a < b", ["ours", "theirs"], [("one", [1.5, 60.0]), ("two", [3.0, None])]
    )
    texts = [element.text for element in ElementTree.fromstring(chart).iter() if element.text]
    assert {"1.50 s", "60 s", "3.00 s", "a < b", "ours", "theirs", "one", "two"} <= set(texts)


def test_grid_lines_are_few_and_round_whatever_the_largest_value() -> None:
    assert [plot.nice_step(value) for value in (0.3, 6.0, 61.0, 900.0)] == [0.05, 1.0, 20.0, 200.0]
