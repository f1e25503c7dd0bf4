"""A bar chart of seconds by step and engine as SVG, without a library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, ROW, GAP, LEFT, RIGHT, TOP = 860, 15, 14, 120, 70, 58
COLOURS = ("#0b6e4f", "#6bbf59", "#c1440e", "#2f6db5", "#8e5ea2", "#e0a106", "#777777", "#444444")
TICKS = 6

Bars = Sequence[tuple[str, Sequence[float | None]]]
"""Groups of bars: a step and its values, one for each engine, None where it was not measured."""


def bar_chart(title: str, engines: Sequence[str], groups: Bars) -> str:
    """Horizontal bars in groups, seconds at their ends.

    One bar may be many times the others, so values are drawn to scale from zero and written out.
    """
    largest = max((value for _, values in groups for value in values if value), default=1.0)
    step = nice_step(largest)
    scale = (WIDTH - LEFT - RIGHT) / largest
    height = TOP + len(groups) * (ROW * len(engines) + GAP) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(8, 18, title, size=14),
        *_legend(engines),
        *_grid(step, largest, scale, height),
    ]
    top = float(TOP)
    for name, values in groups:
        parts.append(_text(8, top + ROW * len(engines) / 2 + 4, name))
        for number, value in enumerate(values):
            if value is not None:
                parts += _bar(top + number * ROW, value, scale, COLOURS[number % len(COLOURS)])
        top += ROW * len(engines) + GAP
    return "\n".join([*parts, "</svg>", ""])


def nice_step(largest: float) -> float:
    """A round distance of grid lines, such that there are at most TICKS of them."""
    magnitude = 1e-3
    while True:
        for factor in (1, 2, 5):
            if largest / (magnitude * factor) <= TICKS:
                return magnitude * factor
        magnitude *= 10


def _bar(top: float, value: float, scale: float, colour: str) -> list[str]:
    width = max(1.0, value * scale)
    label = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return [
        f'<rect x="{LEFT}" y="{top:.1f}" width="{width:.1f}" height="{ROW - 2}" fill="{colour}"/>',
        _text(LEFT + width + 4, top + ROW - 4, f"{label} s", size=10),
    ]


def _legend(engines: Sequence[str]) -> list[str]:
    parts, left = [], float(LEFT)
    for number, name in enumerate(engines):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<rect x="{left:.0f}" y="30" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(left + 14, 39, name))
        left += 30 + 7 * len(name)
    return parts


def _grid(step: float, largest: float, scale: float, height: int) -> list[str]:
    parts, value = [], 0.0
    while value <= largest:
        x = LEFT + value * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 20}" stroke="#dddddd"/>'
        )
        parts.append(_text(x, height - 8, f"{value:g}", anchor="middle"))
        value += step
    return parts


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="#222222">{escape(text)}</text>'
    )
