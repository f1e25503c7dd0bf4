"""Peak memory of a worker while it merges into, or compacts, one large base file.

    python benchmarks/large_file.py --megabytes 500 --repeat 3

Makes a flat table of one file group, at least as large as asked, and upserts 1 % of its rows in a
session of its own. Three files: `ours` as this engine writes it; `one_row_group`, the same rows
rewritten as one row group with gzip, the most that a reader can be asked to hold; and with
`--peer hudi` one of a single row group that Apache Hudi wrote, as table version 6.
A fourth, `logs`, is a merge-on-read table whose base file got log files of at least a fifth of its
size, which are compacted. The peak is that of the largest Python worker as the kernel counts it
(VmHWM).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from engines import OURS, Line, Session, home, keep_to_cores
from results import Record, memory_table, plain_text, seconds_table
from results import medians as medians_of
from steps import Step, Workload, is_data

BYTES_OF_A_ROW = 84
"""What a row takes in a base file with zstd, less than measured, so that files are large enough."""

LOGGED_PERCENT = 6
"""Rows in the log, which makes a fifth of the base file there: Avro is not compressed."""

LARGEST = str((1 << 31) - 1)
# The file is made in one folder and merged into in another, so its table is named.
NAMED = {"hoodie.table.name": "orders"}
ONE_FILE = {
    **NAMED,
    "hoodie.parquet.max.file.size": LARGEST,
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
}
AS_HUDI = {**ONE_FILE, "hoodie.parquet.block.size": LARGEST, "hoodie.write.table.version": "6"}
LOGGED = {**ONE_FILE, "hoodie.datasource.write.table.type": "MERGE_ON_READ"}
OPTIONS = {"logs": LOGGED}
UPSERT, COMPACT = "upsert_1_percent", "compact"
# Orders as a shop keeps them: numbers, choices, prices, and texts that hardly compress.
ORDERS = """
    SELECT number // 4 AS order_id, CAST(number % 4 AS INTEGER) AS line,
           CAST(1 AS BIGINT) AS updated_at,
           CAST(hash(number) % 90000 / 100.0 + 1 AS DECIMAL(15, 2)) AS price,
           CAST(hash(number + 1) % 20000000 AS BIGINT) AS customer_id,
           CAST(hash(number + 2) % 400000 AS INTEGER) AS product_id,
           TIMESTAMP '2024-01-01' + to_microseconds(CAST(number AS BIGINT) * 7919) AS ordered_at,
           hash(number + 3) / 1.8446744073709552e19 * 180 - 90 AS latitude,
           hash(number + 4) / 1.8446744073709552e19 * 360 - 180 AS longitude,
           ['web', 'app', 'shop', 'phone'][CAST(1 + hash(number + 5) % 4 AS INTEGER)] AS channel,
           ['open', 'paid', 'sent', 'back'][CAST(1 + hash(number + 6) % 4 AS INTEGER)] AS state,
           md5(CAST(number AS VARCHAR)) AS session,
           sha256(CAST(number + 7 AS VARCHAR)) || sha256(CAST(number + 8 AS VARCHAR)) AS note
    FROM range(0, {rows}) AS numbers(number)
"""


def prepare(megabytes: int) -> Path:
    """The rows of the file, and 1 % and 6 % of them with new prices and notes."""
    rows = megabytes * 1_000_000 // BYTES_OF_A_ROW
    folder = home() / f"orders-{megabytes}"
    folder.mkdir(parents=True, exist_ok=True)
    price, stamp = "CAST(price + 1 AS DECIMAL(15, 2)) AS price", "CAST(2 AS BIGINT) AS updated_at"
    new = f"{price}, 'changed ' || note AS note, {stamp}"
    chosen = "hash(order_id * 8 + line) % 100"
    base = folder / "base.parquet"
    changed = f"SELECT * REPLACE ({new}) FROM read_parquet('{base}') WHERE {chosen}"
    queries = {
        "base": ORDERS.format(rows=rows),
        "batch": f"{changed} = 0",
        "logged": f"{changed} < {LOGGED_PERCENT}",
    }
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        for name, query in queries.items():
            if not (folder / f"{name}.parquet").exists():
                _save(db, folder / f"{name}.parquet", query)
    return folder


def _save(db: duckdb.DuckDBPyConnection, path: Path, query: str) -> None:
    part = path.with_suffix(".part")
    db.execute(f"COPY ({query}) TO '{part}' (FORMAT parquet, COMPRESSION zstd)")
    part.rename(path)


def workload(folder: Path, options: dict[str, str]) -> Workload:
    """The table of orders."""
    return Workload(
        table=str(folder),
        keys=("order_id", "line"),
        ordering="updated_at",
        value="price",
        text="note",
        options=options,
    )


def the_base_file(folder: Path) -> Path:
    """The one base file of a table; ends the benchmark if there are more."""
    files = [path for path in folder.rglob("*.parquet") if is_data(path, folder)]
    if len(files) != 1:
        raise SystemExit(f"{folder} has {len(files)} base files, expected one")
    return files[0]


def make(kind: str, inputs: Path, folder: Path) -> None:
    """Write the table of a kind, and keep it when the engine that wrote it has gone."""
    made = home() / "out" / f"large-made-{kind}"
    engine, options = ("hudi", AS_HUDI) if kind == "hudi" else (OURS, OPTIONS.get(kind, ONE_FILE))
    base = str(inputs / "base.parquet")
    with Session(engine, workload(made, options)) as session:
        session.run(Step(name="start", operation="start", source=base))
        session.run(Step(name="bulk_insert", operation="bulk_insert", source=base))
        if kind == "logs":
            logged = str(inputs / "logged.parquet")
            session.run(Step(name="upsert", operation="upsert", source=logged))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
    if kind == "one_row_group":
        as_one_row_group(the_base_file(folder))


def as_one_row_group(path: Path) -> None:
    """Rewrite a Parquet file with a single row group and gzip, its footer's entries kept."""
    rows = pq.read_table(path, partitioning=None)
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, rows.schema, compression="gzip", store_schema=False) as writer:
        writer.write_table(rows, row_group_size=rows.num_rows)
        writer.add_key_value_metadata(entries_of(path))
    part.rename(path)


def entries_of(path: Path) -> dict[str, str]:
    """The footer's own entries, without Arrow's."""
    entries = pq.read_metadata(path).metadata or {}
    return {k.decode(): v.decode() for k, v in entries.items() if not k.startswith(b"ARROW")}


def measure(kind: str, made: Path, inputs: Path, repeat: int) -> Iterator[Line]:
    """Upsert into fresh copies of a table, or compact them, each in a session of its own."""
    batch = str(inputs / "batch.parquet")
    step = Step(name=UPSERT, operation="upsert", source=batch)
    if kind == "logs":
        step = Step(name=COMPACT, operation="compact", source=str(inputs / "logged.parquet"))
    for number in range(1, repeat + 1):
        folder = home() / "out" / f"large-{kind}"
        with Session(OURS, workload(folder, OPTIONS.get(kind, ONE_FILE))) as session:
            session.run(Step(name="start", operation="start", source=batch))
            shutil.copytree(made, folder, dirs_exist_ok=True)
            line = session.run(step)
        yield {"run": number, **line, "engine": f"{OURS}:{kind}"}


def main() -> None:
    """Make each table, measure, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=500, help="size of the file at least")
    parser.add_argument("--peer", default="none", choices=("none", "hudi"))
    parser.add_argument("--kind", action="append", help="this file alone; may be repeated")
    parser.add_argument("--repeat", type=int, default=1, help="runs (default 1)")
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")
    given = parser.parse_args()
    keep_to_cores()
    inputs = prepare(given.megabytes)
    record = Record("large_file", given.output)
    record.begin(megabytes=given.megabytes, repeat=given.repeat)
    kinds = ["ours", "one_row_group", *(["hudi"] if given.peer == "hudi" else []), "logs"]
    for kind in given.kind or kinds:
        made = home() / "out" / f"large-kept-{kind}"
        make(kind, inputs, made)
        about = file_facts(the_base_file(made), given.megabytes)
        if kind == "logs":
            about["log_bytes"] = log_bytes(made, about["file_bytes"] // 5)
        for line in measure(kind, made, inputs, given.repeat):
            record.add(line, **about)
        shutil.rmtree(made)
    record.end()
    middle = medians_of(record.lines)
    print(plain_text(seconds_table(middle, ("rows",))), file=sys.stderr)
    print("peak MB: JVM / largest Python worker", file=sys.stderr)
    print(plain_text(memory_table(middle)), file=sys.stderr)


def log_bytes(folder: Path, least: int) -> int:
    """Size of a table's log files; ends the benchmark if it is smaller than that."""
    size = sum(path.stat().st_size for path in folder.glob(".*.log.*"))
    if size < least:
        raise SystemExit(f"{folder} has {size} bytes of logs: LOGGED_PERCENT is too low")
    return size


def file_facts(path: Path, megabytes: int) -> dict[str, int]:
    """Size and shape of a base file; ends the benchmark if it is smaller than asked."""
    size, footer = path.stat().st_size, pq.read_metadata(path)
    if size < megabytes * 1_000_000:
        raise SystemExit(f"{path} has {size} bytes: BYTES_OF_A_ROW is too high")
    shape = {"file_rows": footer.num_rows, "file_row_groups": footer.num_row_groups}
    print(json.dumps({"file_bytes": size, **shape}), file=sys.stderr)
    return {"file_bytes": size, **shape}


if __name__ == "__main__":
    main()
