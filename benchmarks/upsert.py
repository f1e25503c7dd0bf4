"""Time this engine, and its peers beside it, on TPC-H lineitem.

    python benchmarks/upsert.py --scale-factor 1 --peer all --repeat 3 --output results.jsonl

Prints JSON lines, one for each engine, step and run; tables of the medians go to standard error.
Ends with an error as soon as two engines hold different rows after the same step.
`report.py` renders the lines of `--output` into the documentation.

`--storage s3` does our steps on a local S3 server as well, beside those on the disk where it keeps
its buckets, and tells how many times as long they take and the requests of each. The step
`requests` is an upsert of 1 % into a table by month, which at scale factor 1 has 240 files; its
requests are held against what is to be enough for so many files.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from engines import OURS, add_arguments, chosen, home, take_turns
from inputs import prepare, prepare_months
from requests_told import ON_STORE, budget, storage_table, verdicts
from results import Record, by_step, medians, plain_text, show
from server import Server, standing
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


def on_store(works: dict[str, Workload], server: Server) -> dict[str, Workload]:
    """Ours twice, on the disk and on the server beside it; the others as they are."""
    found: dict[str, Workload] = {}
    for name, work in works.items():
        found[name] = work
        if name.startswith(OURS):
            found[name + ON_STORE] = server.holding(work)
    return found


def count_requests(record: Record, given: argparse.Namespace, server: Server, about: dict) -> None:
    """The requests of an upsert of 1 % into a table of many files, against what is enough."""
    inputs = prepare_months(given.scale_factor)
    table = str(home() / "out" / f"requests-{inputs.name}-{given.table_type}")
    kind = {"hoodie.datasource.write.table.type": given.table_type.upper()}
    work = server.holding(Workload(table=table, partition="ship_month", options=kind))
    found = [
        Step(name="start", operation="start", source=str(inputs / "u1.parquet")),
        Step(name="requests_table", operation="bulk_insert", source=str(inputs / "base.parquet")),
        Step(name="requests", operation="upsert", source=str(inputs / "u1.parquet")),
    ]
    name = OURS + ON_STORE
    for line in take_turns({name: work}, found, repeat=given.repeat, interleave="engines"):
        if line["step"] != "start":
            told = budget(line) if line["step"] == "requests" else {}
            record.add({**line, **told}, **about)


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
    parser.add_argument(
        "--storage",
        default="local",
        choices=("local", "s3"),
        help="s3: ours on a local S3 server as well (`make servers` builds it)",
    )
    given = parser.parse_args()
    if given.storage == "s3":
        given.ours = given.ours or [OURS]
    return given


def main() -> None:
    """Prepare the inputs, let the engines take turns, report."""
    given = arguments()
    with ExitStack() as stack:
        server = stack.enter_context(standing()) if given.storage == "s3" else None
        run(given, server)


def run(given: argparse.Namespace, server: Server | None) -> None:
    """All steps of all engines."""
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
    if server is not None:
        works = on_store(works, server)
        about["storage"] = given.storage
    record.begin(**about, repeat=given.repeat, interleave=given.interleave)
    found = steps(inputs, compacts=kind == "merge_on_read")
    for line in take_turns(works, found, repeat=given.repeat, interleave=given.interleave):
        load = {} if server is None else {"load": round(os.getloadavg()[0], 1)}
        record.add({**line, **load}, **about)
    if server is not None:
        count_requests(record, given, server, about)
    show(record)
    if server is not None:
        table = storage_table(by_step(medians(record.lines)))
        told = ["", plain_text(table), "", *verdicts(table, record.lines)]
        print("\n".join(told), file=sys.stderr)


if __name__ == "__main__":
    main()
