"""What is said of errors that are not ours."""

import errno

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkRuntimeError, PythonException

from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    InvariantError,
    MissingSourceError,
    PlatformError,
    RecordKeyError,
    RequestError,
    SetupError,
    StorageError,
)
from pyhudi.spark.failures import explain

WORKER = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "keys.py", line 10, in record_keys
pyhudi.errors.RecordKeyError: 3 rows have a null key, the first is row 7
\tat org.apache.spark.api.python.BasePythonRunner
"""


ERRORS = {
    "no source": (
        AnalysisException("[PATH_NOT_FOUND] Path does not exist: file:/landing/x."),
        *(MissingSourceError, "file:/landing/x"),
    ),
    "no column": (
        AnalysisException("[UNRESOLVED_COLUMN] A column with name `x` cannot be resolved."),
        *(RequestError, "`x`"),
    ),
    "ours": (PythonException(WORKER), RecordKeyError, "the first is row 7"),
    "full disk of a worker": (
        PythonException("java.io.IOException: No space left on device"),
        *(PlatformError, "a disk is full"),
    ),
    "full disk of the driver": (
        OSError(errno.ENOSPC, "No space left on device"),
        *(PlatformError, "a disk is full"),
    ),
    "a JVM that was killed amid a call": (
        Py4JError("An error occurred while calling o94.collectToPython"),
        *(PlatformError, "Spark's JVM has ended"),
    ),
    "a JVM that is gone": (
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        *(PlatformError, "Spark's JVM has ended"),
    ),
    "no pyarrow": (
        PythonException("ModuleNotFoundError: No module named 'pyarrow'"),
        *(SetupError, "no pyarrow"),
    ),
    "two Pythons": (
        PythonException("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9"),
        *(SetupError, "spark.pyspark.python"),
    ),
    "no Java": (
        PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
        *(PlatformError, "JAVA_HOME"),
    ),
    "unforeseen": (KeyError("x"), PlatformError, "KeyError"),
}


@pytest.mark.parametrize(("error", "kind", "words"), ERRORS.values(), ids=ERRORS)
def test_an_error_becomes_one_a_person_can_act_on(
    error: Exception, kind: type[HudiError], words: str
) -> None:
    explained = explain(error)
    assert type(explained) is kind
    assert words in str(explained)
    assert "\n" not in str(explained)


@pytest.mark.parametrize("kind", [ConflictError, CorruptTableError, InvariantError, StorageError])
def test_an_error_of_a_worker_keeps_its_place_and_whether_a_retry_can_help(kind: type[HudiError]):
    raised = kind("it failed", where="/table/file")
    explained = explain(PythonException(f"Traceback\npyhudi.errors.{kind.__name__}: {raised}\n"))
    assert type(explained) is kind
    assert explained.retryable is raised.retryable
    assert str(explained) == "it failed [/table/file]"


def test_an_error_of_the_engine_stays_as_it_is() -> None:
    error = RecordKeyError("three rows")
    assert explain(error) is error
