"""The engine's Spark tests pass on Spark 3.5 as they do on the pinned 4.x."""

import os
import subprocess

import pytest

from tests.interop import hudi_home
from tests.interop.hudi import ROOT, SPARK_VARIABLES


@pytest.mark.usefixtures("hudi_home_ready")
def test_the_spark_tests_pass_on_spark_3_5() -> None:
    environment = {n: v for n, v in os.environ.items() if n not in SPARK_VARIABLES}
    environment["PYTHONPATH"] = f"{ROOT / 'spark_jobs'}:{ROOT}"
    command = [hudi_home.python(), "-m", "pytest", "-q", "-x", "-m", "spark", "tests/spark"]
    done = subprocess.run(
        [*map(str, command), "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
