"""The steps every engine runs and how one is timed; each engine's process prints a line a step."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq
from memory import MemoryWatch

# (step, operation, input), in the order in which every engine runs them.
WRITES = (
    ("bulk_insert", "bulk_insert", "base"),
    ("upsert_u1", "upsert", "u1"),
    ("upsert_u10", "upsert", "u10"),
    ("upsert_cdc", "upsert", "cdc"),
    ("delete_del1", "delete", "del1"),
)
READ = "read"
SPARK_MASTER = "local[2]"
DRIVER_MEMORY = "6g"


class Engine(Protocol):
    """What an engine must be able to do; a context manager that starts and stops its session."""

    def start(self, source: Path) -> int:
        """Start the session and count the rows of a file, so that Spark is warm."""
        ...

    def write(self, operation: str, source: Path) -> None:
        """Carry out one operation with the rows of a file."""
        ...

    def read(self) -> tuple[int, str]:
        """Count of all rows and sum of l_quantity."""
        ...


@dataclass(frozen=True)
class Place:
    """Inputs, the table's folder, and the layout of the table."""

    inputs: Path
    table: Path
    partitioned: bool

    def source(self, name: str) -> Path:
        """An input file."""
        return self.inputs / f"{name}.parquet"


def session_settings(place: Place) -> dict[str, str]:
    """Spark's settings, alike for every engine."""
    return {
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.local.dir": str(place.table.parent / "spark"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def table_options(place: Place) -> dict[str, str]:
    """Hudi's options for the table, alike for every engine that takes them."""
    options = {
        "hoodie.table.name": "lineitem",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "l_orderkey,l_linenumber",
        "hoodie.datasource.write.precombine.field": "updated_at",
        "hoodie.datasource.write.partitionpath.field": "",
    }
    if place.partitioned:
        options["hoodie.datasource.write.partitionpath.field"] = "ship_year"
        options["hoodie.datasource.write.hive_style_partitioning"] = "true"
    return options


def place_from_arguments() -> Place:
    """The command line of an engine's process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("inputs", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("layout", choices=("partitioned", "flat"))
    given = parser.parse_args()
    return Place(given.inputs, given.table, given.layout == "partitioned")


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file below a folder."""
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def timed(name: str, place: Place, work: Callable[[], dict[str, Any]]) -> None:
    """Run one step and print its line: seconds, what it says of rows, bytes, peak memory."""
    before = sizes(place.table)
    with MemoryWatch() as watch:
        began = time.perf_counter()
        told = work()
        seconds = time.perf_counter() - began
    after = sizes(place.table)
    line = {
        "step": name,
        "seconds": round(seconds, 3),
        **told,
        "bytes_written": sum(size for path, size in after.items() if path not in before),
        "bytes_table": sum(after.values()),
        "peak_jvm_bytes": watch.peaks.jvm,
        "peak_driver_python_bytes": watch.peaks.driver_python,
        "peak_workers_bytes": watch.peaks.workers,
        "peak_largest_worker_bytes": watch.peaks.largest_worker,
    }
    print(json.dumps(line), flush=True)


def run(place: Place, make: Callable[[Place], AbstractContextManager[Engine]]) -> None:
    """Run all steps on an empty table."""
    shutil.rmtree(place.table, ignore_errors=True)
    with make(place) as engine:
        timed("start", place, lambda: {"rows": engine.start(place.source("u1"))})
        for step, operation, name in WRITES:
            source = place.source(name)
            timed(step, place, lambda o=operation, s=source: write(engine, o, s))
        timed(READ, place, lambda: read(engine))


def write(engine: Engine, operation: str, source: Path) -> dict[str, Any]:
    """One write, and the rows that went in."""
    engine.write(operation, source)
    return {"rows": pq.read_metadata(source).num_rows}


def read(engine: Engine) -> dict[str, Any]:
    """The answer that must be the same for every engine."""
    rows, quantity = engine.read()
    return {"rows": rows, "quantity": quantity}
