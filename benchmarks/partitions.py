"""Time upserts of the same number of rows into 1, 8 and all 80 partitions of one table.

    python benchmarks/partitions.py --scale-factor 1 --peer hudi --repeat 3

The table is TPC-H `lineitem` by month. The time of an upsert should follow the files it touches and
not the size of the table; the lines tell both. A first upsert into a month of its own, `upsert_0`,
warms each engine and is shown like the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from engines import add_arguments, chosen, home, take_turns
from inputs import prepare_months
from results import Record, show
from steps import Step, Workload

WRITES = (
    ("bulk_insert", "bulk_insert", "base"),
    ("upsert_0", "upsert", "p0"),
    ("upsert_1", "upsert", "p1"),
    ("upsert_8", "upsert", "p8"),
    ("upsert_80", "upsert", "p80"),
)


def steps(inputs: Path) -> list[Step]:
    """Start and the writes."""
    writes = [
        Step(name=name, operation=operation, source=str(inputs / f"{source}.parquet"))
        for name, operation, source in WRITES
    ]
    return [Step(name="start", operation="start", source=str(inputs / "p1.parquet")), *writes]


def main() -> None:
    """Prepare the inputs, let the engines take turns, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    given = parser.parse_args()
    inputs = prepare_months(given.scale_factor)
    works = {
        name: Workload(table=str(home() / "out" / f"{name}-{inputs.name}"), partition="ship_month")
        for name in chosen(given.ours, given.peer)
    }
    record = Record("partitions", given.output)
    about = {"scale_factor": given.scale_factor}
    record.begin(**about, repeat=given.repeat, interleave=given.interleave)
    for line in take_turns(works, steps(inputs), repeat=given.repeat, interleave=given.interleave):
        record.add(line, **about)
    show(record, ("rows", "files_written"))


if __name__ == "__main__":
    main()
