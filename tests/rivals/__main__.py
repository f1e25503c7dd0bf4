"""The command: run a plan, print its figures and anomalies, and end with 1 where there are some."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.rivals.page import write_row
from tests.rivals.report import text_of
from tests.rivals.run import Ran, local_plan, run_here, run_on_store, store

_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.rivals", description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--spark", type=int, default=0, help="so many of the writers use Spark")
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--hudi", default="", help="a release: one more writer is real Hudi")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--storage", choices=("local", "s3"), default="local")
    parser.add_argument("--type", choices=tuple(_TYPES), default="cow")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kill-every", type=float, default=12.0, help="seconds; 0 for never")
    parser.add_argument("--stop-every", type=float, default=25.0, help="seconds; 0 for never")
    parser.add_argument("--stops", type=float, nargs="+", help="for how many seconds")
    parser.add_argument("--faults", type=float, default=0.002, help="chance of each kind of fault")
    parser.add_argument("--unchecked", action="store_true", help="without a look for conflicts")
    parser.add_argument("--page", action="store_true", help="write a row of docs/reliability.md")
    parser.add_argument("--folder", type=Path, help="where everything goes, and stays")
    return parser.parse_args()


def main() -> int:
    given = _arguments()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="pyhudi-rivals-"))
    folder.mkdir(parents=True, exist_ok=True)
    # Longer than a heartbeat, longer than a lease.
    stops = given.stops or ([8.0, 14.0, 75.0] if given.storage == "local" else [8.0, 14.0])
    asked: dict[str, object] = {
        "table_type": _TYPES[given.type],
        "writers": given.writers,
        "spark": given.spark,
        "readers": given.readers,
        "hudi": given.hudi,
        "seconds": given.minutes * 60,
        "seed": given.seed,
        "kill_every_s": given.kill_every,
        "stop_every_s": given.stop_every,
        "stops_s": tuple(stops),
        "unchecked": given.unchecked,
    }
    print(f"seed {given.seed}, notes in {folder}", flush=True)
    if given.storage == "local":
        ran = run_here(local_plan(folder, **asked))
    else:
        with store(folder) as server:
            ran = run_on_store(folder, server, fault_chance=given.faults, **asked)
    if given.page:
        write_row(ran.checked, ran.befallen)
    return _tell(ran)


def _tell(ran: Ran) -> int:
    print(text_of(ran.figures))
    for anomaly in ran.anomalies[:50]:
        print(f"\n! {anomaly}")
    return 1 if ran.anomalies else 0


if __name__ == "__main__":
    sys.exit(main())
