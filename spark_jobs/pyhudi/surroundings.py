"""What must be there before a Spark job can start, said in plain words when it is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib import metadata

from pyhudi.errors import SetupError

OLDEST_JAVA = 17
OLDEST_SPARK, NEXT_SPARK = (3, 5), (5, 0)

_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def check_surroundings(environ: Mapping[str, str] = os.environ) -> None:
    """Check Java and the installed PySpark.

    Java is only looked for when this process has to start it: under spark-submit it runs already.

    Raises:
        SetupError: says what is missing or does not fit, and what to install.
    """
    check_pyspark(installed_version("pyspark"), installed_version("pyspark-client"))
    if "PYSPARK_GATEWAY_PORT" not in environ:
        check_java(environ)


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution, None when it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def check_pyspark(pyspark: str | None, client: str | None) -> None:
    """Check the versions of the two wheels that both install the folder ``pyspark``.

    Raises:
        SetupError: the versions differ, or are outside the range the engine runs on.
    """
    if pyspark and client and pyspark != client:
        raise SetupError(
            f"pyspark {pyspark} and pyspark-client {client} are both installed and write the same "
            "files, so Spark is broken. Install one version of both: "
            f"pip install --force-reinstall --no-deps pyspark=={client} pyspark-client=={client}"
        )
    if pyspark is None:
        return
    release = tuple(int(part) for part in re.findall(r"\d+", pyspark)[:2])
    if not OLDEST_SPARK <= release < NEXT_SPARK:
        raise SetupError(
            f"pyspark {pyspark} is installed; pyhudi runs on Spark 3.5 and newer, below 5"
        )


def check_java(environ: Mapping[str, str]) -> None:
    """Check that a Java that Spark can use is found by JAVA_HOME or on PATH.

    Raises:
        SetupError: there is none, or it is too old.
    """
    home = environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        looked = f"JAVA_HOME is {home}" if home else "JAVA_HOME is not set and PATH has no java"
        raise SetupError(f"Spark needs Java 17 or 21, and {looked}; {_INSTALL_JAVA}")
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"cannot run {java}: {error}; {_INSTALL_JAVA}") from error
    found = _JAVA_VERSION.search(answer.stderr + answer.stdout)
    if found and int(found.group(1)) < OLDEST_JAVA:
        raise SetupError(
            f"{java} is Java {found.group(1)}; Spark needs Java 17 or 21. {_INSTALL_JAVA}"
        )


_INSTALL_JAVA = (
    "install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install "
    "openjdk@17) or set JAVA_HOME to it"
)
