"""This engine's process: `run_pyhudi.py NAME WORKLOAD` takes steps and prints a JSON line for each.

As `pyhudi` it is given what users give it, `spark.read.parquet(...)`, which it recognises as files
that its tasks can read. As `pyhudi_frame` it is given a DataFrame with a computed column, which
Spark must carry out and hand over. `pyhudi_spark35` is the first, on the peers' release of Spark.
"""

from __future__ import annotations

import os
import sys

import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's users know
from steps import (
    Workload,
    fingerprint_of_batches,
    hudi_options,
    serve,
    session_settings,
)

import pyhudi
import pyhudi.spark


class Pyhudi:
    """The engine in a Spark session of its own."""

    def __init__(self, name: str, work: Workload) -> None:
        self._computes = name == "pyhudi_frame"
        self._work = work
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

    def write(self, operation: str, source: str) -> None:
        """One operation."""
        if operation == "compact":
            due = {"hoodie.compact.inline.max.delta.commits": "1"}
            pyhudi.spark.compact(self._spark, self._work.table, options=due)
            return
        options = {**hudi_options(self._work), "hoodie.datasource.write.operation": operation}
        rows = self._spark.read.parquet(source)
        if self._computes:
            ordering = self._work.ordering
            rows = rows.withColumn(ordering, F.col(ordering) + F.lit(0).cast("long"))
        pyhudi.spark.write(rows, self._work.table, options=options, mode="append")

    def read(self) -> tuple[int, str]:
        """Count and sum by `read_table`, without Spark."""
        column = pyhudi.read_table(self._work.table, columns=[self._work.value]).column(0)
        return len(column), str(pc.sum(column).as_py())

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        columns = self._work.fingerprint_columns
        batches = pyhudi.read_batches(self._work.table, columns=columns)
        return fingerprint_of_batches(self._work, batches)

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()


if __name__ == "__main__":
    serve(Pyhudi)
