"""Time this engine, and real Hudi beside it, on TPC-H lineitem.

    python benchmarks/upsert.py --scale-factor 1 --peer hudi

Prints JSON lines: one per engine, step and run, then the median of the runs, then the ratio of
ours to each peer. A table for humans goes to standard error. Fails when the engines end with
different answers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inputs import home, prepare

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS = "pyhudi"
Line = dict[str, Any]


@dataclass(frozen=True)
class Runner:
    """An engine's name, the interpreter and script of its process, further environment."""

    name: str
    python: Path
    script: str
    environment: dict[str, str] = field(default_factory=dict)


def runners(peers: list[str]) -> list[Runner]:
    """This engine first, then each peer asked for."""
    found = [
        Runner(
            OURS, Path(sys.executable), "run_pyhudi.py", {"PYTHONPATH": str(ROOT / "spark_jobs")}
        )
    ]
    for peer in (name for name in peers if name != "none"):
        options = {"hoodie.metadata.enable": "false"} if peer == "hudi_no_metadata" else {}
        found.append(
            Runner(
                peer, oracle_python(), "run_hudi.py", {"HUDI_BENCH_OPTIONS": json.dumps(options)}
            )
        )
    return found


def oracle_python() -> Path:
    """The Python with pyspark 3.5 that `setup.sh` prepares."""
    subprocess.run([ROOT / "tests" / "interop" / "setup.sh"], check=True, stdout=sys.stderr)
    default = Path.home() / ".cache" / "pyhudi-oracle"
    return Path(os.environ.get("PYHUDI_ORACLE_HOME", default)) / "venv" / "bin" / "python"


def run_once(runner: Runner, inputs: Path, layout: str, number: int) -> list[Line]:
    """One engine's steps in a process of its own, each line printed as it comes."""
    table = home() / "out" / f"{runner.name}-{inputs.name}-{layout}"
    environment = {**os.environ, "TZ": "UTC", "PYTHONPATH": "", **runner.environment}
    environment.pop("SPARK_HOME", None)
    command = [runner.python, HERE / runner.script, inputs, table, layout]
    lines = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for text in process.stdout or ():
            if not text.startswith("{"):
                print(text, end="", file=sys.stderr)
                continue
            line = {"engine": runner.name, "layout": layout, "run": number, **json.loads(text)}
            lines.append(line)
            print(json.dumps(line), flush=True)
    if process.returncode:
        raise SystemExit(f"{runner.name} ended with exit code {process.returncode}")
    shutil.rmtree(table)
    return lines


def medians(lines: list[Line]) -> list[Line]:
    """One line per engine and step: the median of every number over the runs."""
    grouped: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        grouped[line["engine"], line["step"]].append(line)
    found = []
    for (engine, step), runs in grouped.items():
        numbers = [n for n, v in runs[0].items() if isinstance(v, int | float) and n != "run"]
        middle = {n: round(statistics.median(run[n] for run in runs), 3) for n in numbers}
        found.append({"engine": engine, "step": step, "runs": len(runs), **middle})
    return found


def ratios(middle: list[Line]) -> list[Line]:
    """Our seconds as a share of each peer's, by step."""
    ours = {line["step"]: line for line in middle if line["engine"] == OURS}
    return [
        {
            "ratio": f"{OURS}/{line['engine']}",
            "step": line["step"],
            "seconds": round(ours[line["step"]]["seconds"] / line["seconds"], 4),
        }
        for line in middle
        if line["engine"] != OURS
    ]


def check_answers(lines: list[Line]) -> None:
    """Every engine must have ended with the same rows."""
    answers = {(line["rows"], line["quantity"]) for line in lines if "quantity" in line}
    if len(answers) != 1:
        told = {
            line["engine"]: (line["rows"], line["quantity"]) for line in lines if "quantity" in line
        }
        raise SystemExit(f"the engines end with different answers: {told}")


def human_table(middle: list[Line], shares: list[Line]) -> str:
    """The medians side by side."""
    ratio = {(s["ratio"].split("/")[1], s["step"]): s["seconds"] for s in shares}
    head = (
        "engine",
        "step",
        "seconds",
        "of peer",
        "rows",
        "MB written",
        "JVM MB",
        "driver MB",
        "workers MB",
        "worker MB",
    )
    rows = [head]
    for line in middle:
        sizes = (
            line["bytes_written"],
            line["peak_jvm_bytes"],
            line["peak_driver_python_bytes"],
            line["peak_workers_bytes"],
            line["peak_largest_worker_bytes"],
        )
        share = ratio.get((line["engine"], line["step"]))
        rows.append(
            (
                line["engine"],
                line["step"],
                f"{line['seconds']:.2f}",
                f"{share:.3f}" if share else "",
                str(int(line["rows"])),
                *(f"{size / 1e6:.0f}" for size in sizes),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale-factor", default="1", help="TPC-H scale factor (default 1)")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        choices=("none", "hudi", "hudi_no_metadata"),
        help="may be given several times",
    )
    parser.add_argument("--layout", default="partitioned", choices=("partitioned", "flat"))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each engine (default 1)")
    return parser.parse_args()


def main() -> None:
    """Prepare the inputs, run every engine in turn, report."""
    given = arguments()
    inputs = prepare(given.scale_factor)
    lines: list[Line] = []
    for number in range(1, given.repeat + 1):
        for runner in runners(given.peer):
            lines += run_once(runner, inputs, given.layout, number)
    middle = medians(lines)
    shares = ratios(middle)
    for line in (*middle, *shares):
        print(json.dumps(line), flush=True)
    print(human_table(middle, shares), file=sys.stderr)
    check_answers(lines)


if __name__ == "__main__":
    main()
