"""Time several writers that upsert one table at once, under its lock.

    python benchmarks/writers.py --peer hudi_no_metadata --peer delta_rs

A table of 16 partitions, one file each; every upsert changes 1,000 of its 160,000 rows in two
partitions. Where they are `disjoint` each writer has two partitions of its own; where they are
`overlapping` each shares both with its neighbours, and the files too, while no two change the same
row. All writers begin at once, and each does the same number of upserts. One that is refused is
tried again by the engine, or by its process where the engine has no such option, up to `--retries`
times; then it is counted as failed, and the next one follows.

In the end the table must hold what every acknowledged upsert wrote and nothing of the others, or
the line of a peer says that it does not; where it is ours, the benchmark ends with an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from contest_figures import contests_table, figures
from engines import OURS, SCRIPTS, Line, Session, home, keep_to_cores
from requests_told import ON_STORE
from results import Record, medians, plain_text
from server import Server, standing
from steps import Step, Workload, fingerprint_of_batches

PARTITIONS, ROWS_EACH, LINES = 16, 10_000, 8
OWN = 2
"""Partitions of an upsert."""

EVERY = 20
"""A writer changes each so manieth row of its partitions."""

CASES = ("disjoint", "overlapping")
MOST = PARTITIONS // OWN
DRIVER_MEMORY = "2g"
LOCKS = {"local": "FileSystemBasedLockProvider", "s3": "StorageBasedLockProvider"}
IN_PROCESS, DELTA_RS = "pyhudi_in_process", "delta_rs"
OUR_SIDE = (IN_PROCESS, OURS)
NO_CONTEST = ("hudi", "iceberg")
"""Hudi writes without its metadata table here, and Iceberg's Hadoop catalog is not for several."""

WITHOUT_SPARK = (IN_PROCESS, DELTA_RS)
PACKAGE = "org.apache.hudi.client.transaction.lock."


def rows_of(places: Sequence[int], stamp: int) -> pa.Table:
    """The rows at some places of the table, as of an upsert; 0 is the table as it is made."""
    at = np.asarray(places, np.int64)
    cents = pa.array((at * 7 + stamp * 13) % 1000)
    return pa.table(
        {
            "id": at // LINES,
            "line": (at % LINES).astype(np.int32),
            "region": [f"region-{place // ROWS_EACH:02d}" for place in at],
            "updated_at": np.full(len(at), stamp, np.int64),
            "quantity": cents.cast(pa.decimal128(38, 0)).cast(pa.decimal128(15, 2)),
            "comment": [f"row {place} as of {stamp}" for place in at],
        }
    )


def places_of(case: str, writer: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows that a writer changes, in two partitions; no other writer changes these."""
    first = writer * OWN if case == "disjoint" else writer
    regions = [(first + more) % (PARTITIONS if case == "disjoint" else MOST) for more in range(OWN)]
    starts = [region * ROWS_EACH for region in regions]
    parts = [np.arange(start + writer, start + ROWS_EACH, EVERY) for start in starts]
    return np.concatenate(parts)


def prepare(upserts: int) -> Path:
    """Write the rows of the table and of all writers, as far as they are not there yet."""
    folder = home() / f"writers-{PARTITIONS}-{ROWS_EACH}"
    folder.mkdir(parents=True, exist_ok=True)
    _save(folder / "base.parquet", range(PARTITIONS * ROWS_EACH), 0)
    for case in CASES:
        for writer in range(MOST):
            for stamp in range(1, upserts + 2):
                _save(folder / input_name(case, writer, stamp), places_of(case, writer), stamp)
    return folder


def input_name(case: str, writer: int, stamp: int) -> str:
    """The file of an upsert; the first of each writer warms it."""
    return f"{case}-{writer}-{stamp:04d}.parquet"


def _save(path: Path, places: Sequence[int], stamp: int) -> None:
    if not path.exists():
        part = path.with_suffix(".part")
        pq.write_table(rows_of(places, stamp), part)
        part.rename(path)


def workload(engine: str, given: argparse.Namespace) -> Workload:
    """The table of an engine and how it is written by several; Hudi's options are ours too."""
    options = {
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.lock.provider": PACKAGE + LOCKS[given.storage],
        "hoodie.write.num.retries.on.conflict.failures": str(given.retries),
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.table.type": given.table_type.upper(),
        **dict(pair.split("=", 1) for pair in given.option),
    }
    return Workload(
        table=str(home() / "out" / f"{engine}-writers"),
        driver_memory=DRIVER_MEMORY,
        retries=given.retries,
        keys=("id", "line"),
        partition="region",
        value="quantity",
        text="comment",
        options=options,
    )


def expected(work: Workload, inputs: Path, done: Sequence[Sequence[Line]]) -> dict[str, int]:
    """The fingerprint of a table that has what each writer was told to be in it."""
    found = pq.read_table(inputs / "base.parquet")
    stamps = np.zeros(found.num_rows, np.int64)
    for lines in done:
        for line in lines:
            if "refused" not in line:
                rows = pq.read_table(inputs / line["source"])
                places = rows["id"].to_numpy() * LINES + rows["line"].to_numpy()
                stamps[places] = rows["updated_at"].to_numpy()
    parts = [rows_of(np.flatnonzero(stamps == stamp), stamp) for stamp in np.unique(stamps)]
    return fingerprint_of_batches(work, pa.concat_tables(parts).to_batches())


def contest(engine: str, work: Workload, inputs: Path, case: str, size: tuple[int, int]) -> Line:
    """So many writers on one new table, each of which upserts so often; what came of it."""
    writers, upserts = size
    shutil.rmtree(work.folder, ignore_errors=True)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, work.folder, ignore_errors=True)
        works = [replace(work, writer=f"writer-{number}") for number in range(writers)]
        sessions = [stack.enter_context(Session(engine, each)) for each in works]
        pool = stack.enter_context(ThreadPoolExecutor(writers))
        base = str(inputs / "base.parquet")
        start = Step(name="start", operation="start", source=base, brief=True)
        list(pool.map(lambda session: session.run(start), sessions))
        sessions[0].run(Step(name="make", operation="bulk_insert", source=base, brief=True))
        # Each is warmed by an upsert of its own, one after the other.
        warm = [_writes(inputs, case, at, 1, 1) for at in range(writers)]
        done = [each.run(step)["writes"] for each, step in zip(sessions, warm, strict=True)]
        steps = [_writes(inputs, case, at, 2, upserts) for at in range(writers)]
        timed = pool.map(lambda session, step: session.run(step)["writes"], sessions, steps)
        found = [list(lines) for lines in timed]
        for before, lines in zip(done, found, strict=True):
            before += lines
        held = sessions[0].run(Step(name="check", operation="check"))["fingerprint"]
    is_right = held == expected(work, inputs, done)
    lines = [line for each in found for line in each]
    return {**figures(lines), "is_right": is_right, "load": round(os.getloadavg()[0], 1)}


def _writes(inputs: Path, case: str, writer: int, first: int, count: int) -> Step:
    stamps = range(first, first + count)
    sources = tuple(str(inputs / input_name(case, writer, stamp)) for stamp in stamps)
    return Step(name="writes", operation="writes", sources=sources)


def contests(given: argparse.Namespace, server: Server | None) -> Iterator[Line]:
    """Every engine with every number of writers in every case."""
    inputs = prepare(max(given.upserts, given.spark_upserts))
    for run in range(1, given.repeat + 1):
        for case in given.case or CASES:
            for writers in given.writers:
                for engine in engines_of(given):
                    on_spark = engine not in WITHOUT_SPARK
                    if on_spark and writers > given.spark_writers:
                        continue
                    work = workload(engine, given)
                    if server is not None:
                        work = server.holding(work)
                    upserts = given.spark_upserts if on_spark else given.upserts
                    line = contest(engine, work, inputs, case, (writers, upserts))
                    step = f"{case}, {writers}"
                    name = engine if server is None else engine + ON_STORE
                    about = {"case": case, "writers": writers}
                    yield {"run": run, "engine": name, "step": step, **about, **line}


def engines_of(given: argparse.Namespace) -> list[str]:
    """Ours, then the peers."""
    return [*(given.ours or [IN_PROCESS]), *given.peer]


def is_ours(engine: str) -> bool:
    """Whether an engine is this one."""
    return engine.startswith(OURS)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    peers = [name for name in SCRIPTS if not is_ours(name) and name not in NO_CONTEST]
    parser.add_argument("--writers", type=_numbers, default=[1, 2, 4, 8], help="1,2,4,8")
    parser.add_argument("--case", action="append", choices=CASES, help="default both")
    parser.add_argument("--upserts", type=int, default=20, help="of each writer (default 20)")
    parser.add_argument("--ours", action="append", choices=OUR_SIDE, help=f"default {IN_PROCESS}")
    parser.add_argument("--peer", action="append", default=[], choices=peers)
    parser.add_argument(
        "--spark-upserts", type=int, default=10, help="of a writer on Spark (default 10)"
    )
    parser.add_argument(
        "--spark-writers",
        type=int,
        default=2,
        help=f"at most so many on Spark, of {DRIVER_MEMORY} each (default 2)",
    )
    parser.add_argument("--retries", type=int, default=20, help="of a refused upsert (default 20)")
    parser.add_argument("--storage", default="local", choices=tuple(LOCKS))
    parser.add_argument("--table-type", default="copy_on_write")
    parser.add_argument("--option", action="append", default=[], help="KEY=VALUE, Hudi's or ours")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each (default 1)")
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")
    given = parser.parse_args()
    if given.storage == "s3" and given.peer:
        parser.error("--storage s3 is for ours alone")
    return given


def _numbers(text: str) -> list[int]:
    found = [int(part) for part in text.split(",")]
    if not all(1 <= number <= MOST for number in found):
        raise argparse.ArgumentTypeError(f"from 1 to {MOST}, separated by commas")
    return found


def main() -> None:
    """All contests, and a table of them."""
    given = arguments()
    record = Record("writers", given.output)
    about = {"upserts": given.upserts, "table_type": given.table_type, "storage": given.storage}
    with ExitStack() as stack:
        server = stack.enter_context(standing()) if given.storage == "s3" else None
        record.begin(**about, repeat=given.repeat)
        keep_to_cores()
        for line in contests(given, server):
            record.add(line)
            if is_ours(line["engine"]) and (line["anomalies"] or not line["is_right"]):
                raise SystemExit(f"{line['engine']}, {line['step']}: the table holds other rows")
    record.end()
    print(plain_text(contests_table(record.lines, medians(record.lines))), file=sys.stderr)


if __name__ == "__main__":
    main()
