"""This engine's process: `run_pyhudi.py NAME WORKLOAD` takes steps and prints a JSON line for each.

As `pyhudi` it is given what users give it, `spark.read.parquet(...)`, which it recognises as files
that its tasks can read. As `pyhudi_frame` it is given a DataFrame with a computed column, which
Spark must carry out and hand over. `pyhudi_spark35` is the first, on the peers' release of Spark;
names that end with `_s3` have their table on an object store.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc
from locks import TimedLocks
from ours import is_refused, requests_made, told_of
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's users know
from steps import (
    BOOTSTRAPS,
    KEYS,
    RECORD_KEY,
    SELECTOR,
    Workload,
    columns_of,
    fingerprint_of_batches,
    hudi_options,
    serve,
    session_settings,
)

import pyhudi
import pyhudi.spark
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.spark.source import rows_of_frame
from pyhudi.spark.tasks.runner import SparkRunner


class Pyhudi:
    """The engine in a Spark session of its own."""

    def __init__(self, name: str, work: Workload) -> None:
        self._computes = name.startswith("pyhudi_frame")
        self._work = work
        self._locks = TimedLocks()
        self._spark: SparkSession | None = None

    def start(self, source: str) -> int:
        """Start the session and count a file's rows."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.appName("pyhudi benchmark")
        for name, value in session_settings(self._work).items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark.read.parquet(source).count()

    def write(self, operation: str, source: str) -> dict[str, Any]:
        """One operation, and what its result says."""
        path, storage_options = self._work.table, self._work.storage_options
        if operation == "compact":
            due = {"hoodie.compact.inline.max.delta.commits": "1"}
            pyhudi.spark.compact(self._spark, path, options=due, storage_options=storage_options)
            return {}
        if operation in BOOTSTRAPS:
            options = {**hudi_options(self._work), SELECTOR: BOOTSTRAPS[operation]}
            options[RECORD_KEY] = KEYS.get(operation, options[RECORD_KEY])
            done = pyhudi.spark.bootstrap(
                self._spark, source, path, options=options, mode="overwrite"
            )
            return {"stages": {name: round(took, 3) for name, took in done.seconds.items()}}
        options = {**hudi_options(self._work), "hoodie.datasource.write.operation": operation}
        rows = self._spark.read.parquet(source)
        if self._computes:
            ordering = self._work.ordering
            rows = rows.withColumn(ordering, F.col(ordering) + F.lit(0).cast("long"))
        # As pyhudi.spark.write does it, with a lock that is timed.
        environment = environment_on(SparkRunner(session=self._spark), storage_options)
        environment = replace(environment, open_lock=self._locks.open)
        before = replace(self._locks.times)
        result = write_rows(environment, rows_of_frame(rows), path, options)
        return told_of(result, self._locks.times.since(before))

    def requests(self) -> dict[str, int]:
        """The requests to the table's store so far."""
        return requests_made(self._work.table)

    def is_refused(self, error: Exception) -> bool:
        """Whether a write was refused because of others."""
        return is_refused(error)

    def read(self) -> tuple[int, str]:
        """Count and sum by `read_table`, without Spark."""
        table = pyhudi.read_table(
            self._work.table,
            columns=[self._work.value],
            storage_options=self._work.storage_options,
        )
        column = table.column(0)
        return len(column), str(pc.sum(column).as_py())

    def scan(self, source: str) -> int:
        """The rows with the columns that a dataset has, batch by batch."""
        batches = pyhudi.read_batches(self._work.table, columns=columns_of(source))
        return sum(batch.num_rows for batch in batches)

    def whole(self) -> int:
        """The rows as `read_table` gives them by default, meta columns included."""
        return pyhudi.read_table(self._work.table).num_rows

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        columns = self._work.fingerprint_columns
        batches = pyhudi.read_batches(
            self._work.table, columns=columns, storage_options=self._work.storage_options
        )
        return fingerprint_of_batches(self._work, batches)

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()


if __name__ == "__main__":
    serve(Pyhudi)
