"""Time how a dataset becomes a table, ours beside Hudi's, and what reading that table costs.

    python benchmarks/bootstrap.py --scale-factor 1 --peer hudi_no_metadata --peer delta --repeat 3

The dataset is TPC-H lineitem as plain Parquet files in a folder a year. First it is taken over by
its metadata alone, by Delta Lake (`CONVERT TO DELTA`) and Apache Iceberg (`add_files`) too. Then a
column is read of it and then all, beside a read of the files by pyarrow. It is taken over with its
rows, beside a bulk insert of the same files. Delta and Iceberg note which files there are, and
do less: they make no record keys, and look for none that are null or come twice.

Prints JSON lines, one for each engine, step and run; medians and verdicts go to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from engines import BESIDE_HUDI, OURS, PLAIN, add_arguments, chosen, home, take_turns
from inputs import prepare_dataset
from results import Line, Record, by_step, medians, show
from steps import Step, Workload

PARTITION = "ship_year"
METADATA, FULL, INSERT = "bootstrap_metadata", "bootstrap_full", "bulk_insert"
OF_HUDIS_TIME, OF_BULK_INSERT, OF_PLAIN_READ = 0.2, 1.1, 1.3
"""What is to be reached: shares of the time that something else takes."""


def steps(source: Path, *operations: str) -> list[Step]:
    """Start with a file of the dataset, then operations with the whole of it."""
    one = next(source.rglob("*.parquet"))
    found = [Step(name="start", operation="start", source=str(one))]
    return found + [Step(name=each, operation=each, source=str(source)) for each in operations]


def courses(peers: list[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Which engines do which operations, one after the other."""
    hudis = [name for name in peers if name.startswith("hudi")]
    return [
        ((OURS, PLAIN), (METADATA, "read", "scan")),
        (tuple(peers), (METADATA, "read")),
        ((OURS, *hudis), (FULL,)),
        ((OURS,), (INSERT,)),
    ]


def verdicts(steps_found: Mapping[str, Mapping[str, Line]]) -> list[str]:
    """What was to be reached, and how it came out."""

    def seconds(step: str, engine: str) -> float | None:
        line = steps_found.get(step, {}).get(engine)
        return None if line is None else line["seconds"]

    hudi = next((name for name in steps_found[METADATA] if name.startswith("hudi")), "hudi")
    held = (
        ("metadata alone, of Hudi's time", METADATA, (METADATA, hudi), OF_HUDIS_TIME),
        ("with rows, of our bulk insert's time", FULL, (INSERT, OURS), OF_BULK_INSERT),
        ("a column read, of pyarrow's time", "read", ("read", PLAIN), OF_PLAIN_READ),
        ("all columns read, of pyarrow's time", "scan", ("scan", PLAIN), OF_PLAIN_READ),
    )
    told = []
    for what, step, beside, most in held:
        ours, theirs = seconds(step, OURS), seconds(*beside)
        if ours is not None and theirs:
            share = ours / theirs
            verdict = "reached" if share <= most else "NOT reached"
            told.append(f"{what}: {share:.2f}, at most {most} was asked for: {verdict}")
    return told


def main() -> None:
    """Prepare the dataset, let the engines take turns, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    given = parser.parse_args()
    source = prepare_dataset(given.scale_factor)
    named = chosen([OURS], given.peer)[1:]
    peers = [name for name in named if name.startswith("hudi") or name in BESIDE_HUDI]
    record = Record("bootstrap", given.output)
    about = {"scale_factor": given.scale_factor}
    record.begin(**about, repeat=given.repeat, interleave=given.interleave)
    for engines, operations in courses(peers):
        works = {
            name: Workload(
                table=str(home() / "out" / f"{name}-{source.name}"),
                partition=PARTITION,
            )
            for name in engines
        }
        if works:
            turns = steps(source, *operations)
            for line in take_turns(works, turns, repeat=given.repeat, interleave=given.interleave):
                record.add(line, **about)
    show(record)
    print("\n" + "\n".join(verdicts(by_step(medians(record.lines)))), file=sys.stderr)


if __name__ == "__main__":
    main()
