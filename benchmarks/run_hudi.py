"""Real Hudi's process: `run_hudi.py INPUTS TABLE LAYOUT` prints a JSON line per step.

Runs with the Python that `tests/interop/setup.sh` makes, on Hudi 1.1.1 with its own defaults
(table version 9, gzip, metadata table); HUDI_BENCH_OPTIONS may hold more options as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's users know
from steps import SPARK_MASTER, Place, place_from_arguments, run, session_settings, table_options

VERSION = "1.1.1"
PARALLELISM = "4"


def bundle() -> Path:
    """The Spark bundle that `setup.sh` fetched."""
    default = Path.home() / ".cache" / "pyhudi-oracle"
    home = Path(os.environ.get("PYHUDI_ORACLE_HOME", default))
    return home / "jars" / f"hudi-spark3.5-bundle_2.12-{VERSION}.jar"


class Hudi:
    """Apache Hudi's Spark data source in a session of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._spark: SparkSession | None = None
        self._options = {
            **table_options(place),
            "hoodie.upsert.shuffle.parallelism": PARALLELISM,
            "hoodie.bulkinsert.shuffle.parallelism": PARALLELISM,
            "hoodie.delete.shuffle.parallelism": PARALLELISM,
            **json.loads(os.environ.get("HUDI_BENCH_OPTIONS", "{}")),
        }

    def start(self, source: Path) -> int:
        """Start the session and count a file's rows."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            **session_settings(self._place),
            "spark.driver.extraClassPath": str(bundle()),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
        builder = SparkSession.builder.master(SPARK_MASTER).appName("hudi benchmark")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark.read.parquet(str(source)).count()

    def write(self, operation: str, source: Path) -> None:
        """One operation; the first makes the table."""
        options = {**self._options, "hoodie.datasource.write.operation": operation}
        mode = "append" if self._place.table.exists() else "overwrite"
        rows = self._spark.read.parquet(str(source))
        rows.write.format("hudi").options(**options).mode(mode).save(str(self._place.table))

    def read(self) -> tuple[int, str]:
        """Count and sum by Spark."""
        rows = self._spark.read.format("hudi").load(str(self._place.table))
        found = rows.agg(F.count("*"), F.sum("l_quantity")).first()
        return found[0], str(found[1])

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()


@contextmanager
def hudi_engine(place: Place) -> Iterator[Hudi]:
    """The engine, stopped at the end."""
    engine = Hudi(place)
    try:
        yield engine
    finally:
        engine.stop()


if __name__ == "__main__":
    run(place_from_arguments(), hudi_engine)
