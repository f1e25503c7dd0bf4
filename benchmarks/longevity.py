"""Time many small upserts into one table that is cleaned, archived and compacted all the while.

    python benchmarks/longevity.py --upserts 1000 --peer hudi --peer-upserts 100

A table of 100,000 rows in four partitions; each upsert changes 1,000 of them, spread over all
partitions, so that the table is as large in the end as it was in the beginning, and what grows is
due to its history; with `--new-rows` each upsert brings so many new keys as well. Every third
upsert is followed by a read of the whole table. After each tenth of the upserts a line tells the
medians, the files of the table, and how loaded the machine was; in the end it is said whether they
are flat after the first window but one.

`pyhudi_in_process` is this engine without Spark: it tells the storage calls. Peers do the first
`--peer-upserts`. All tables have Hudi's defaults, and compact as its batch writes do.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from engines import OURS, Line, Session, home, keep_to_cores
from figures import FEWEST, WINDOWS, file_counts, growth_line, verdict, window_line, windows_table
from in_process import InProcess
from results import Record, plain_text
from steps import Step, Workload

ROWS, CHANGED, PARTITIONS, LINES = 100_000, 1_000, 4, 8
READ_EVERY = 3
"""Upserts between two reads: no divisor of the five delta commits between two compactions."""

IN_PROCESS = "pyhudi_in_process"
OUR_SIDE = (OURS, IN_PROCESS)
TABLE_TYPES = ("copy_on_write", "merge_on_read")
KEY = ("id", "line")


def prepare(upserts: int, new_rows: int = 0) -> Path:
    """Write the rows of the table and of each upsert, as far as they are not there yet."""
    folder = home() / f"longevity-{ROWS}-{new_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(upserts + 1):
        path = folder / input_name(number)
        if not path.exists():
            part = path.with_suffix(".part")
            pq.write_table(rows_of(number, new_rows), part)
            part.rename(path)
    return folder


def input_name(number: int) -> str:
    """The file of an upsert; 0 is the table as it is made."""
    return f"{number:05d}.parquet"


def rows_of(number: int, new_rows: int = 0) -> pa.Table:
    """The rows of an upsert: each hundredth key, by the number of the upsert, and new ones."""
    every = ROWS // CHANGED if number else 1
    places = np.arange((number * 37) % every, ROWS, every, dtype=np.int64)
    if number:
        first = ROWS + (number - 1) * new_rows
        places = np.concatenate([places, np.arange(first, first + new_rows, dtype=np.int64)])
    cents = pa.array((places * 7 + number * 13) % 1000)
    quantity = cents.cast(pa.decimal128(38, 0)).cast(pa.decimal128(15, 2))
    texts = [f"row {place} as of upsert {number}" for place in places]
    return pa.table(
        {
            "id": places // LINES,
            "line": (places % LINES).astype(np.int32),
            "region": [f"region-{place % PARTITIONS}" for place in places // LINES],
            "updated_at": np.full(len(places), number, np.int64),
            "quantity": quantity,
            "comment": texts,
        }
    )


def workload(engine: str, table_type: str) -> Workload:
    """The table of an engine."""
    options = {"hoodie.datasource.write.table.type": table_type.upper()}
    if table_type == "merge_on_read":
        options["hoodie.compact.inline"] = "true"
    return Workload(
        table=str(home() / "out" / f"{engine}-longevity-{table_type}"),
        keys=KEY,
        partition="region",
        value="quantity",
        text="comment",
        options=options,
    )


def windows(
    session: Session | InProcess, inputs: Path, table: Path, size: int, count: int
) -> Iterator[Line]:
    """Make the table and upsert into it; a line for each window."""
    base = str(inputs / input_name(0))
    session.run(Step(name="start", operation="start", source=base))
    session.run(Step(name="make", operation="bulk_insert", source=base, brief=True))
    for window in range(count):
        upserts, reads = [], []
        for number in range(window * size + 1, (window + 1) * size + 1):
            source = str(inputs / input_name(number))
            step = Step(name="upsert", operation="upsert", source=source, brief=True)
            upserts.append(session.run(step))
            if number % READ_EVERY == 0:
                read = session.run(Step(name="read", operation="read", brief=True))
                reads.append({**read, **file_counts(table)})
        check = session.run(Step(name="check", operation="check"))
        yield {
            "step": f"{window * size + 1} to {(window + 1) * size}",
            "until": (window + 1) * size,
            **window_line(upserts, reads),
            "fingerprint": check["fingerprint"],
            "load": round(os.getloadavg()[0], 1),
        }


def run_engine(record: Record, engine: str, given: argparse.Namespace, table_type: str) -> None:
    """All windows of one engine, and what is to be said of them."""
    work, size = workload(engine, table_type), given.upserts // WINDOWS
    is_ours = engine in OUR_SIDE
    count = WINDOWS if is_ours else max(1, given.peer_upserts // size)
    inputs = prepare(count * size, given.new_rows)
    found = []
    with InProcess(work) if engine == IN_PROCESS else Session(engine, work) as session:
        for line in windows(session, inputs, work.folder, size, count):
            found.append({"engine": engine, **line})
            record.add(found[-1])
    if count >= FEWEST:
        growths = {"engine": engine, "step": "all", **growth_line(found)}
        record.add(growths)
        print(f"{engine}, {table_type}: {verdict(growths)}", file=sys.stderr)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upserts", type=int, default=1000, help=f"a multiple of {WINDOWS}")
    parser.add_argument("--new-rows", type=int, default=0, help="new keys in each (default none)")
    parser.add_argument("--table-type", action="append", choices=TABLE_TYPES, help="default both")
    parser.add_argument("--ours", action="append", choices=(*OUR_SIDE, "none"), help="default both")
    parser.add_argument("--peer", default="none", choices=("none", "hudi", "hudi_no_metadata"))
    parser.add_argument("--peer-upserts", type=int, default=100, help="of each peer (default 100)")
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")
    given = parser.parse_args()
    if given.upserts % WINDOWS or given.upserts // WINDOWS < READ_EVERY:
        parser.error(f"--upserts: a multiple of {WINDOWS}, {WINDOWS * READ_EVERY} or more")
    return given


def main() -> None:
    """One engine after another, each type of table on its own."""
    given = arguments()
    keep_to_cores()
    engines = [name for name in given.ours or OUR_SIDE if name != "none"]
    engines += [] if given.peer == "none" else [given.peer]
    for table_type in given.table_type or TABLE_TYPES:
        record = Record("longevity", given.output)
        about = {"upserts": given.upserts, "new_rows": given.new_rows, "table_type": table_type}
        record.begin(**about)
        for engine in engines:
            run_engine(record, engine, given, table_type)
        record.end()
        print(f"\n{table_type}\n{plain_text(windows_table(record.lines))}\n", file=sys.stderr)


if __name__ == "__main__":
    main()
