"""One SparkSession for a job; nothing else decides Spark's settings."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

import pyhudi
from pyhudi.storage.local_source import names_hadoop

logger = logging.getLogger(__name__)

_UNDER_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"

# Each is set only where neither spark-submit nor a properties file has it.
ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Fewer and larger batches: every batch that crosses to a Python worker has a fixed cost.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
LOCAL_ONLY = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@contextlib.contextmanager
def job_session(name: str, *, verbose: bool = False) -> Iterator[SparkSession]:
    """A session with the settings of the submission, ours where it says nothing.

    Without a master Spark takes ``local[*]``. A session that is already active is used as it is and
    left running.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # Spark logs every failed task with its stack trace; the job says once what went wrong.
    session = _start(name, log_level="WARN" if verbose else "OFF")
    try:
        yield session
    finally:
        # The JVM may be gone already, killed with the task that started it; and where a signal came
        # amid an answer of the JVM's, py4j takes the rest of it for the next one: a KeyError.
        with contextlib.suppress(Py4JError, OSError, KeyError):
            session.stop()


def missing_settings(given: SparkConf, name: str, log_level: str) -> dict[str, str]:
    """The settings to add to those that were given."""
    wanted = ALWAYS | {"spark.log.level": log_level}
    if is_local(given):
        wanted |= LOCAL_ONLY | _worker_path()
    missing = {key: value for key, value in wanted.items() if not given.contains(key)}
    # Set by Spark itself where plain python starts it; a bar that redraws itself is no log.
    missing["spark.ui.showConsoleProgress"] = "false"
    if given.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        missing["spark.app.name"] = name
    return missing


def _worker_path() -> dict[str, str]:
    """Where local workers find the engine when it runs from a checkout.

    Installed packages they find themselves, and these must not come before the standard library.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(pyhudi.__file__)))
    if os.path.basename(root) in ("site-packages", "dist-packages") or not os.path.isdir(root):
        return {}
    given = os.environ.get("PYTHONPATH")
    return {"spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, (root, given)))}


def reads_local_paths() -> bool:
    """Whether a path without a scheme is one of this machine, told before there is a session."""
    if _UNDER_SPARK_SUBMIT in os.environ:
        # The JVM runs already, and knows what spark-submit was given.
        SparkContext._ensure_initialized()
    given = SparkConf()
    is_elsewhere = given.contains("spark.hadoop.fs.defaultFS") or names_hadoop(os.environ)
    return is_local(given) and not is_elsewhere


def is_local(given: SparkConf) -> bool:
    """Whether driver and executors are one process on this machine."""
    master = given.get("spark.master", "local[*]") or "local[*]"
    return master == "local" or master.startswith("local[")


def _start(name: str, log_level: str) -> SparkSession:
    # Only the gateway knows what spark-submit was given, so it starts before the session does.
    SparkContext._ensure_initialized()
    given = SparkConf()
    if is_local(given):
        # Workers would otherwise take python3 from PATH, which need not have pyarrow.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        _say_memory(given)
    builder = SparkSession.builder
    for key, value in missing_settings(given, name, log_level).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _say_memory(given: SparkConf) -> None:
    if not given.contains("spark.driver.memory"):
        logger.info(
            "Spark runs in this process with its default of 1 GB for the JVM; "
            "for large sources start it with spark-submit --driver-memory, or give the operator "
            "driver_memory"
        )
