"""The engine's side of a benchmark: carry out the steps it is told and print a JSON line for each.

An engine's process gets its workload as JSON on the command line and one step a line on standard
input, so that whoever drives several engines decides in which order their steps take turns.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from memory import MemoryWatch, processor_seconds, processor_seconds_of

CORES = 2
SPARK_MASTER = f"local[{CORES}]"
DRIVER_MEMORY = "6g"
RECORD_KEY = "hoodie.datasource.write.recordkey.field"
SELECTOR = "hoodie.bootstrap.mode.selector"
BOOTSTRAPS = {
    "bootstrap_metadata": "metadata_only",
    "metadata_all_columns": "metadata_only",
    "metadata_key_columns": "metadata_only",
    "metadata_one_key": "metadata_only",
    "metadata_four_keys": "metadata_only",
    "bootstrap_full": "full_record",
}
"""Operations that take a dataset over, and the word for what becomes of its rows."""
KEYS = {
    "metadata_one_key": "l_orderkey",
    "metadata_four_keys": "l_orderkey,l_linenumber,l_partkey,l_suppkey",
}
"""The record keys of operations that have others than the workload says."""
MODULUS = 1_000_003
"""Keys enter the fingerprint modulo this, so that products of 64 bits do not overflow."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The table an engine writes and what its columns mean; empty `partition` is a flat table.

    `keys` are a long and a small integer. `options` are Hudi's, for engines that take them. Where
    `table` is a URI, `files` is the folder in which the server behind it keeps the table, `server`
    its process, `spill` what scratch folders are named by, and `storage_options` say how it is
    reached. Of several `writer`s of one table each has a name, and none deletes it;
    `retries` is how often an engine without such an option makes a refused write again.
    """

    table: str
    files: str = ""
    server: int = 0
    spill: str = ""
    storage_options: dict[str, str] = field(default_factory=dict)
    writer: str = ""
    retries: int = 0
    driver_memory: str = DRIVER_MEMORY
    keys: tuple[str, str] = ("l_orderkey", "l_linenumber")
    partition: str = ""
    ordering: str = "updated_at"
    value: str = "l_quantity"
    text: str = "l_comment"
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> Workload:
        """The workload that `to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "keys": tuple(fields["keys"])})

    def to_json(self) -> str:
        """One line for a command line."""
        return json.dumps(asdict(self))

    @property
    def folder(self) -> Path:
        """The table's folder."""
        return Path(self.files or self.table)

    @property
    def scratch(self) -> Path:
        """Where Spark may spill."""
        return Path(f"{self.spill or self.table}{self.writer and '.'}{self.writer}.spark")

    @property
    def own_folders(self) -> list[Path]:
        """What an engine may delete before and after."""
        return [self.scratch] if self.writer else [self.folder, self.scratch]

    @property
    def fingerprint_columns(self) -> list[str]:
        """The columns that say whether two tables hold the same rows."""
        return [*self.keys, self.ordering, self.value, self.text]

    def match(self) -> str:
        """The condition of a MERGE of source s into target t."""
        columns = [*self.keys, *([self.partition] if self.partition else [])]
        return " AND ".join(f"t.{name} = s.{name}" for name in columns)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do: `operation` is start, check, compact, a kind of read, or a write of Hudi's.

    A `check` answers the fingerprint, `writes` are upserts of the `sources` one after the other,
    while other writers are at work on the table as well. Of a `brief` step, one of many, the time
    alone is taken, and no check follows.
    """

    name: str
    operation: str
    source: str = ""
    sources: tuple[str, ...] = ()
    brief: bool = False


class Engine(Protocol):
    """What an engine must be able to do."""

    def start(self, source: str) -> int:
        """Start the session and count the rows of a file, so that it is warm."""
        ...

    def write(self, operation: str, source: str) -> Mapping[str, Any] | None:
        """Carry out one operation with the rows of a file; the first makes the table.

        What it gives goes into the line of the step.
        """
        ...

    def read(self) -> tuple[int, str]:
        """Count of all rows and sum of the value column."""
        ...

    def scan(self, source: str) -> int:
        """Count of all rows, of which the columns of a dataset's files are read.

        Asked of those alone that read without Spark.
        """
        ...

    def whole(self) -> int:
        """Count of all rows, which are read with all columns as one table in memory.

        Asked of those alone that read without Spark.
        """
        ...

    def fingerprint(self) -> dict[str, int]:
        """Numbers that agree when two tables hold the same rows; never timed."""
        ...

    def requests(self) -> Mapping[str, int]:
        """The requests to the table's object store so far, by kind, of those who count them."""
        ...

    def is_refused(self, error: Exception) -> bool:
        """Whether an error of `write` means that others stood against it."""
        ...

    def stop(self) -> None:
        """End the session."""
        ...


def session_settings(work: Workload) -> dict[str, str]:
    """Spark's settings, alike for every engine."""
    return {
        "spark.master": SPARK_MASTER,
        "spark.driver.memory": work.driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.local.dir": str(work.scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def hudi_options(work: Workload) -> dict[str, str]:
    """Hudi's options for the table, alike for every engine that takes them."""
    options = {
        "hoodie.table.name": work.folder.name,
        RECORD_KEY: ",".join(work.keys),
        "hoodie.datasource.write.precombine.field": work.ordering,
        "hoodie.datasource.write.partitionpath.field": work.partition,
    }
    if work.partition:
        options["hoodie.datasource.write.hive_style_partitioning"] = "true"
    return {**options, **work.options}


def fingerprint_sql(work: Workload, source: str) -> str:
    """The query that answers the same numbers as `fingerprint_of_batches`."""
    first, second = work.keys
    key = f"(CAST({first} AS BIGINT) * 8 + {second})"
    cents = f"CAST({work.value} * 100 AS BIGINT)"
    return (
        f"SELECT count(*) AS rows, sum({key}) AS keys, "
        f"sum(({key} % {MODULUS}) * {work.ordering} * {cents}) AS versions, "
        f"sum(length({work.text})) AS text FROM {source}"
    )


def fingerprint_of_batches(work: Workload, batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """Count of rows, and sums over keys, over keys with their versions and values, over texts."""
    found = {"rows": 0, "keys": 0, "versions": 0, "text": 0}
    for batch in batches:
        first, second, ordering, value, text = (
            batch.column(name) for name in work.fingerprint_columns
        )
        keys = _integers(first) * 8 + _integers(second)
        cents = np.rint(value.cast(pa.float64()).to_numpy(zero_copy_only=False) * 100)
        versions = (keys % MODULUS) * _integers(ordering) * cents.astype(np.int64)
        found["rows"] += batch.num_rows
        found["keys"] += int(keys.sum())
        found["versions"] += int(versions.sum())
        found["text"] += pc.sum(pc.utf8_length(text.cast(pa.string()))).as_py() or 0
    pa.default_memory_pool().release_unused()
    return found


def _integers(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def sizes(folder: Path) -> dict[Path, int]:
    """Bytes of every file below a folder."""
    return {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def is_data(path: Path, folder: Path) -> bool:
    """Whether a file holds rows of the table rather than what the engine knows of it."""
    inner = path.relative_to(folder).parts
    known = any(part.startswith((".", "_")) or part == "metadata" for part in inner)
    return path.suffix == ".parquet" and not known


def timed(step: Step, folder: Path, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run one step: seconds, what it says of rows, files and bytes written, peak memory."""
    if step.brief:
        return briefly(step, work)
    before, spent = sizes(folder), processor_seconds()
    with MemoryWatch() as watch:
        began = time.perf_counter()
        told = work()
        seconds = time.perf_counter() - began
    used = processor_seconds() - spent
    after = sizes(folder)
    new = {path: size for path, size in after.items() if path not in before}
    return {
        "step": step.name,
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 2),
        **told,
        "files_written": sum(is_data(path, folder) for path in new),
        "bytes_written": sum(new.values()),
        "bytes_table": sum(after.values()),
        "peak_jvm_bytes": watch.peaks.jvm,
        "peak_driver_python_bytes": watch.peaks.driver_python,
        "peak_workers_bytes": watch.peaks.workers,
        "peak_largest_worker_bytes": watch.peaks.largest_worker,
    }


def briefly(step: Step, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run one step: seconds, those of all processors, and what it says of rows."""
    spent, began = processor_seconds(), time.perf_counter()
    told = work()
    seconds = time.perf_counter() - began
    used = round(processor_seconds() - spent, 3)
    return {"step": step.name, "seconds": round(seconds, 4), "processor_seconds": used, **told}


def carry_out(engine: Engine, step: Step, folder: Path, server: int = 0) -> dict[str, Any]:
    """One step of an engine, and after a write the fingerprint of what the table then holds.

    Requests to an object store are told by kind, those of the step alone, and the CPU time that the
    process of a `server` took for them.
    """
    before = dict(engine.requests())
    served = processor_seconds_of(server) if server else 0.0
    line = _carried_out(engine, step, folder)
    if server:
        line["server_seconds"] = round(processor_seconds_of(server) - served, 2)
    made = {kind: count - before.get(kind, 0) for kind, count in engine.requests().items()}
    if step.operation in ("check", "writes") or step.brief:
        return line
    line = {**line, **{f"requests_{kind}": count for kind, count in made.items()}}
    is_write = step.operation not in ("start", "read", "scan", "whole", "files")
    return {**line, "fingerprint": engine.fingerprint()} if is_write else line


def _carried_out(engine: Engine, step: Step, folder: Path) -> dict[str, Any]:
    reads: dict[str, Callable[[], dict[str, Any]]] = {
        "start": lambda: {"rows": engine.start(step.source)},
        "read": lambda: dict(zip(("rows", "sum"), engine.read(), strict=True)),
        "scan": lambda: {"rows": engine.scan(step.source)},
        "whole": lambda: {"rows": engine.whole()},
        "files": lambda: {"rows": _rows_of_files(str(folder), step.source)},
    }
    if step.operation in reads:
        return timed(step, folder, reads[step.operation])
    if step.operation == "check":
        return {"step": step.name, "fingerprint": engine.fingerprint()}
    if step.operation == "writes":
        return {"step": step.name, "writes": [attempted(engine, each) for each in step.sources]}
    rows = sum(pq.read_metadata(path).num_rows for path in files_of(step.source))

    def write() -> dict[str, Any]:
        return {"rows": rows, **(engine.write(step.operation, step.source) or {})}

    return timed(step, folder, write)


def files_of(source: str) -> list[Path]:
    """The Parquet files of a source: one, those below a folder, or none as of a compaction."""
    path = Path(source)
    return [] if not source else sorted(path.rglob("*.parquet")) if path.is_dir() else [path]


def _rows_of_files(table: str, source: str) -> int:
    """Count of a table's rows; its files and those of its dataset are read whole by pyarrow."""
    folders = [each for each in (table, source) if Path(each).is_dir()]
    read = [ds.dataset(files_of(each), partitioning="hive").to_table() for each in folders]
    return min(rows.num_rows for rows in read)


def columns_of(source: str) -> list[str]:
    """The columns of the files of a dataset; those that its folders name are not among them."""
    return pq.read_schema(files_of(source)[0]).names


def attempted(engine: Engine, source: str) -> dict[str, Any]:
    """One upsert of several writers': when it began and ended, and whether it was refused.

    Of a refused one the line has the beginning of the error, and nothing is in the table.
    """
    began = time.time()
    try:
        told = dict(engine.write("upsert", source) or {})
    except Exception as error:
        if not engine.is_refused(error):
            raise
        told = {"refused": str(error)[:300]}
    return {"source": Path(source).name, "began": began, "ended": time.time(), **told}


def serve(make: Callable[[str, Workload], Engine]) -> None:
    """Carry out the steps of standard input; the table of a single writer is deleted first."""
    name, work = sys.argv[1], Workload.from_json(sys.argv[2])
    for folder in work.own_folders:
        shutil.rmtree(folder, ignore_errors=True)
    work.scratch.mkdir(parents=True)
    engine = make(name, work)
    try:
        for text in sys.stdin:
            line = carry_out(engine, Step(**json.loads(text)), work.folder, work.server)
            print(json.dumps(line), flush=True)
    finally:
        engine.stop()
