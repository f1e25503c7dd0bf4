"""The memory watch sees what a process and its children hold."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import memory

SIZE = 50_000_000

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")


@contextmanager
def holding(script: str) -> Iterator[int]:
    """A child that runs a script and waits; its process id."""
    command = [sys.executable, "-c", f"{script}; print('ready', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        yield child.pid
        child.communicate(b"\n")


def test_a_python_child_counts_as_worker_while_it_lives() -> None:
    before = memory.sample(os.getpid())
    with holding(f"held = b'x' * {SIZE}"):
        during = memory.sample(os.getpid())
    assert during.workers - before.workers > SIZE
    assert during.largest_worker > SIZE
    assert during.jvm == before.jvm
    assert memory.sample(os.getpid()).workers < during.workers


def test_peaks_keep_the_larger_of_each_value() -> None:
    peaks = memory.Peaks(jvm=5, workers=1)
    peaks.raise_to(memory.Peaks(jvm=3, workers=2, driver_python=4))
    assert peaks == memory.Peaks(jvm=5, workers=2, driver_python=4)


def test_a_process_that_ended_holds_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert (memory.resident_bytes(child.pid), memory.proportional_bytes(child.pid)) == (0, 0)


def test_a_reset_makes_the_kernel_forget_an_earlier_peak() -> None:
    with holding(f"held = b'x' * {SIZE}; del held") as child:
        before = memory.highest_bytes(child)
        memory.reset_highest(child)
        after = memory.highest_bytes(child)
    assert before > SIZE
    assert after <= before
