"""Play many histories: ``python -m tests.simulator --histories 1000000``.

A failure is made smaller and told call by call, with the seed that plays it again. With
``--without CONFIRMED`` the engine is without that guard, and it ends when a history fails.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import nullcontext

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.simulator.draw import VERSIONS
from tests.simulator.guards import BY_NAME
from tests.simulator.seeds import Told, asked_seeds, described, play_seeds

_SHARE = 200


def _played(first: int, count: int, without: str, versions: tuple[int, ...]) -> Told:
    told = Told()
    with BY_NAME[without].taken_out() if without else nullcontext():
        play_seeds(range(first, first + count), told, versions)
    return told


def _all(
    first: int, count: int, workers: int, without: str, versions: tuple[int, ...]
) -> Iterator[Told]:
    """What came of each share, as it comes."""
    shares = iter(range(first, first + count, _SHARE))
    with ProcessPoolExecutor(workers) as pool:
        running = set()
        while True:
            for start in shares:
                share = min(_SHARE, first + count - start)
                running.add(pool.submit(_played, start, share, without, versions))
                if len(running) >= 2 * workers:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)


def main() -> int:
    """Play, tell, and say by the exit code whether all was right."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000, help="how many are played")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--seeds", help="these alone, as 500 or 500-529; PYHUDI_SEEDS says it too")
    parser.add_argument("--without", choices=sorted(BY_NAME), default="", help="take a guard out")
    parser.add_argument(
        "--version",
        type=int,
        action="append",
        choices=sorted({*VERSIONS}),
        help="of tables of this version alone, or of several",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    if asked.seeds:
        os.environ["PYHUDI_SEEDS"] = asked.seeds
    seeds = asked_seeds() or range(asked.first, asked.first + asked.histories)
    versions = tuple(asked.version or VERSIONS)
    console, total, began = Console(), Told(), time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("histories", total=len(seeds))
        for told in _all(seeds[0], len(seeds), asked.workers, asked.without, versions):
            progress.advance(task, told.histories)
            _add(total, told)
            progress.update(task, description=f"histories, {len(total.failures)} wrong")
            if asked.without and total.failures:
                break
    _show(console, total, time.monotonic() - began)
    for seed, problem in () if asked.without else sorted(total.failures)[:1]:
        console.print(described(seed, problem, versions), markup=False, highlight=False)
    for seed, problem in sorted(total.failures)[1:20]:
        console.print(f"seed {seed}: {problem}", markup=False, highlight=False)
    return 1 if total.failures else 0


def _add(total: Told, told: Told) -> None:
    for name in ("histories", "calls", "commits", "conflicts", "deaths", "beyond", "late"):
        setattr(total, name, getattr(total, name) + getattr(told, name))
    total.outcomes += told.outcomes
    total.failures += told.failures


def _show(console: Console, total: Told, seconds: float) -> None:
    table = Table(title=f"{total.histories:,} histories in {seconds:,.0f} s")
    table.add_column("what")
    table.add_column("number", justify="right")
    rows = (
        ("storage calls", total.calls),
        ("writes committed", total.commits),
        ("conflicts met and gone on from", total.conflicts),
        ("processes that died at work", total.deaths),
        ("commits of writers taken for dead, taken back at once", total.late),
        ("histories that no protocol without a lock can save", total.beyond),
        ("wrong", len(total.failures)),
    )
    for what, number in rows:
        table.add_row(what, f"{number:,}")
    console.print(table)
    outcomes = Table(title="steps, and what came of them")
    for name in ("step", "outcome", "number"):
        outcomes.add_column(name, justify="right" if name == "number" else "left")
    for (kind, came), number in sorted(total.outcomes.items()):
        outcomes.add_row(kind, came, f"{number:,}")
    console.print(outcomes)


if __name__ == "__main__":
    sys.exit(main())
