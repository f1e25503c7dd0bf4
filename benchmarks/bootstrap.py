"""Time how a dataset becomes a table, ours beside Hudi's, and what reading that table costs.

    python benchmarks/bootstrap.py --scale-factor 1 --peer hudi --peer delta --peer iceberg

The dataset is TPC-H lineitem as plain Parquet files in a folder a year. First it is taken over by
its metadata alone, by Delta Lake (`CONVERT TO DELTA`) and Apache Iceberg (`add_files`) too. Then a
column is read of it, then all, then the whole table as it is by default with its meta columns,
beside a read of the files by pyarrow, which have none of these, and a read of both the files and
those with the meta columns, as files that are no table. It is taken over with its rows,
beside a bulk insert of the same files. Delta and Iceberg note which files there are, and do
less: they make no record keys, and look for none that are null or come twice.

What the time of metadata alone goes by, `metadata_…` shows: the files of the dataset with all
columns, and files of the same rows with no columns but those of the keys; and keys of one column
and of four.

Prints JSON lines, one for each engine, step and run; medians and verdicts go to standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bootstrap_told import (
    ALL_COLUMNS,
    FILES,
    FIRST_READ,
    FOUR_KEYS,
    FULL,
    INSERT,
    KEYS_ALONE,
    METADATA,
    ONE_KEY,
    READ,
    SCAN,
    WHOLE,
    done,
    verdicts,
)
from engines import BESIDE_HUDI, OURS, PLAIN, add_arguments, chosen, home, take_turns
from inputs import prepare_dataset, prepare_keys
from results import Record, by_step, medians, show
from steps import Step, Workload, files_of

PARTITION = "ship_year"
READS, SCANS = 3, 3
PEER_ROWS, WIDTHS, WHOLES = "peer_rows", "widths", "wholes"
"""What may be left out: peers that write rows, what the time goes by, whole tables in memory."""


def begun(source: Path) -> Step:
    """The first step: a session, and a file of the dataset read."""
    return Step(name="start", operation="start", source=str(files_of(str(source))[0]))


def write(operation: str, source: Path) -> Step:
    """A dataset taken over, or its rows written."""
    return Step(name=operation, operation=operation, source=str(source))


def reads(source: Path, *, scans: int, wholes: int) -> list[Step]:
    """A column read once, so that all is warm, and then some times; all of it so many times."""
    named = [FIRST_READ, *[READ] * READS]
    found = [Step(name=name, operation="read") for name in named]
    found += [Step(name=SCAN, operation="scan", source=str(source))] * scans
    found += [Step(name=WHOLE, operation="whole")] * wholes
    return found + [Step(name=FILES, operation="files", source=str(source))] * wholes


def widths(source: Path, keys: Path) -> list[Step]:
    """Metadata alone of more columns and fewer, and with keys of more and fewer."""
    sources = {ALL_COLUMNS: source, KEYS_ALONE: keys, ONE_KEY: source, FOUR_KEYS: source}
    return [
        Step(name=name, operation=name, source=str(folder), brief=True)
        for name, folder in sources.items()
    ]


Course = tuple[tuple[str, ...], list[Step]]


def courses(peers: list[str], source: Path, without: list[str], scale_factor: str) -> list[Course]:
    """Which engines do what, one after the other."""
    hudis = [] if PEER_ROWS in without else [name for name in peers if name.startswith("hudi")]
    last = [write(INSERT, source)]
    if WIDTHS not in without:
        last += widths(source, prepare_keys(scale_factor))
    wholes = 0 if WHOLES in without else SCANS
    return [
        ((OURS, PLAIN), [write(METADATA, source), *reads(source, scans=SCANS, wholes=wholes)]),
        (tuple(peers), [write(METADATA, source), *reads(source, scans=0, wholes=0)]),
        ((OURS, *hudis), [write(FULL, source)]),
        ((OURS,), last),
    ]


def main() -> None:
    """Prepare the dataset, let the engines take turns, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=(PEER_ROWS, WIDTHS, WHOLES),
        help="leave out that Hudi writes the rows, what the time goes by, or whole tables in "
        "memory; may be given several times",
    )
    given = parser.parse_args()
    source = prepare_dataset(given.scale_factor)
    named = chosen([OURS], given.peer)[1:]
    peers = [name for name in named if name.startswith("hudi") or name in BESIDE_HUDI]
    record = Record("bootstrap", given.output)
    about = {"scale_factor": given.scale_factor}
    source_bytes = sum(path.stat().st_size for path in files_of(str(source)))
    record.begin(
        **about, repeat=given.repeat, interleave=given.interleave, source_bytes=source_bytes
    )
    for engines, steps in courses(peers, source, given.without, given.scale_factor):
        works = {
            name: Workload(
                table=str(home() / "out" / f"{name}-{source.name}"),
                partition=PARTITION,
            )
            for name in engines
        }
        if works:
            turns = [begun(source), *steps]
            for line in take_turns(works, turns, repeat=given.repeat, interleave=given.interleave):
                record.add(line, **about)
    record.lines = done(record.lines)
    show(record)
    told = verdicts(by_step(medians(record.lines)), source_bytes)
    print("\n" + "\n".join(told), file=sys.stderr)


if __name__ == "__main__":
    main()
