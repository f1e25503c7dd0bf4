"""Where `setup.sh` put real Hudi, and what is missing when it could not."""

import os
import shutil
import subprocess
from pathlib import Path

BUNDLES = ("0.15.0", "1.1.1")
RIVALS = (*BUNDLES, "1.2.0")
"""The releases that write beside ours; all else is compared with the first two."""
LATER = ("1.0.2", "1.1.1")
"""The releases whose own table versions are 8 and 9."""
LOCKING = (RIVALS[0], LATER[0], *RIVALS[1:])
"""The releases that write beside ours on tables of any version, under the lock file."""


def home() -> Path:
    """The folder that `setup.sh` fills."""
    default = Path.home() / ".cache" / "pyhudi-oracle"
    return Path(os.environ.get("PYHUDI_ORACLE_HOME", default))


def python() -> Path:
    """The interpreter that has pyspark 3.5."""
    return home() / "venv" / "bin" / "python"


def bundle_jar(version: str) -> Path:
    """The Spark bundle of one Hudi version."""
    return home() / "jars" / f"hudi-spark3.5-bundle_2.12-{version}.jar"


def java() -> str | None:
    """The `java` that Spark will start."""
    if "JAVA_HOME" in os.environ:
        return shutil.which(str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"))
    return shutil.which("java")


def missing() -> str | None:
    """Why real Hudi cannot run here, or None when it can."""
    found = java()
    if found is None or subprocess.run([found, "-version"], capture_output=True).returncode:
        return "no Java found: install a JDK 17 or point JAVA_HOME at one"
    absent = [p for p in (python(), *map(bundle_jar, {*RIVALS, *LATER})) if not p.exists()]
    if not absent:
        return None
    tool = "" if shutil.which("mvn") else " (it needs Maven, which is not on PATH)"
    return f"{absent[0]} is not there: run `make interop` or tests/interop/setup.sh{tool}"
