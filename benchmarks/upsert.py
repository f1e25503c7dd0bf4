"""Time this engine, and its peers beside it, on TPC-H lineitem.

    python benchmarks/upsert.py --scale-factor 1 --peer all --repeat 3 --output results.jsonl

Prints JSON lines, one for each engine, step and run; tables of the medians go to standard error.
Ends with an error as soon as two engines hold different rows after the same step.
`report.py` renders the lines of `--output` into the documentation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from engines import add_arguments, chosen, home, take_turns
from inputs import prepare
from results import Record, show
from steps import Step, Workload

# (step, operation, input), in the order in which every engine runs them.
WRITES = (
    ("bulk_insert", "bulk_insert", "base"),
    ("upsert_u1", "upsert", "u1"),
    ("upsert_u10", "upsert", "u10"),
    ("upsert_cdc", "upsert", "cdc"),
    ("delete_del1", "delete", "del1"),
)


def steps(inputs: Path, *, compacts: bool = False) -> list[Step]:
    """Start, the writes, a query; with ``compacts`` a compaction and the query again."""
    writes = [
        Step(name=name, operation=operation, source=str(inputs / f"{source}.parquet"))
        for name, operation, source in WRITES
    ]
    start = Step(name="start", operation="start", source=str(inputs / "u1.parquet"))
    found = [start, *writes, Step(name="read", operation="read")]
    if compacts:
        found.append(Step(name="compact", operation="compact"))
        found.append(Step(name="read_compacted", operation="read"))
    return found


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument("--layout", default="partitioned", choices=("partitioned", "flat"))
    parser.add_argument(
        "--table-type",
        default="copy_on_write",
        choices=("copy_on_write", "merge_on_read"),
        help="of Hudi's tables, and of ours; a merge-on-read table is compacted in the end",
    )
    return parser.parse_args()


def main() -> None:
    """Prepare the inputs, let the engines take turns, report."""
    given = arguments()
    inputs = prepare(given.scale_factor)
    partition = "ship_year" if given.layout == "partitioned" else ""
    kind = given.table_type
    works = {
        name: Workload(
            table=str(home() / "out" / f"{name}-{inputs.name}-{given.layout}-{kind}"),
            partition=partition,
            options={"hoodie.datasource.write.table.type": kind.upper()},
        )
        for name in chosen(given.ours, given.peer)
    }
    record = Record("upsert", given.output)
    about = {"scale_factor": given.scale_factor, "layout": given.layout, "table_type": kind}
    record.begin(**about, repeat=given.repeat, interleave=given.interleave)
    found = steps(inputs, compacts=kind == "merge_on_read")
    for line in take_turns(works, found, repeat=given.repeat, interleave=given.interleave):
        record.add(line, **about)
    show(record)


if __name__ == "__main__":
    main()
