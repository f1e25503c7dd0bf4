"""How a submission ended, in a plain line, and whether another one can end otherwise."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from pyhudi.errors import EXIT_PLATFORM, EXIT_SETUP
from pyhudi.jobs.request import APPLICATION_MARKER, FAILURE_MARKER

_JAVA = "Spark needs Java 17 or 21, and {}; install one on the machine that runs this task"
_NO_MEMORY = (
    "Java got no memory from the machine; give the machine more, or lower --driver-memory of "
    "spark-submit"
)

# What spark-submit and Java print before a job can say anything itself.
_SIGNS: tuple[tuple[str, int, str], ...] = (
    (
        "JAVA_HOME is not set",
        EXIT_SETUP,
        _JAVA.format("JAVA_HOME is not set and PATH has no java"),
    ),
    ("bin/java: No such file", EXIT_SETUP, _JAVA.format("JAVA_HOME leads to none")),
    ("UnsupportedClassVersionError", EXIT_SETUP, _JAVA.format("the one it found is too old")),
    ("Could not reserve enough space", EXIT_PLATFORM, _NO_MEMORY),
    ("insufficient memory for the Java Runtime", EXIT_PLATFORM, _NO_MEMORY),
)
_BY_SIGNAL = 128
_KILLED = (
    "often by the system for want of memory; give the machine more, or lower --driver-memory of "
    "spark-submit"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """The reason of a failure: the job's own, or one of Java that implies an ``exit_code``."""

    message: str
    exit_code: int | None = None

    def explains(self, ended_with: int | None) -> bool:
        """Whether it is the reason of this exit code of the process.

        The job's own words always are. A line of Java's is where nothing was killed: jobs that run
        may log the same.
        """
        return self.exit_code is None or (ended_with is not None and 0 < ended_with < _BY_SIGNAL)


def last_words(line: str) -> LastWords | None:
    """The reason that a line of the submission's output gives, None for any other line."""
    if FAILURE_MARKER in line:
        return LastWords(message=line.split(FAILURE_MARKER, 1)[1].strip())
    for sign, code, message in _SIGNS:
        if sign in line:
            return LastWords(message=message, exit_code=code)
    return None


def application_in(line: str) -> str | None:
    """The id of Spark's application that a line of the job's log gives, None for any other line."""
    _, marker, rest = line.partition(APPLICATION_MARKER)
    return rest.split()[0] if marker and rest.split() else None


def unexplained(exit_code: int, tail: str) -> str:
    """What is known of a submission that ended without a reason.

    ``tail`` has the last lines of its output.
    """
    killed = -exit_code if exit_code < 0 else exit_code - _BY_SIGNAL
    if 0 < killed < signal.NSIG:
        hint = f", {_KILLED}" if killed == signal.SIGKILL else ""
        return f"Spark was killed (signal {killed}){hint}"
    last = [line.strip() for line in tail.splitlines() if line.strip()][-1:]
    shown = f"; its last line: {last[0]}" if last else ""
    return f"spark-submit ended with exit code {exit_code} and no reason{shown}"
