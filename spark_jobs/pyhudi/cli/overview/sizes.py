"""How large the files of a table are, and where the small ones lie."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pyhudi.cli.report import Column, Fact, Grid, Kind, Value
from pyhudi.cli.reports.stats import histogram_of, size_facts
from pyhudi.config.write import WriteConfig
from pyhudi.table.table import Table

_MOST = 12
"""Of more partitions with small files so many are shown."""
_SMALL = (
    Column(name="partition", least=12),
    Column(name="small_files", kind=Kind.COUNT),
    Column(name="of_files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of a table's files.

    Shapes: ``histogram`` as ``pyhudi.cli.reports.stats.histogram``; ``small`` has the partitions
    with most small files. Units: ``limit`` in bytes, below which a base file is small.
    """

    facts: tuple[Fact, ...]
    histogram: tuple[tuple[Value, ...], ...]
    small: Grid
    limit: int

    def fact(self, name: str) -> Value:
        """The value of a fact by its name; None where there is none."""
        return next((each.value for each in self.facts if each.name == name), None)


def sizes(table: Table) -> Sizes:
    """The sizes of the files that a table has at this moment."""
    config, found = WriteConfig.from_options({}), table.files()
    limit = config.sizing.small_file_limit
    files: dict[str, list[int]] = defaultdict(list)
    for each in found.latest_base_files():
        files[each.partition].append(each.size_bytes)
    small = {path: [size for size in own if size < limit] for path, own in files.items()}
    worst = sorted((path for path in small if small[path]), key=lambda p: (-len(small[p]), p))
    return Sizes(
        facts=tuple(size_facts(found, limit)),
        histogram=histogram_of(found, config),
        small=Grid(
            name="small_files",
            columns=_SMALL,
            rows=tuple(
                (path, len(small[path]), len(files[path]), sum(small[path]))
                for path in worst[:_MOST]
            ),
            empty="no base file is small",
        ),
        limit=limit,
    )
