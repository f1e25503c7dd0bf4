"""This engine's process: `run_pyhudi.py INPUTS TABLE LAYOUT` prints a JSON line per step."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.compute as pc
from pyspark.sql import SparkSession
from steps import SPARK_MASTER, Place, place_from_arguments, run, session_settings, table_options

import pyhudi
import pyhudi.spark


class Pyhudi:
    """The engine in a Spark session of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._spark: SparkSession | None = None

    def start(self, source: Path) -> int:
        """Start the session and count a file's rows."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(SPARK_MASTER).appName("pyhudi benchmark")
        for name, value in session_settings(self._place).items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark.read.parquet(str(source)).count()

    def write(self, operation: str, source: Path) -> None:
        """One operation."""
        options = table_options(self._place)
        options["hoodie.datasource.write.operation"] = operation
        rows = self._spark.read.parquet(str(source))
        pyhudi.spark.write(rows, str(self._place.table), options=options, mode="append")

    def read(self) -> tuple[int, str]:
        """Count and sum by `read_table`, without Spark."""
        column = pyhudi.read_table(str(self._place.table), columns=["l_quantity"]).column(0)
        return len(column), str(pc.sum(column).as_py())

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()


@contextmanager
def pyhudi_engine(place: Place) -> Iterator[Pyhudi]:
    """The engine, stopped at the end."""
    engine = Pyhudi(place)
    try:
        yield engine
    finally:
        engine.stop()


if __name__ == "__main__":
    run(place_from_arguments(), pyhudi_engine)
