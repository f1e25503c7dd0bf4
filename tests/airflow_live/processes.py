"""Processes of a live Airflow: started each in a group of its own, ended to the last of them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

PATIENCE_S = 15
MARK = "PYHUDI_LIVE_AIRFLOW"
"""A variable that the processes of one Airflow have, with its folder."""

_PAUSES_S = (0.2, 2.0)
"""The first and the longest: who asks often takes time from what is waited for."""
_SHOWN_LINES = 30


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until(is_so: Callable[[], bool], *, seconds: float, what: str | Callable[[], str]) -> None:
    """Ask again and again; ``what`` is waited for, in words that may be found at the end.

    Raises:
        TimeoutError: it never was so; says what was waited for.
    """
    end = time.monotonic() + seconds
    pause, longest = _PAUSES_S
    while not is_so():
        if time.monotonic() > end:
            told = what if isinstance(what, str) else what()
            raise TimeoutError(f"waited {seconds:.0f} s for {told}")
        time.sleep(pause)
        pause = min(pause * 1.5, longest)


class Component:
    """One long-running process with its log, and whatever it starts in turn."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        as_user: str | None = None,
    ) -> None:
        self.name, self.log = name, log
        with open(log, "ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=log.parent,
                user=as_user,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, which is that of its group too."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def wait_until(self, is_so: Callable[[], bool], *, seconds: float) -> None:
        """Wait until this component is ready, or tell why it ended.

        Raises:
            RuntimeError: it ended before that; has the end of its log.
            TimeoutError: it runs and is not ready.
        """

        def ready() -> bool:
            if not self.is_alive:
                raise RuntimeError(f"{self.name} ended: {self.end_of_log()}")
            return is_so()

        wait_until(ready, seconds=seconds, what=lambda: f"{self.name} ({self.end_of_log()})")

    def end_of_log(self) -> str:
        """The last lines that it said."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_SHOWN_LINES:])

    def ask_to_end(self) -> None:
        """Ask it to end, as Ctrl+C does."""
        if self.is_alive:
            self._process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Ask it to end, and kill what is left of its group after a while."""
        if self.is_alive:
            self.ask_to_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def kill(self) -> None:
        """End it as a machine that fails does: at once, and without asking."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


def living_in(folder: Path) -> list[psutil.Process]:
    """The processes of this user that work in a folder, or were started from it.

    Those of Airflow write their title over their environment, and those of Spark change their
    folder: each is told by what it keeps.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            is_here = Path(process.cwd()).is_relative_to(folder)
            if process.pid != os.getpid() and (
                is_here or process.environ().get(MARK) == str(folder)
            ):
                found.append(process)
    return [process for process in found if is_at_work(process)]


def end_all_in(folder: Path) -> list[str]:
    """Kill the processes that live in a folder; answers with what they were."""
    ended = list[str]()
    for process in living_in(folder):
        with contextlib.suppress(psutil.Error):
            ended.append(" ".join(process.cmdline())[:200])
            process.kill()
            process.wait(PATIENCE_S)
    return ended


def is_at_work(process: psutil.Process) -> bool:
    """Whether a process is there, and not only its entry in the table of processes."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
