"""What a task costs that does nothing: Spark's own mapInArrow beside this engine's.

    python benchmarks/task_cost.py --tasks 200 --repeat 5

Both run the same function over the same empty tasks in one session of two cores. Prints the medians
of CPU time of the Python workers and of wall time a task, in milliseconds. Spark's own comes first:
what workers have put aside for the engine is spared whoever uses them next.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from memory import PROC, descendants, parents
from pyspark.sql import DataFrame, SparkSession
from steps import SPARK_MASTER

from pyhudi.runner.task import TaskIdentity
from pyhudi.spark.tasks.arrow_map import map_in_arrow

SCHEMA = pa.schema([pa.field("n", pa.int64())])
TICKS = os.sysconf("SC_CLK_TCK")
USER_TIME, SYSTEM_TIME = 11, 12


def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the tasks do."""
    for _ in batches:
        pass
    yield pa.RecordBatch.from_arrays([pa.array([1], pa.int64())], schema=SCHEMA)


def nothing_in_task(
    _task: TaskIdentity, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The same, as the engine has it."""
    yield from nothing(batches)


def worker_seconds() -> float:
    """CPU time of all Python processes below this one so far."""
    processes = parents()
    ticks = 0
    for pid in descendants(os.getpid(), processes):
        if processes[pid][1].startswith("python"):
            text = (PROC / str(pid) / "stat").read_text()
            fields = text[text.rindex(")") + 2 :].split()
            ticks += int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])
    return ticks / TICKS


def measured(mapped: Callable[[], DataFrame], tasks: int) -> tuple[float, float]:
    """CPU milliseconds of the workers and wall milliseconds, a task."""
    cpu, wall = worker_seconds(), time.perf_counter()
    mapped().collect()
    spent = worker_seconds() - cpu, time.perf_counter() - wall
    return spent[0] / tasks * 1000, spent[1] / tasks * 1000


def main() -> None:
    """Measure one after the other and print medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(SPARK_MASTER).config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    numbers = spark.range(0, given.tasks, 1, numPartitions=given.tasks)
    ways = {
        "mapInArrow of Spark": lambda: numbers.mapInArrow(nothing, "n long"),
        "map_in_arrow of pyhudi": lambda: map_in_arrow(numbers, nothing_in_task, SCHEMA),
    }
    for name, mapped in ways.items():
        measured(mapped, given.tasks)
        found = [measured(mapped, given.tasks) for _ in range(given.repeat)]
        cpu, wall = (statistics.median(values) for values in zip(*found, strict=True))
        print(f"{name:<24}{cpu:6.1f} CPU ms in Python, {wall:6.1f} ms in all, a task", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
