"""The driver's side of a benchmark: which engines there are, and how their steps take turns."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from requests_told import ON_STORE
from steps import CORES, DRIVER_MEMORY, Step, Workload

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS = "pyhudi"
OUR_SIDE = (OURS, "pyhudi_frame")
"""Rows that are a plain scan of files, and rows that Spark computes; both, unless one is named."""

PLAIN = "plain_files"
"""The dataset itself, read by pyarrow."""

PEERS = ("hudi", "delta", "iceberg", "delta_rs")
"""What `--peer all` means."""

SCRIPTS = {
    OURS: "run_pyhudi.py",
    "pyhudi_frame": "run_pyhudi.py",
    "pyhudi_spark35": "run_pyhudi.py",
    "pyhudi_in_process": "run_in_process.py",
    "hudi": "run_spark_peer.py",
    "hudi_no_metadata": "run_spark_peer.py",
    "delta": "run_spark_peer.py",
    "iceberg": "run_spark_peer.py",
    "delta_rs": "run_delta_rs.py",
    PLAIN: "run_plain_files.py",
}
NO_PEERS = (*OUR_SIDE, "pyhudi_in_process", PLAIN)
BESIDE_HUDI = ("delta", "iceberg")
ON_SPARK_35 = ("pyhudi_spark35", "hudi", "hudi_no_metadata", *BESIDE_HUDI)
SPARKS_OWN = ("SPARK_HOME", "SPARK_LOCAL_DIRS", "PYSPARK_PYTHON", "PYSPARK_SUBMIT_ARGS")
GIB = 1 << 30
Line = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that every benchmark with peers has."""
    parser.add_argument("--scale-factor", default="1", help="TPC-H scale factor (default 1)")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        choices=("none", "all", *(name for name in SCRIPTS if name not in NO_PEERS)),
        help=f"may be given several times; all means {', '.join(PEERS)}",
    )
    parser.add_argument(
        "--ours",
        action="append",
        choices=OUR_SIDE,
        help=f"which of our two sides; may be given twice (default {' and '.join(OUR_SIDE)})",
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each engine (default 1)")
    parser.add_argument(
        "--interleave",
        default="engines",
        choices=("engines", "steps"),
        help="run each engine's steps to the end, beginning with another engine in each run; or "
        f"keep all engines up and take turns after each step, which needs {DRIVER_MEMORY} for each",
    )
    parser.add_argument("--output", type=Path, help="file that the JSON lines are appended to")


def chosen(ours: Sequence[str] | None, peers: Sequence[str]) -> list[str]:
    """Our side first, then each peer asked for, once."""
    named = [name for peer in peers for name in (PEERS if peer == "all" else (peer,))]
    return list(dict.fromkeys((*(ours or OUR_SIDE), *(name for name in named if name != "none"))))


def home() -> Path:
    """Where inputs and tables lie: $PYHUDI_BENCH_HOME, by default ~/.cache/pyhudi-bench."""
    return Path(os.environ.get("PYHUDI_BENCH_HOME", Path.home() / ".cache" / "pyhudi-bench"))


@functools.cache
def oracle_python(engine: str = "hudi") -> Path:
    """The Python with pyspark 3.5 that `setup.sh` prepares, with the jars that an engine needs."""
    setup = ROOT / "tests" / "interop" / "setup.sh"
    more = ["--peers"] if engine in BESIDE_HUDI else []
    subprocess.run([setup, *more], check=True, stdout=sys.stderr)
    default = Path.home() / ".cache" / "pyhudi-oracle"
    return Path(os.environ.get("PYHUDI_ORACLE_HOME", default)) / "venv" / "bin" / "python"


def clean_environment(*, with_engine: bool = False) -> dict[str, str]:
    """The environment of a process that must find its own Spark, and the engine only if asked."""
    found = {**os.environ, "TZ": "UTC"}
    # Without cached bytecode every worker would compile the engine, as no installed package does.
    for name in (*SPARKS_OWN, "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        found.pop(name, None)
    if with_engine:
        found["PYTHONPATH"] = str(ROOT / "spark_jobs")
    return found


def keep_to_cores() -> None:
    """Bind this process, and with it all engines, to as many cores as Spark is given."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:CORES])


class Session:
    """An engine's process; a context manager that ends it and deletes its table."""

    def __init__(self, engine: str, work: Workload) -> None:
        self.engine = engine
        self._work = work
        python = oracle_python(engine) if engine in ON_SPARK_35 else Path(sys.executable)
        self._process = subprocess.Popen(
            [python, HERE / SCRIPTS[engine.removesuffix(ON_STORE)], engine, work.to_json()],
            env=clean_environment(with_engine=engine.startswith(OURS)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, step: Step) -> Line:
        """One step; the line that the engine answers."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit(f"{self.engine} has no pipes")
        with contextlib.suppress(BrokenPipeError):  # it ended; the end of its output says so
            self._process.stdin.write(json.dumps(asdict(step)) + "\n")
            self._process.stdin.flush()
        for text in self._process.stdout:
            if text.startswith("{"):
                return {"engine": self.engine, **json.loads(text)}
            print(text, end="", file=sys.stderr)
        raise SystemExit(f"{self.engine} ended in {step.name}, exit code {self._process.wait()}")

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()
        for folder in self._work.own_folders:
            shutil.rmtree(folder, ignore_errors=True)


def rotated(names: Sequence[str], by: int) -> list[str]:
    """The names in the same cyclic order, beginning with another one each time."""
    start = by % len(names)
    return [*names[start:], *names[:start]]


def take_turns(
    works: dict[str, Workload], steps: Sequence[Step], *, repeat: int, interleave: str
) -> Iterator[Line]:
    """All steps of all engines, `repeat` times over; who is first changes each time."""
    keep_to_cores()
    run_all = _by_steps if interleave == "steps" else _by_engines
    if interleave == "steps":
        _check_memory(len(works))
    for number in range(1, repeat + 1):
        for line in run_all(works, steps, number):
            yield {"run": number, **line}


def _by_engines(works: dict[str, Workload], steps: Sequence[Step], run: int) -> Iterator[Line]:
    for engine in rotated(list(works), run - 1):
        with Session(engine, works[engine]) as session:
            for step in steps:
                yield session.run(step)


def _by_steps(works: dict[str, Workload], steps: Sequence[Step], run: int) -> Iterator[Line]:
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(Session(name, works[name])) for name in works}
        for number, step in enumerate(steps):
            for engine in rotated(list(works), run - 1 + number):
                yield sessions[engine].run(step)


def _check_memory(engines: int) -> None:
    wanted = engines * int(DRIVER_MEMORY.rstrip("g")) * GIB
    pages = "SC_PHYS_PAGES"
    there = os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") if pages in os.sysconf_names else wanted
    if there < wanted:
        raise SystemExit(
            f"{engines} engines at once may take {wanted // GIB} GiB and there are "
            f"{there // GIB}: name fewer peers, or leave --interleave at engines"
        )
