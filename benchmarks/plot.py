"""Charts: bars of seconds by step and engine, lines of figures over the upserts of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

COLOURS = ("#0b6e4f", "#6bbf59", "#c1440e", "#2f6db5", "#8e5ea2", "#e0a106", "#777777", "#444444")

Groups = Sequence[tuple[str, Sequence[float | None]]]
"""A step and its values, one for each engine, None where it was not measured."""

Panels = Sequence[tuple[str, Mapping[str, Sequence[tuple[float, float]]]]]
"""A figure and its points, those of each engine."""


@dataclass(frozen=True)
class Bars:
    """The bars of one engine: how far down each is, in bars and gaps of a bar, and its label."""

    engine: str
    tops: tuple[int, ...]
    seconds: tuple[float, ...]
    labels: tuple[str, ...]


def bars_of(engines: Sequence[str], groups: Groups) -> list[Bars]:
    """What is drawn: the bars of a step one below the other, a gap between steps."""
    found = []
    for number, engine in enumerate(engines):
        measured = [(at, values[number]) for at, (_, values) in enumerate(groups)]
        drawn = [
            (at * (len(engines) + 1) + number, value) for at, value in measured if value is not None
        ]
        found.append(
            Bars(
                engine,
                tuple(top for top, _ in drawn),
                tuple(value for _, value in drawn),
                tuple(f"{value:.2f} s" if value < 10 else f"{value:.0f} s" for _, value in drawn),
            )
        )
    return found


def draw(title: str, engines: Sequence[str], groups: Groups, file: Path) -> None:
    """Write the chart as SVG, to scale from zero with every value written out.

    The same values give the same bytes. Needs matplotlib, of the extra ``bench``.
    """
    import matplotlib  # noqa: PLC0415 - the rest of a report is made without it
    from matplotlib.figure import Figure  # noqa: PLC0415

    rows = len(groups) * (len(engines) + 1)
    with matplotlib.rc_context({"svg.hashsalt": file.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 1 + rows * 0.17), layout="constrained")
        axes = figure.subplots()
        for bars, colour in zip(bars_of(engines, groups), cycle(COLOURS), strict=False):
            drawn = axes.barh(bars.tops, bars.seconds, 0.85, color=colour, label=bars.engine)
            axes.bar_label(drawn, bars.labels, padding=3, fontsize=8)
        middles = [at * (len(engines) + 1) + (len(engines) - 1) / 2 for at in range(len(groups))]
        axes.set_yticks(middles, [name for name, _ in groups])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(rows - 1, -1)
        axes.margins(x=0.1)
        axes.grid(axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.set_title(title, loc="left")
        figure.legend(loc="outside lower left", ncols=4, frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None})


def draw_lines(title: str, below: str, panels: Panels, file: Path, scale: str = "linear") -> None:
    """Write a chart as SVG with a panel for each figure, to scale from zero, or logarithmic.

    ``below`` says what is along the horizontal axis. The same values give the same bytes. Needs
    matplotlib, of the extra ``bench``.
    """
    import matplotlib  # noqa: PLC0415 - the rest of a report is made without it
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.lines import Line2D  # noqa: PLC0415

    engines = list(dict.fromkeys(name for _, lines in panels for name in lines))
    colours = dict(zip(engines, cycle(COLOURS), strict=False))
    rows = -(-len(panels) // 2)
    with matplotlib.rc_context({"svg.hashsalt": file.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 0.8 + rows * 2.2), layout="constrained")
        places = figure.subplots(rows, 2, squeeze=False).flat
        for (name, lines), axes in zip(panels, places, strict=False):
            for engine, points in lines.items():
                along, values = zip(*points, strict=True)
                mark = "o" if len(along) < 5 else None
                axes.plot(along, values, marker=mark, markersize=4, color=colours[engine])
            axes.set(xscale=scale, yscale=scale)
            axes.set_title(name, loc="left", fontsize=9)
            axes.set_xlabel(below, fontsize=8)
            if scale == "linear":
                axes.set_ylim(0, 1.1 * max(value for line in lines.values() for _, value in line))
            axes.tick_params(labelsize=8)
            axes.grid(color="#dddddd")
            axes.spines[["top", "right"]].set_visible(False)
        for axes in list(figure.axes)[len(panels) :]:
            axes.set_visible(False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        marks = [Line2D([], [], color=colours[name]) for name in engines]
        columns = 4 if max(map(len, engines)) < 20 else 3  # as wide as the figure is
        figure.legend(marks, engines, loc="outside lower left", ncols=columns, frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None})
