"""A server in a process of its own, on a free port, gone in the end."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

LONGEST_START_S = 60.0
ATTEMPTS = 3


class DidNotStartError(Exception):
    """A server ended, or did not answer in time; with what it said."""


def free_port() -> int:
    """A port that nobody listens on, unless somebody takes it meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextlib.contextmanager
def listening(
    command: Callable[[int], Sequence[str]], environ: Mapping[str, str] | None = None
) -> Iterator[int]:
    """The port on which a command listens, for as long as the block runs.

    The command is made of its port. Another try takes another port, as somebody may have taken
    the first by then.
    """
    with contextlib.ExitStack() as stack:
        for attempt in range(ATTEMPTS):
            port = free_port()
            trial = contextlib.ExitStack()
            try:
                process, said = trial.enter_context(running(command(port), environ))
                _await_port(process, port, said)
            except DidNotStartError:
                trial.close()
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            stack.push(trial)
            yield port
            return


@contextlib.contextmanager
def running(
    command: Sequence[str], environ: Mapping[str, str] | None = None, **options: object
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process, and the file with what it says; it is killed with its children in the end."""
    with tempfile.TemporaryDirectory(prefix="pyhudi-server-") as folder:
        said = Path(folder) / "said"
        with said.open("wb") as log:
            process = subprocess.Popen(  # type: ignore[call-overload]
                command,
                env={**os.environ, **(environ or {})},
                stderr=log,
                start_new_session=True,
                **{"stdin": subprocess.DEVNULL, "stdout": log, **options},
            )
        try:
            yield process, said
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_of(said: Path) -> str:
    """The end of what a server has said."""
    return said.read_text(errors="replace")[-2000:]


def _await_port(process: subprocess.Popen[bytes], port: int, said: Path) -> None:
    until = time.monotonic() + LONGEST_START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise DidNotStartError(f"it ended with {process.returncode}: {end_of(said)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    raise DidNotStartError(f"it does not answer after {LONGEST_START_S:.0f} s: {end_of(said)}")
