"""What is said of errors that are not ours."""

from __future__ import annotations

import errno

import pytest
from pyspark.errors import AnalysisException, PySparkRuntimeError, PythonException

from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    InvariantError,
    PlatformError,
    RecordKeyError,
    RequestError,
    SourceError,
    StorageError,
)
from pyhudi.spark.failures import explain

WORKER = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "keys.py", line 10, in record_keys
pyhudi.errors.RecordKeyError: 3 rows have a null key, the first is row 7
\tat org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    ("error", "kind", "code", "words"),
    [
        pytest.param(
            AnalysisException("[PATH_NOT_FOUND] Path does not exist: file:/landing/x."),
            SourceError,
            2,
            "file:/landing/x",
            id="no source",
        ),
        pytest.param(
            AnalysisException("[UNRESOLVED_COLUMN] A column with name `x` cannot be resolved."),
            RequestError,
            2,
            "`x`",
            id="no column",
        ),
        pytest.param(PythonException(WORKER), RecordKeyError, 2, "the first is row 7", id="ours"),
        pytest.param(
            PythonException("java.io.IOException: No space left on device"),
            PlatformError,
            4,
            "a disk is full",
            id="full disk of a worker",
        ),
        pytest.param(
            OSError(errno.ENOSPC, "No space left on device"),
            PlatformError,
            4,
            "a disk is full",
            id="full disk of the driver",
        ),
        pytest.param(
            PythonException("ModuleNotFoundError: No module named 'pyarrow'"),
            PlatformError,
            4,
            "no pyarrow",
            id="no pyarrow",
        ),
        pytest.param(
            PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"),
            PlatformError,
            4,
            "JAVA_HOME",
            id="no Java",
        ),
        pytest.param(KeyError("x"), PlatformError, 4, "KeyError", id="unforeseen"),
    ],
)
def test_an_error_becomes_one_a_person_can_act_on(
    error: Exception, kind: type[HudiError], code: int, words: str
) -> None:
    explained = explain(error)
    assert type(explained) is kind
    assert explained.exit_code == code
    assert words in str(explained)
    assert "\n" not in str(explained)


@pytest.mark.parametrize("kind", [ConflictError, CorruptTableError, InvariantError, StorageError])
def test_an_error_of_a_worker_keeps_its_place_and_whether_a_retry_can_help(
    kind: type[HudiError],
) -> None:
    raised = kind("it failed", where="/table/file")
    explained = explain(PythonException(f"Traceback\npyhudi.errors.{kind.__name__}: {raised}\n"))
    assert type(explained) is kind
    assert explained.retryable is raised.retryable
    assert str(explained) == "it failed [/table/file]"


def test_an_error_of_the_engine_stays_as_it_is() -> None:
    error = RecordKeyError("three rows")
    assert explain(error) is error
