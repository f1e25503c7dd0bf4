"""Peak memory and CPU time of a Spark driver, its JVM and its Python workers, read from /proc.

Of a single worker the kernel itself keeps the highest size (VmHWM), so that no short peak between
two samples is lost; it is set back when a watch begins.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
INTERVAL_SECONDS = 0.2
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
TIMES = slice(11, 15)
"""Where `stat` has user and system time of a process, and of the children it has waited for."""


@dataclass
class Peaks:
    """The largest values seen since the last start; zeros where /proc does not exist.

    Units: bytes. `workers` is the proportional share (PSS) of all Python workers at one moment, as
    forked workers share pages; `largest_worker` is the highest resident size of one (VmHWM).
    """

    jvm: int = 0
    driver_python: int = 0
    workers: int = 0
    largest_worker: int = 0

    def raise_to(self, sample: Peaks) -> None:
        """Keep the larger of each value."""
        self.jvm = max(self.jvm, sample.jvm)
        self.driver_python = max(self.driver_python, sample.driver_python)
        self.workers = max(self.workers, sample.workers)
        self.largest_worker = max(self.largest_worker, sample.largest_worker)


def parents() -> dict[int, tuple[int, str]]:
    """Parent and command of every process."""
    found = {}
    for entry in PROC.glob("[0-9]*/stat"):
        try:
            text = entry.read_text(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        # The command stands in parentheses and may itself hold spaces and parentheses.
        command = text[text.index("(") + 1 : text.rindex(")")]
        found[int(entry.parent.name)] = (int(text[text.rindex(")") + 2 :].split()[1]), command)
    return found


def descendants(root: int, processes: dict[int, tuple[int, str]]) -> list[int]:
    """The processes below `root`."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def processor_seconds() -> float:
    """CPU time of this process and all below it so far, those that ended among them."""
    return sum(_ticks(pid) for pid in (os.getpid(), *descendants(os.getpid(), parents()))) / TICKS


def processor_seconds_of(pid: int) -> float:
    """CPU time of one process so far."""
    return _ticks(pid) / TICKS


def commands_below() -> dict[int, str]:
    """The commands of all processes below this one."""
    found = parents()
    return {pid: found[pid][1] for pid in descendants(os.getpid(), found)}


def _ticks(pid: int) -> int:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:  # it ended meanwhile, or there is no /proc
        return 0
    return sum(map(int, text[text.rindex(")") + 2 :].split()[TIMES]))


def resident_bytes(pid: int) -> int:
    """Resident set size; 0 when the process has ended."""
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


def highest_bytes(pid: int) -> int:
    """The highest resident set size since the last reset, as the kernel counts it."""
    return _kilobytes(pid, "status", "VmHWM:") or resident_bytes(pid)


def reset_highest(pid: int) -> None:
    """Let the kernel count the highest resident size of a process anew."""
    with contextlib.suppress(OSError):  # it ended meanwhile, or is not ours to reset
        (PROC / str(pid) / "clear_refs").write_text("5")


def proportional_bytes(pid: int) -> int:
    """Proportional set size; the resident size where the kernel does not tell."""
    return _kilobytes(pid, "smaps_rollup", "Pss:") or resident_bytes(pid)


def _kilobytes(pid: int, file: str, name: str) -> int:
    try:
        for line in (PROC / str(pid) / file).read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def sample(driver: int) -> Peaks:
    """The memory of a driver's process tree now: `java` below it is the JVM, the rest workers."""
    processes = parents()
    now = Peaks(driver_python=resident_bytes(driver))
    for pid in descendants(driver, processes):
        if processes[pid][1] == "java":
            now.jvm += resident_bytes(pid)
        elif processes[pid][1].startswith("python"):
            now.workers += proportional_bytes(pid)
            now.largest_worker = max(now.largest_worker, highest_bytes(pid))
    return now


class MemoryWatch:
    """Samples this process's tree in a thread while it is open; a context manager."""

    def __init__(self) -> None:
        self.peaks = Peaks()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> MemoryWatch:
        for pid in descendants(os.getpid(), parents()):
            reset_highest(pid)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.peaks.raise_to(sample(os.getpid()))
            if self._ended.wait(INTERVAL_SECONDS):
                return
