"""A Spark session that carries one bundle of real Apache Hudi; runs with the oracle's Python."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from tests.interop.hudi_home import bundle_jar

LOG4J = """rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{{1}}: %m%n
"""

# Tests are over before what an optimising compiler and parallel collectors cost has paid off; in a
# larger young generation little grows old.
SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1500m -Xmn600m"


def spark_settings(version: str, scratch: Path, memory: str) -> dict[str, str]:
    """What the session needs so that Hudi behaves in local mode."""
    log4j = scratch / "log4j2.properties"
    log4j.write_text(LOG4J.format(level=os.environ.get("PYHUDI_ORACLE_LOG", "error")))
    java = (
        f"-Duser.timezone=UTC -Dlog4j2.configurationFile={log4j} -Dderby.system.home={scratch} "
        f"-Djol.skipHotspotSAAttach=true -Djdk.attach.allowAttachSelf=true {SHORT_LIVED_JVM}"
    )
    return {
        # As spark.jars the bundle would sit in a child class loader, where Avro's reflection finds
        # Hudi's classes on some threads and not on others: merges then go wrong at random.
        "spark.driver.extraClassPath": str(bundle_jar(version)),
        "spark.driver.extraJavaOptions": java,
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Rows are few, and Java code is generated and compiled for every query.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def hudi_session(version: str, memory: str = "1500m") -> Iterator[SparkSession]:
    """Start `local[2]` in UTC with the bundle of that version; stop it and its files at the end.

    What the JVM prints goes to standard error: standard output carries the answers.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.pop("SPARK_HOME", None)
    scratch = Path(tempfile.mkdtemp(prefix="pyhudi-interop-"))
    builder = SparkSession.builder.master("local[2]").appName(f"hudi {version}")
    for name, value in spark_settings(version, scratch, memory).items():
        builder = builder.config(name, value)
    sys.stdout.flush()
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        spark = builder.getOrCreate()
    finally:
        os.dup2(answers, 1)
        os.close(answers)
    spark.sparkContext.setLogLevel(os.environ.get("PYHUDI_ORACLE_LOG", "error").upper())
    try:
        yield spark
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)
