"""A folder of tables in every state that a page of tables has to show."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa

from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.local_rows import LocalRows
from tests.support.orders import (
    HERE,
    NO_SMALL_FILES,
    OPERATION,
    OPTIONS,
    clean,
    compact,
    many,
    orders,
)

HTML = "<img src=x onerror=alert(1)>"
"""A partition, table and run that would be obeyed where it is not escaped."""


def lake(folder: Path) -> Path:
    """Tables called fresh, busy, logged, damaged, unreadable and hostile, beside what is none."""
    fresh(folder / "fresh")
    busy(folder / "busy")
    logged(folder / "logged")
    damaged(folder / "damaged")
    (folder / "unreadable" / ".hoodie").mkdir(parents=True)
    (folder / "unreadable" / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=\n")
    hostile(folder / "hostile")
    (folder / "landing" / "files").mkdir(parents=True)
    return folder


def fresh(table: Path) -> None:
    """A table that was made and holds nothing."""
    written(table, many(range(2), 1, "x"), "fresh", "insert")
    for file in [*(table / ".hoodie").glob("2*"), *table.glob("p*/*.parquet")]:
        file.unlink()


def busy(table: Path) -> list[str]:
    """A copy-on-write table written by monthly runs of a DAG, and cleaned; the instants."""
    found = []
    for month in range(1, 13):
        rows = many(range(month * 40, month * 40 + 60), month, "x" * month, parts=5)
        found.append(written(table, rows, "busy", "upsert", stamp("flights", month)))
    clean(table, {"hoodie.cleaner.commits.retained": "3"})
    return found


def logged(table: Path) -> None:
    """A merge-on-read table with log files, a planned compaction and a write that died."""
    options = NO_SMALL_FILES | {"hoodie.compact.inline.max.delta.commits": "1"}
    for ts in range(1, 5):
        rows = many(range(40), ts, "y" * ts, parts=3)
        written(table, rows, "logged", "upsert", stamp("orders_hourly", ts), options)
    compact(table, {"hoodie.compact.inline.max.delta.commits": "1"}, mode="schedule")
    last = written(table, many(range(20), 9, "z", parts=3), "logged", "upsert", {}, options)
    later = str(int(last) + 1)
    (table / ".hoodie" / f"{later}.deltacommit.requested").write_bytes(b"")


def damaged(table: Path) -> None:
    """A table of which a file is gone, and whose last commit cannot be read."""
    first = written(table, many(range(40), 1, "x"), "damaged", "insert", stamp("orders_hourly", 1))
    last = written(table, many(range(40), 2, "x"), "damaged", "upsert", stamp("orders_hourly", 2))
    next(iter(table.glob(f"p0/*_{last}.parquet"))).unlink()
    (table / ".hoodie" / f"{first}.commit").write_bytes(b'{"partitionToWriteStats": {')


def hostile(table: Path) -> None:
    """A table whose partition and run are HTML."""
    rows = orders(("k1", HTML, 1, "x"), ("k2", "p1", 1, "x"))
    run = {"airflow.dag_id": f"dag{HTML}", "airflow.run_id": HTML, "airflow.task_id": HTML}
    written(table, rows, "hostile", "insert", run)


def long_lived(table: Path, instants: int) -> None:
    """A table with so many instants on its timeline, all alike, a minute between two."""
    last = written(table, many(range(40), 1, "x"), "long", "insert", stamp("flights", 1))
    folder = table / ".hoodie"
    files = {file.name.removeprefix(last): file.read_bytes() for file in folder.glob(f"{last}*")}
    begin = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for number in range(instants - 1):
        time = f"{begin + timedelta(minutes=number):%Y%m%d%H%M%S}000"
        for name, body in files.items():
            (folder / f"{time}{name}").write_bytes(body)


def stamp(dag: str, month: int) -> dict[str, str]:
    """What a task of a DAG leaves in its commit."""
    return {
        "airflow.dag_id": dag,
        "airflow.run_id": f"backfill__2013-{month:02}-01T00:00:00+00:00",
        "airflow.task_id": "upsert",
        "airflow.map_index": "-1",
        "airflow.try_number": "1",
    }


def written(
    table: Path,
    rows: pa.Table,
    name: str,
    operation: str,
    run: dict[str, str] | None = None,
    options: dict[str, str] = OPTIONS,
) -> str:
    """Write rows as a task of Airflow does; the instant."""
    asked = {**options, "hoodie.table.name": name, OPERATION: operation}
    asked |= {"hoodie.clean.automatic": "false"}
    source = LocalRows.of(InProcessRunner(), rows)
    return write_rows(HERE, source, str(table), asked, commit_metadata=run or {}).instant or ""
