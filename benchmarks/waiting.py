"""What a thousand sensors that wait for one table cost a triggerer, beside one that waits.

``python benchmarks/waiting.py --sensors 1000 --instants 1000`` makes a table with so many
instants, has the sensors' triggers wait for the next one in one event loop, as in a triggerer, and
commits. It tells listings, CPU and memory while they wait, and when they fired after the commit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "spark_jobs")]


def measure(sensors: int, instants: int, seconds: float, interval_s: float) -> dict[str, Any]:
    """The figures of one process; bytes of its resident memory, seconds of CPU and of delay."""
    os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="pyhudi-waiting-"))
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
    # Airflow makes its home when it is imported.
    from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger  # noqa: PLC0415
    from pyhudi.storage.arrowfs import ArrowStorage  # noqa: PLC0415
    from tests.support.airflow import stamped_commit, timeline_folder  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="pyhudi-waiting-") as folder:
        names = [f"2026{number:013d}" for number in range(1, instants + 1)]
        states = (".commit.requested", ".inflight", ".commit")
        table = timeline_folder(
            Path(folder) / "table", *(f"{name}{state}" for name in names for state in states)
        )
        listings = 0
        list_folder = ArrowStorage.list

        def counted(self: ArrowStorage, path: str) -> Any:
            nonlocal listings
            listings += 1
            return list_folder(self, path)

        ArrowStorage.list = counted  # type: ignore[method-assign]
        late = "20270101000000000"

        def trigger(number: int) -> PyhudiInstantTrigger:
            # Half of them ask what only a commit's own file tells, no two the same.
            more = {"partition": [f"p{number}", "p"]} if number % 2 else {}
            return PyhudiInstantTrigger(
                base_path=table, after=names[-1], poke_interval=interval_s, **more
            )

        async def wait(number: int) -> float:
            await anext(trigger(number).run())
            return time.time()

        async def run() -> dict[str, Any]:
            before = _rss()
            waits = [asyncio.create_task(wait(number)) for number in range(sensors)]
            await asyncio.sleep(max(3.0, 2 * interval_s))
            begun, cpu, listed = time.monotonic(), time.process_time(), listings
            await asyncio.sleep(seconds)
            spent, took = time.process_time() - cpu, time.monotonic() - begun
            held, made = _rss() - before, listings - listed
            stamped_commit(table, late, "p")
            at = time.time()
            fired = sorted(each - at for each in await asyncio.gather(*waits))
            return {
                "sensors": sensors,
                "listings_a_minute": round(60 * made / took, 1),
                "cpu_percent": round(100 * spent / took, 2),
                "megabytes": round(held / 1e6, 1),
                "first_fired_s": round(fired[0], 3),
                "last_fired_s": round(fired[-1], 3),
            }

        return asyncio.run(run())


def _rss() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    """Measure each number of sensors in a process of its own, and print a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sensors", type=int, default=1000)
    parser.add_argument("--instants", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--poke-interval", type=float, default=5)
    parser.add_argument("--alone", action="store_true", help="no process for comparison")
    asked = parser.parse_args()
    if asked.alone:
        found = measure(asked.sensors, asked.instants, asked.seconds, asked.poke_interval)
        print(json.dumps(found))
        return
    for sensors in (1, asked.sensors):
        words = [f"--sensors={sensors}", f"--instants={asked.instants}", "--alone"]
        more = [f"--seconds={asked.seconds}", f"--poke-interval={asked.poke_interval}"]
        subprocess.run([sys.executable, __file__, *words, *more], check=True)


if __name__ == "__main__":
    main()
