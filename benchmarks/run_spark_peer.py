"""The process of a peer on Spark 3.5: Apache Hudi, Delta Lake or Apache Iceberg.

`run_spark_peer.py NAME WORKLOAD` takes steps and prints a JSON line for each. It runs with the
Python that `tests/interop/setup.sh --peers` makes. Each peer keeps its own defaults for whatever
the workload does not say: Hudi table version 9, gzip and a metadata table, Delta and Iceberg
copy-on-write, with snappy and zstd.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's users know
from pyspark.sql.types import StructType
from steps import (
    BOOTSTRAPS,
    SELECTOR,
    Workload,
    fingerprint_sql,
    hudi_options,
    serve,
    session_settings,
)

HUDI, DELTA, ICEBERG = "1.1.1", "3.3.2", "1.10.0"
PARALLELISM = "4"
HUDIS_SELECTORS = {
    "metadata_only": "MetadataOnlyBootstrapModeSelector",
    "full_record": "FullRecordBootstrapModeSelector",
}
SOURCE, TARGET = "bench_source", "bench_target"
REFUSALS = (
    "HoodieWriteConflictException",
    "HoodieLockException",
    "HoodieRollbackException",
    "Concurrent",  # Delta's are ConcurrentAppendException and the like
    "CommitFailedException",
    "ValidationException",
)


def jar(name: str) -> str:
    """A jar that `setup.sh` fetched."""
    default = Path.home() / ".cache" / "pyhudi-oracle"
    return str(Path(os.environ.get("PYHUDI_ORACLE_HOME", default)) / "jars" / name)


class HudiTable:
    """Apache Hudi's data source."""

    def __init__(self, name: str, work: Workload) -> None:
        self._work = work
        self._options = {
            "hoodie.upsert.shuffle.parallelism": PARALLELISM,
            "hoodie.bulkinsert.shuffle.parallelism": PARALLELISM,
            "hoodie.delete.shuffle.parallelism": PARALLELISM,
            **hudi_options(work),
        }
        if name == "hudi_no_metadata":
            self._options["hoodie.metadata.enable"] = "false"

    def settings(self) -> dict[str, str]:
        """What the session needs."""
        return {
            "spark.driver.extraClassPath": jar(f"hudi-spark3.5-bundle_2.12-{HUDI}.jar"),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }

    def write(
        self, spark: SparkSession, operation: str, rows: DataFrame | None, source: str
    ) -> None:
        """One operation; a compaction has no rows."""
        if operation == "compact":
            options = "hoodie.compact.inline.max.delta.commits=1"
            spark.sql(
                f"CALL run_compaction(op => 'scheduleAndExecute', path => '{self._work.table}', "
                f"options => '{options}')"
            ).collect()
            return
        if operation in BOOTSTRAPS:
            self._bootstrap(spark, BOOTSTRAPS[operation], source)
            return
        options = {**self._options, "hoodie.datasource.write.operation": operation}
        mode = "append" if self._work.folder.exists() else "overwrite"
        rows.write.format("hudi").options(**options).mode(mode).save(self._work.table)

    def _bootstrap(self, spark: SparkSession, mode: str, source: str) -> None:
        """Take a dataset over; an empty frame says nothing of the schema."""
        options = {
            **self._options,
            "hoodie.datasource.write.operation": "bootstrap",
            "hoodie.bootstrap.base.path": source,
            "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
            "hoodie.bootstrap.parallelism": PARALLELISM,
            SELECTOR: f"org.apache.hudi.client.bootstrap.selector.{HUDIS_SELECTORS[mode]}",
            "hoodie.bootstrap.full.input.provider": (
                "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider"
            ),
            # Hudi 1.1.1 bootstraps no table whose columns it indexes.
            "hoodie.metadata.index.column.stats.enable": "false",
        }
        nothing = spark.createDataFrame([], StructType([]))
        nothing.write.format("hudi").options(**options).mode("overwrite").save(self._work.table)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The table."""
        return spark.read.format("hudi").load(self._work.table)


class DeltaTable:
    """Delta Lake, changed by MERGE."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work = work

    def settings(self) -> dict[str, str]:
        """What the session needs."""
        jars = [jar(f"delta-spark_2.12-{DELTA}.jar"), jar(f"delta-storage-{DELTA}.jar")]
        return {
            "spark.driver.extraClassPath": os.pathsep.join(jars),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }

    def write(self, spark: SparkSession, operation: str, rows: DataFrame, source: str) -> None:
        """Create the table, convert a dataset to one, or merge into it."""
        if operation in BOOTSTRAPS:
            # It turns a folder into a table where it is, so it is given one of the same files.
            shutil.copytree(source, self._work.table, copy_function=os.link)
            spark.sql(
                f"CONVERT TO DELTA parquet.`{self._work.table}` "
                f"PARTITIONED BY ({self._work.partition} INT)"
            ).collect()
        elif operation == "bulk_insert":
            writer = rows.write.format("delta")
            if self._work.partition:
                writer = writer.partitionBy(self._work.partition)
            writer.save(self._work.table)
        else:
            merge(spark, operation, rows, f"delta.`{self._work.table}`", self._work)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The table."""
        return spark.read.format("delta").load(self._work.table)


class IcebergTable:
    """Apache Iceberg in a Hadoop catalog, changed by MERGE."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work = work

    def settings(self) -> dict[str, str]:
        """What the session needs."""
        extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        return {
            "spark.driver.extraClassPath": jar(f"iceberg-spark-runtime-3.5_2.12-{ICEBERG}.jar"),
            "spark.sql.extensions": extensions,
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": self._work.table,
        }

    def write(self, spark: SparkSession, operation: str, rows: DataFrame, source: str) -> None:
        """Create the table, add the files of a dataset to one, or merge into it."""
        if operation in BOOTSTRAPS:
            columns = ", ".join(
                f"{field.name} {field.dataType.simpleString()}" for field in rows.schema
            )
            spark.sql(
                f"CREATE TABLE ice.db.bench ({columns}) USING iceberg "
                f"PARTITIONED BY ({self._work.partition})"
            ).collect()
            spark.sql(
                "CALL ice.system.add_files(table => 'db.bench', "
                f"source_table => '`parquet`.`{source}`')"
            ).collect()
        elif operation == "bulk_insert":
            writer = rows.writeTo("ice.db.bench").using("iceberg")
            if self._work.partition:
                writer = writer.partitionedBy(F.col(self._work.partition))
            writer.create()
        else:
            merge(spark, operation, rows, "ice.db.bench", self._work)

    def rows(self, spark: SparkSession) -> DataFrame:
        """The table."""
        return spark.table("ice.db.bench")


FORMATS = {
    "hudi": HudiTable,
    "hudi_no_metadata": HudiTable,
    "delta": DeltaTable,
    "iceberg": IcebergTable,
}
Format = HudiTable | DeltaTable | IcebergTable


def merge(spark: SparkSession, operation: str, rows: DataFrame, table: str, work: Workload) -> None:
    """An upsert or a delete by key, as SQL says it."""
    rows.createOrReplaceTempView(SOURCE)
    actions = {
        "upsert": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "delete": "WHEN MATCHED THEN DELETE",
    }
    spark.sql(
        f"MERGE INTO {table} t USING {SOURCE} s ON {work.match()} {actions[operation]}"
    ).collect()


class SparkPeer:
    """A table format in a Spark session of its own."""

    def __init__(self, name: str, work: Workload) -> None:
        self._work = work
        self._format: Format = FORMATS[name](name, work)
        self._spark: SparkSession | None = None

    def start(self, source: str) -> int:
        """Start the session and count a file's rows."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.appName("peer benchmark")
        for name, value in {**session_settings(self._work), **self._format.settings()}.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark.read.parquet(source).count()

    def write(self, operation: str, source: str) -> None:
        """One operation; the first makes the table."""
        rows = self._spark.read.parquet(source) if source else None
        self._format.write(self._spark, operation, rows, source)

    def requests(self) -> dict[str, int]:
        """None is counted."""
        return {}

    def is_refused(self, error: Exception) -> bool:
        """Whether a write was refused because of others: their word for it is somewhere in it."""
        return any(sign in str(error) for sign in REFUSALS)

    def read(self) -> tuple[int, str]:
        """Count and sum by Spark."""
        rows = self._format.rows(self._spark)
        found = rows.agg(F.count("*"), F.sum(self._work.value)).first()
        return found[0], str(found[1])

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, by SQL."""
        self._format.rows(self._spark).createOrReplaceTempView(TARGET)
        row = self._spark.sql(fingerprint_sql(self._work, TARGET)).first()
        return {name: int(value) for name, value in row.asDict().items()}

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._spark.stop()


if __name__ == "__main__":
    serve(SparkPeer)
