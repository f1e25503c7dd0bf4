"""Time what a DAG file adds to Airflow's own import when it imports the provider.

    python benchmarks/import_cost.py --repeat 20

Each run is a process of its own that imports Airflow's classes for DAG authors and the Spark
provider's operator, then every module of ours that a DAG may name. The modules are compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

from tests.airflow.test_import_cost import AIRFLOW, FOR_DAGS

_SCRIPT = f"""
import json, time
began = time.perf_counter(), time.process_time()
import {AIRFLOW}
between = time.perf_counter(), time.process_time()
import {", ".join(FOR_DAGS)}
ended = time.perf_counter(), time.process_time()
print(json.dumps([[between[n] - began[n], ended[n] - between[n]] for n in (0, 1)]))
"""


def main() -> None:
    """Print medians in milliseconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=20, help="processes (default 20)")
    given = parser.parse_args()
    # The first run compiles.
    found = [_measured() for _ in range(given.repeat + 1)][1:]
    for number, name in enumerate(("wall", "processor")):
        airflows, ours = (statistics.median(run[number][n] for run in found) for n in (0, 1))
        print(f"{name}: Airflow {airflows * 1000:.0f} ms, ours on top {ours * 1000:.1f} ms")


def _measured() -> list[list[float]]:
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, env=compiled
    )
    measured: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    main()
