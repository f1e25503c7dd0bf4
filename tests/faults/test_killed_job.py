"""The job script, killed with all its processes in the middle of a write."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
from tests.support.orders import OPTIONS, SCHEMA, many, rows_of, tuples
from tests.support.spark import ROOT, spark  # noqa: F401 - a fixture
from tests.support.spark_orders import write
from tests.support.tree import data_files

pytestmark = pytest.mark.spark

FIRST = many(range(8), 1, "old")
LAST = many(range(4, 12), 3, "last")
ROWS = 400_000


def test_after_a_killed_job_the_next_write_finds_the_table_as_it_was(
    spark: SparkSession,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    table = tmp_path / "table"
    write(spark, table, FIRST, "insert")
    killed = instant_of_killed_job(table, large_source(tmp_path))
    assert rows_of(table) == tuples(FIRST)
    result = write(spark, table, LAST)
    assert rows_of(table) == tuples(FIRST.slice(0, 4), LAST)
    assert not data_files(table, f"_{killed}")
    names = sorted(path.name for path in (table / ".hoodie").iterdir())
    assert not [name for name in names if name.startswith(killed)]
    assert [name for name in names if name.endswith(".rollback")]
    assert not list((table / ".hoodie" / ".temp").iterdir())
    assert not list((table / ".hoodie" / ".heartbeat").iterdir())
    assert pyhudi.open_table(str(table)).timeline.last.time == result.instant


def large_source(folder: Path) -> Path:
    """Enough rows that the write takes a while once it has begun."""
    numbers = pa.array(range(ROWS))
    columns = [
        numbers.cast(pa.string()),
        pa.DictionaryArray.from_arrays(pa.array([n % 2 for n in range(ROWS)]), ["p0", "p1"]),
        numbers,
        numbers.cast(pa.string()),
    ]
    path = folder / "large.parquet"
    pq.write_table(pa.table(columns, names=SCHEMA.names).cast(SCHEMA), path)
    return path


def instant_of_killed_job(table: Path, source: Path) -> str:
    command = [sys.executable, str(ROOT / "spark_jobs" / "upsert.py")]
    command += ["--base-path", str(table), "--source", str(source), "--operation", "upsert"]
    command += [f"--hoodie-conf={key}={value}" for key, value in OPTIONS.items()]
    job = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while job.poll() is None and time.monotonic() < deadline:
            markers = list((table / ".hoodie" / ".temp").glob("*/*/*.marker.*"))
            if markers:
                break
            time.sleep(0.005)
    finally:
        alive = job.poll() is None
        if alive:
            os.killpg(job.pid, signal.SIGKILL)
        _, said = job.communicate(timeout=60)
    assert alive, said.decode()[-3000:]
    assert job.returncode == -signal.SIGKILL
    (instant,) = {marker.parent.parent.name for marker in markers}
    assert not (table / ".hoodie" / f"{instant}.commit").exists(), "it was killed too late"
    return str(instant)
