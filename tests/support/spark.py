"""One local Spark session for all tests of a run, on whichever pyspark is installed."""

import atexit
import functools
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
# Tests are over before what an optimising compiler and parallel collectors cost has paid off.
SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def prepare_environment() -> None:
    """Let workers find the engine and this interpreter, and run everything in UTC.

    Spark reads these when it starts the JVM and the workers, so they are set before.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.pop("SPARK_HOME", None)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    wanted = [str(ROOT / "spark_jobs"), str(ROOT)]
    present = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([*wanted, *(p for p in present if p)])


@functools.cache
def shared_session() -> SparkSession:
    """The session, started on first use and stopped when the interpreter ends."""
    prepare_environment()
    scratch = Path(tempfile.mkdtemp(prefix="pyhudi-tests-"))
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": (
            f"-Duser.timezone=UTC -Dderby.system.home={scratch} {SHORT_LIVED_JVM}"
        ),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("pyhudi tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    atexit.register(session.stop)
    return session


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The shared session; a conftest takes it by importing this name."""
    return shared_session()
