"""The engine's Spark tests pass on Spark 3.5 as they do on the pinned 4.x.

Every third is run, and all of them with PYHUDI_POINTS=all.
"""

import os
import subprocess

import pytest

from tests.interop import hudi_home
from tests.interop.hudi import ROOT, SPARK_VARIABLES
from tests.support.points import IS_WHOLE

_EVERY = 1 if IS_WHOLE else 3


@pytest.mark.usefixtures("hudi_home_ready")
def test_the_spark_tests_pass_on_spark_3_5() -> None:
    listed = run("--collect-only", "tests/spark").stdout.splitlines()
    chosen = [line for line in listed if "::" in line][::_EVERY]
    assert len(chosen) > 20
    done = run("-x", *chosen)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The output of pytest on Spark 3.5."""
    environment = {n: v for n, v in os.environ.items() if n not in SPARK_VARIABLES}
    environment["PYTHONPATH"] = f"{ROOT / 'spark_jobs'}:{ROOT}"
    pytest_there = [str(hudi_home.python()), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*pytest_there, "-m", "spark", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
