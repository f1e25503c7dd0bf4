"""What a scheduler pays for parsing a DAG that uses the provider."""

import os
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

FOR_DAGS = [
    name
    for name in MODULES
    if name.split(".")[1] in ("assets", "groups", "operators", "sensors", "triggers")
]
AIRFLOW = (
    "airflow.sdk, airflow.triggers.base, airflow.triggers.shared_stream, "
    "airflow.sdk.definitions.retry_policy, airflow.providers.apache.spark.operators.spark_submit"
)
MOST_S = 0.05
MOST_OF_AIRFLOWS = 0.1
"""50 ms of CPU time may be added to Airflow's own import; where others load the machine so that
this takes more than half a second, a tenth of it, as both are slowed alike."""


def test_importing_operators_and_sensors_costs_little_beside_airflow() -> None:
    script = (
        "import sys, time\n"
        f"sys.path[:0] = {[path for path in sys.path if path]!r}\n"
        f"import {AIRFLOW}\n"
        "airflows = time.process_time()\n"
        f"import {', '.join(FOR_DAGS)}\n"
        "print(airflows, time.process_time() - airflows)"
    )
    # An installed package is compiled.
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found: list[tuple[float, float]] = []
    while len(found) < 4 and not any(ours < most for ours, most in found):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=compiled
        )
        airflows, ours = map(float, done.stdout.splitlines()[-1].split())
        found.append((ours, max(MOST_S, airflows * MOST_OF_AIRFLOWS)))
    assert any(ours < most for ours, most in found), found


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
