"""Errors of Spark, Python workers and the operating system as errors a person can act on."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException, PythonException

from pyhudi import errors
from pyhudi.errors import (
    HudiError,
    MissingSourceError,
    PlatformError,
    RequestError,
    SetupError,
    SourceError,
)

_OF_A_WORKER = re.compile(r"pyhudi\.errors\.(\w+): ([^\n]+)")
_LAST_WORDS = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Invalid)): ([^\n]+)", re.MULTILINE)
_JAVA_GONE = (
    "Spark's JVM has ended, often killed by the system for want of memory; give the machine more, "
    "or lower --driver-memory of spark-submit, and retry"
)
_MISSING_PACKAGE = re.compile(r"No module named '([\w.]+)'")

# What Spark says, in the order looked for; the first that is found decides.
_SIGNS: tuple[tuple[str, type[HudiError], str], ...] = (
    # Of the table's own files an error of the engine tells.
    (
        "No space left on device",
        PlatformError,
        "a disk is full, often that of Spark's local folder (spark.local.dir, SPARK_LOCAL_DIRS); "
        "free space and retry",
    ),
    ("Disk quota exceeded", PlatformError, "a disk quota is used up; free space and retry"),
    (
        "JAVA_GATEWAY_EXITED",
        PlatformError,
        "Java did not start; check JAVA_HOME (Java 17 or 21) and the lines above",
    ),
    (
        "OutOfMemoryError",
        PlatformError,
        "the JVM ran out of memory; raise --driver-memory of spark-submit (local mode) or "
        "--executor-memory of spark-submit",
    ),
    (
        "Python worker exited unexpectedly",
        PlatformError,
        "a Python worker died, often for want of memory; use fewer cores or more memory",
    ),
    (
        "No FileSystem for scheme",
        SetupError,
        "Spark has no connector for where the source lies; install it with --packages of "
        "spark-submit",
    ),
    (
        "Class org.apache.hadoop.fs.",
        SetupError,
        "Spark lacks a connector of Hadoop's for where the source lies; install it with "
        "--packages of spark-submit",
    ),
    ("PATH_NOT_FOUND", MissingSourceError, "the source does not exist"),
    ("Path does not exist", MissingSourceError, "the source does not exist"),
    ("TABLE_OR_VIEW_NOT_FOUND", SourceError, "the source is no table of the Spark catalog"),
    (
        "PYTHON_VERSION_MISMATCH",
        SetupError,
        "driver and workers run different versions of Python; point spark.pyspark.python at one "
        "like the driver's",
    ),
    ("DATA_SOURCE_NOT_FOUND", SourceError, "Spark knows no such source format"),
    ("UNABLE_TO_INFER_SCHEMA", MissingSourceError, "the source holds no file of this format"),
    ("is not a Parquet file", SourceError, "the source has files that are not Parquet"),
    ("CANNOT_READ_FILE", SourceError, "a file of the source cannot be read"),
    ("Permission denied", PlatformError, "a file may not be read or written"),
)


@contextmanager
def explained() -> Iterator[None]:
    """Raise errors of Spark, Arrow and the system as the errors of the engine they amount to."""
    try:
        yield
    except (PySparkException, Py4JError, pa.ArrowException, OSError, MemoryError) as error:
        raise explain(error) from error


def explain(error: Exception) -> HudiError:
    """The error of the engine that an error of Spark or of the system amounts to.

    An error of the engine raised in a Python worker comes back as itself, and one nobody foresaw
    as an PlatformError that names its type.
    """
    if isinstance(error, HudiError):
        return error
    text = _text(error)
    return (
        _from_worker(text)
        or _from_sign(text)
        or _from_silence(error, text)
        or _from_type(error, text)
        or PlatformError(
            f"{type(error).__name__}: {first_line(text)} (--verbose shows the stack trace)"
        )
    )


def first_line(text: str) -> str:
    """The first line that is not blank, cut to a length a log can bear."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:500]


def _text(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    if java is None:
        return str(error)
    try:
        return f"{error}\n{java.toString()}"
    except (Py4JError, OSError):
        return str(error)


def _from_worker(text: str) -> HudiError | None:
    raised = _OF_A_WORKER.findall(text)
    if raised:
        name, message = raised[-1]
        found = getattr(errors, name, None)
        if isinstance(found, type) and issubclass(found, HudiError):
            return found(message)
    package = _MISSING_PACKAGE.search(text)
    if package:
        return SetupError(
            f"the Python of Spark's workers has no {package.group(1)}; install it there or point "
            "spark.pyspark.python at a Python that has it"
        )
    return None


def _from_sign(text: str) -> HudiError | None:
    for sign, kind, meaning in _SIGNS:
        position = text.find(sign)
        if position >= 0:
            start = text.rfind("\n", 0, position) + 1
            return kind(f"{meaning}: {first_line(text[start:])}")
    return None


def _from_type(error: Exception, text: str) -> HudiError | None:
    match error:
        case AnalysisException() | ParseException():
            return RequestError(f"Spark refuses the source or its query: {first_line(text)}")
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return PlatformError(f"a disk is full: {error}; free space and retry")
        case PythonException() if _LAST_WORDS.search(text):
            name, message = _LAST_WORDS.findall(text)[-1]
            return PlatformError(f"a Python worker failed with {name}: {message}")
        case OSError() | MemoryError():
            return PlatformError(f"{type(error).__name__}: {first_line(text)}")
        case PySparkException() | Py4JError():
            return PlatformError(f"Spark failed: {first_line(text)}")
    return None


def _from_silence(error: Exception, text: str) -> HudiError | None:
    """Of a call of Java that got no answer, as py4j tells it; errors that Java raised have one."""
    said = str(error)
    is_unanswered = isinstance(error, Py4JError) and (
        said.startswith("An error occurred while calling") and "\n" not in said
    )
    if is_unanswered or isinstance(error, (Py4JNetworkError, ConnectionError)):
        return PlatformError(f"{_JAVA_GONE}: {first_line(text)}")
    return None
