"""Time one upsert into one partition, and a read of it, in tables of ever more partitions.

    python benchmarks/width.py --partitions 100 --partitions 1000 --partitions 10000

Every partition has one file of ten rows. A line tells of one step:

    make           the table, written at once
    upsert         into one partition, before anything is to be cleaned
    first_clean    the upsert after which the table is cleaned for the first time
    upsert_later   after that
    read           of the one partition, after each upsert

It is this engine without Spark, so that its storage calls can be counted, as can the bytes of what
a task is sent.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from engines import Line, home, keep_to_cores
from figures import WIDTH_FIGURES, WIDTH_STEPS, widths_table
from in_process import InProcess
from pyspark import cloudpickle
from results import Record, plain_text
from steps import Step, Workload

import pyhudi
from pyhudi.runner.in_process import Batches, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity

PARTITIONS = (100, 1_000, 10_000)
ROWS_EACH = 10
WANTED = "part-00007"
"""The one partition."""

MEASURED = 5
MOST_UPSERTS = 40
MIDDLE = {"processor_seconds": statistics.fmean}
"""Numbers that are counted in ticks have no median worth telling."""


@dataclass
class TaskSizes:
    """Runs tasks, and keeps the size of the largest function that one was sent, pickled."""

    largest: int = 0

    def run(self, function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        """Run a task."""
        if task.partition_id == 0:
            self.largest = max(self.largest, len(cloudpickle.dumps(function)))
        return run_once(function, task, batches)


class Wide:
    """A table of many partitions, of which one is written and read."""

    def __init__(self, count: int, table_type: str) -> None:
        self.folder = home() / "out" / f"width-{count}-{table_type}"
        self.inputs = Path(f"{self.folder}.inputs")
        self._count = count
        self._work = Workload(
            table=str(self.folder),
            keys=("id", "line"),
            partition="part",
            value="quantity",
            text="comment",
            options={
                "hoodie.datasource.write.table.type": table_type.upper(),
                # Of the usual size a bloom filter takes 400 KB of each of these files.
                "hoodie.index.bloom.num_entries": str(ROWS_EACH),
            },
        )
        self._sizes = TaskSizes()
        self._engine = InProcess(self._work, InProcessRunner(run_task=self._sizes.run))
        self._engine.condition = pc.field("part") == WANTED
        for folder in (self.folder, self.inputs):
            shutil.rmtree(folder, ignore_errors=True)
        self.inputs.mkdir(parents=True)

    def make(self) -> Line:
        """Write all partitions at once."""
        return self._write("make", "bulk_insert", range(self._count), 0)

    def upsert(self, number: int) -> Line:
        """Upsert all rows of the one partition."""
        return self._write("upsert", "upsert", [int(WANTED[5:])], number)

    def read(self) -> Line:
        """Read the rows of the one partition, which have to be all it has."""
        line = self._engine.run(Step(name="read", operation="read", brief=True))
        if line["rows"] != ROWS_EACH:
            raise SystemExit(f"{WANTED} has {line['rows']} rows instead of {ROWS_EACH}")
        return line

    def cleans(self) -> int:
        """How many cleans are on the timeline."""
        timeline = pyhudi.open_table(self.folder).timeline.completed()
        return sum(each.action.value == "clean" for each in timeline)

    def drop(self) -> None:
        """Delete the table."""
        for folder in (self.folder, self.inputs):
            shutil.rmtree(folder)

    def _write(self, name: str, operation: str, partitions: Sequence[int], number: int) -> Line:
        source = self.inputs / f"{number}.parquet"
        pq.write_table(rows_of(partitions, number), source)
        self._sizes.largest = 0
        line = self._engine.run(
            Step(name=name, operation=operation, source=str(source), brief=True)
        )
        result = self._engine.result
        stages = {} if result is None else dict(result.seconds)
        return {**line, "task_bytes": self._sizes.largest, "stages": stages}


def rows_of(partitions: Sequence[int], number: int) -> pa.Table:
    """The rows of some partitions as of an upsert."""
    parts = np.repeat(np.asarray(partitions, dtype=np.int64), ROWS_EACH)
    lines = np.tile(np.arange(ROWS_EACH, dtype=np.int32), len(partitions))
    return pa.table(
        {
            "id": parts,
            "line": lines,
            "part": [f"part-{part:05d}" for part in parts],
            "updated_at": np.full(len(parts), number, np.int64),
            "quantity": np.full(len(parts), float(number)),
            "comment": [f"row as of upsert {number}"] * len(parts),
        }
    )


def measure(count: int, table_type: str) -> dict[str, list[Line]]:
    """The lines of every step in a table of so many partitions."""
    wide, found = Wide(count, table_type), defaultdict[str, list[Line]](list)
    found["make"].append(wide.make())
    later = 0
    for number in range(1, MOST_UPSERTS + 1):
        line, cleans = wide.upsert(number), wide.cleans()
        is_first = cleans > 0 and not found["first_clean"]
        step = "first_clean" if is_first else "upsert_later" if cleans else "upsert"
        found[step].append(line)
        found["read"].append(wide.read())
        later += step == "upsert_later"
        if later == MEASURED:
            break
    wide.drop()
    return found


def median_line(step: str, lines: Sequence[Line]) -> Line:
    """The medians of the last few lines of a step; of kinds of calls those of the last line."""
    last = lines[-MEASURED:]
    numbers = {
        name: round(MIDDLE.get(name, statistics.median)(line[name] for line in last), 4)
        for name in WIDTH_FIGURES
        if name in last[0]
    }
    more = {name: last[-1][name] for name in ("calls_by_kind", "stages") if name in last[-1]}
    return {"engine": "pyhudi_in_process", "step": step, "runs": len(last), **numbers, **more}


def main() -> None:
    """One table after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, action="append", help="default 100, 1000, 10000")
    parser.add_argument("--table-type", default="copy_on_write")
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")
    given = parser.parse_args()
    keep_to_cores()
    record = Record("width", given.output)
    about = {"table_type": given.table_type}
    record.begin(**about, repeat=MEASURED)
    for count in given.partitions or PARTITIONS:
        found = measure(count, given.table_type)
        for step in WIDTH_STEPS:
            if found[step]:
                load = round(os.getloadavg()[0], 1)
                record.add({**median_line(step, found[step]), "load": load}, partitions=count)
    record.end()
    print(plain_text(widths_table(record.lines)), file=sys.stderr)


if __name__ == "__main__":
    main()
