"""What a scheduler pays for parsing a DAG that uses the provider."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import airflow_provider_pyhudi

HEAVY = ("fastavro", "numpy", "pandas", "pyarrow", "pyspark")
MODULES = [
    found.name
    for found in pkgutil.walk_packages(
        airflow_provider_pyhudi.__path__, f"{airflow_provider_pyhudi.__name__}."
    )
]


def test_importing_the_provider_loads_nothing_heavy() -> None:
    # Airflow itself may load some of them one day; only what we add on top is ours.
    script = (
        "import sys, airflow.sdk, airflow.triggers.base\n"
        "import airflow.providers.apache.spark.operators.spark_submit\n"
        "before = set(sys.modules)\n"
        f"import {', '.join(MODULES)}\n"
        f"print(sorted(set({HEAVY!r}) & (set(sys.modules) - before)))"
    )
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
