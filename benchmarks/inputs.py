"""The rows that every engine is timed on: TPC-H lineitem and four change sets, alike everywhere.

Needs the extra `bench` (duckdb, tpchgen-cli). At scale factor 1: base 6,001,215 rows; u1 and u10
change 1 and 10 of 100 rows everywhere; cdc is a day of changes, 3 of 100 rows of the newest years
and one new order for every 100 rows; del1 names 1 of 100 rows to delete.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
from engines import home

NEW_ORDERS_FROM = 100_000_000
FIRST_MONTH = "1992-02-01"
MONTHS = 80
CHANGES_AT_ONE = 16_000
"""Changes within months at scale factor 1; a month has some 75,000 rows, the first and last few."""

BASE = """
    SELECT lineitem.*, CAST(year(l_shipdate) AS INTEGER) AS ship_year,
           CAST(1 AS BIGINT) AS updated_at
    FROM read_parquet('{source}') AS lineitem
"""


def share(salt: int, of_ten_thousand: int) -> str:
    """A condition that a fixed, evenly spread share of the rows meets."""
    return f"hash(l_orderkey * 8 + l_linenumber + {salt}) % 10000 < {of_ten_thousand}"


def changed(stamp: int, *, comment: bool = True) -> str:
    """The replacement of a row's values by newer ones."""
    # The sum of a decimal and a number is one digit wider; a feed has the table's own types.
    quantity = "CAST(l_quantity + 1 AS DECIMAL(15, 2)) AS l_quantity"
    columns = [quantity, f"CAST({stamp} AS BIGINT) AS updated_at"]
    if comment:
        columns.append("'changed ' || l_comment AS l_comment")
    return f"* REPLACE ({', '.join(columns)})"


def change_sets(base: str) -> dict[str, str]:
    """The query of each change set over the base table."""
    new = f"l_orderkey + {NEW_ORDERS_FROM} AS l_orderkey, CAST(4 AS BIGINT) AS updated_at"
    return {
        "u1": f"SELECT {changed(2)} FROM {base} WHERE {share(2, 100)}",
        "u10": f"SELECT {changed(3)} FROM {base} WHERE {share(3, 1000)}",
        "cdc": (
            f"SELECT {changed(4, comment=False)} FROM {base} "
            f"WHERE ship_year >= 1997 AND {share(4, 300)} "
            f"UNION ALL SELECT * REPLACE ({new}) FROM {base} WHERE {share(5, 100)}"
        ),
        "del1": f"SELECT * FROM {base} WHERE {share(6, 100)}",
    }


def prepare(scale_factor: str) -> Path:
    """Write what is not there yet; answer the folder of `<name>.parquet`."""
    base = prepare_base(scale_factor)
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        for name, query in change_sets(f"read_parquet('{base}')").items():
            _save(db, base.with_name(f"{name}.parquet"), query)
    return base.parent


def prepare_base(scale_factor: str) -> Path:
    """Write the rows that a table begins with, unless they are there; answer their file."""
    raw = home() / f"tpch-{scale_factor}"
    base = home() / f"lineitem-{scale_factor}" / "base.parquet"
    base.parent.mkdir(parents=True, exist_ok=True)
    if base.exists():
        return base
    if not (raw / "lineitem.parquet").exists():
        _generate(scale_factor, raw)
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        _save(db, base, BASE.format(source=raw / "lineitem.parquet"))
    return base


def prepare_months(scale_factor: str) -> Path:
    """Write the rows of MONTHS months by month, and as many changes within 1, 8 and all of them.

    `p0` is changes of the same number in a month that the others leave alone, `u1` changes 1 of 100
    rows everywhere.
    """
    source = prepare_base(scale_factor)
    folder = home() / f"months-{scale_factor}"
    folder.mkdir(parents=True, exist_ok=True)
    base = f"read_parquet('{folder}/base.parquet')"
    count = max(MONTHS, int(CHANGES_AT_ONE * float(scale_factor)))
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        month = "strftime(l_shipdate, '%Y-%m') AS ship_month"
        before = f"DATE '{FIRST_MONTH}' + to_months({MONTHS})"
        query = (
            f"SELECT * EXCLUDE ship_year, {month} FROM read_parquet('{source}') "
            f"WHERE l_shipdate >= DATE '{FIRST_MONTH}' AND l_shipdate < {before}"
        )
        _save(db, folder / "base.parquet", query)
        found = db.execute(f"SELECT DISTINCT ship_month FROM {base} ORDER BY 1").fetchall()
        months = [month for (month,) in found]
        sets = {"p0": months[30:31], "p1": months[40:41], "p8": months[4::10], "p80": months}
        for stamp, (name, chosen) in enumerate(sets.items(), start=2):
            query = _changes_within(base, chosen, count // len(chosen), stamp)
            _save(db, folder / f"{name}.parquet", query)
        _save(db, folder / "u1.parquet", f"SELECT {changed(6)} FROM {base} WHERE {share(2, 100)}")
    return folder


def prepare_dataset(scale_factor: str) -> Path:
    """Write the rows of the base as plain Parquet files, a folder a year as Hive names them."""
    return _by_year(scale_factor, f"dataset-{scale_factor}", "*")


def prepare_keys(scale_factor: str) -> Path:
    """Write the same dataset with no columns but those that name and order its rows."""
    columns = "l_orderkey, l_linenumber, updated_at, ship_year"
    return _by_year(scale_factor, f"dataset-keys-{scale_factor}", columns)


def _by_year(scale_factor: str, name: str, columns: str) -> Path:
    source, folder = prepare_base(scale_factor), home() / name
    if not folder.exists():
        part = folder.with_suffix(".part")
        with duckdb.connect() as db:
            db.execute("SET enable_progress_bar = false")
            db.execute("SET threads = 1")  # each thread writes files of its own
            db.execute(
                f"COPY (SELECT {columns} FROM read_parquet('{source}')) TO '{part}' "
                "(FORMAT parquet, PARTITION_BY (ship_year), ROW_GROUP_SIZE 100000, "
                "OVERWRITE_OR_IGNORE)"
            )
        part.rename(folder)
    return folder


def _changes_within(base: str, months: list[str], each: int, stamp: int) -> str:
    named = ", ".join(f"'{month}'" for month in months)
    spread = f"hash(l_orderkey * 8 + l_linenumber + {stamp})"
    return (
        f"SELECT {changed(stamp)} FROM {base} WHERE ship_month IN ({named}) "
        f"QUALIFY row_number() OVER (PARTITION BY ship_month ORDER BY {spread}) <= {each}"
    )


def _generate(scale_factor: str, folder: Path) -> None:
    tool = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run(
        [tool, "parquet", "-s", scale_factor, "--tables=lineitem", f"--output-dir={folder}"],
        check=True,
        stdout=sys.stderr,
    )


def _save(db: duckdb.DuckDBPyConnection, path: Path, query: str) -> None:
    if path.exists():
        return
    # Under its final name only when whole: an interrupted run must not leave half an input.
    part = path.with_suffix(".part")
    db.execute(f"COPY ({query}) TO '{part}' (FORMAT parquet, ROW_GROUP_SIZE 100000)")
    part.rename(path)
