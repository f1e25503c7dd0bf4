"""Which processes are known to be gone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pyhudi.transaction.process import ProcessMark
from tests.support.faulty import dead_pid

ME = ProcessMark.of(os.getpid())


def test_a_mark_goes_through_text_and_back():
    assert ProcessMark.from_bytes(ME.to_bytes()) == ME
    assert not ME.is_gone()


def test_a_process_that_ended_here_is_gone():
    assert replace(ME, pid=dead_pid()).is_gone()


@pytest.mark.parametrize(
    "other",
    [{"host": "elsewhere"}, {"boot": "another boot"}, {"namespace": "pid:[1]"}],
    ids=lambda other: next(iter(other)),
)
def test_of_a_process_elsewhere_nothing_is_known(other: dict[str, str]):
    assert not replace(ME, pid=dead_pid(), **other).is_gone()


@pytest.fixture
def unreaped() -> Iterator[int]:
    """A process that was killed, and whose parent has not asked how it ended."""
    process = subprocess.Popen(["sleep", "60"])
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def test_a_killed_process_that_nobody_has_reaped_is_gone(unreaped: int):
    os.kill(unreaped, 0)
    assert ProcessMark.of(unreaped).is_gone()


LEADER_ENDS = """
import ctypes, sys, threading
threading.Thread(target=sys.stdin.read).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_of_which_only_the_first_thread_has_ended_lives():
    process = subprocess.Popen(
        [sys.executable, "-c", LEADER_ENDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 10
    while state_of(process.pid) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state_of(process.pid) == "Z"
    assert not ProcessMark.of(process.pid).is_gone()
    process.kill()
    process.communicate()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_whose_id_another_has_by_now_is_gone():
    assert ME.started is not None
    assert replace(ME, started=str(int(ME.started) - 1)).is_gone()


def test_the_first_process_of_all_lives():
    assert not ProcessMark.of(1).is_gone()


def test_a_process_whose_start_is_not_told_is_known_by_its_id():
    assert not replace(ME, started=None).is_gone()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff not json",
        b"[]",
        b"null",
        b'{"host": 1, "pid": "x"}',
        b'{"host": "here", "pid": 7}',
        ME.to_bytes().replace(b'"started"', b'"begun"'),
    ],
)
def test_other_texts_are_no_marks(data: bytes):
    assert ProcessMark.from_bytes(data) is None
