"""The rows that every engine is timed on: TPC-H lineitem and four change sets, alike everywhere.

Needs the extra `bench` (duckdb, tpchgen-cli). At scale factor 1: base 6,001,215 rows; u1 and u10
change 1 and 10 of 100 rows everywhere; cdc is a day of changes, 3 of 100 rows of the newest years
and one new order for every 100 rows; del1 names 1 of 100 rows to delete.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb

NEW_ORDERS_FROM = 100_000_000
BASE = """
    SELECT lineitem.*, CAST(year(l_shipdate) AS INTEGER) AS ship_year,
           CAST(1 AS BIGINT) AS updated_at
    FROM read_parquet('{source}') AS lineitem
"""


def home() -> Path:
    """Where inputs and tables lie: $PYHUDI_BENCH_HOME, by default ~/.cache/pyhudi-bench."""
    return Path(os.environ.get("PYHUDI_BENCH_HOME", Path.home() / ".cache" / "pyhudi-bench"))


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
    raw = home() / f"tpch-{scale_factor}"
    folder = home() / f"lineitem-{scale_factor}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (raw / "lineitem.parquet").exists():
        _generate(scale_factor, raw)
    with duckdb.connect() as db:
        _save(db, folder / "base.parquet", BASE.format(source=raw / "lineitem.parquet"))
        for name, query in change_sets(f"read_parquet('{folder}/base.parquet')").items():
            _save(db, folder / f"{name}.parquet", query)
    return folder


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
