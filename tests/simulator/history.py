"""A history as a value: the table, who does what to it, and what befalls them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulator.rows import Asked
from tests.simulator.world import Incident

PARTITIONS = ("x", "y")
LOCKS = ("FileSystemBasedLockProvider", "StorageBasedLockProvider", "InProcessLockProvider")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a process does."""

    kind: str
    asked: Asked | None = None
    rest_ms: int = 0

    def __str__(self) -> str:
        if self.asked is None:
            return self.kind
        rows = " ".join("/".join(key) for key in self.asked.rows)
        return f"{self.kind} {rows or ' '.join(self.asked.partitions)}"


@dataclass(frozen=True, slots=True)
class Actor:
    """One process: its machine, how wrong its clock is, its steps and what befalls it."""

    host: int
    steps: tuple[Step, ...]
    incidents: tuple[Incident, ...] = ()
    clock_ahead_ms: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """A table and the processes that work on it; ``seed`` draws the order of their calls.

    ``has_logs`` says that the table is merge-on-read, ``commits_before`` how many writes it has
    when the history begins, ``retained`` how many of them cleans keep. With a ``lock`` writers go
    on beside each other; it is the provider's name. Where it ``is_frozen`` all clocks stand still.
    ``version`` is that of the table's format.
    """

    seed: int
    has_logs: bool
    actors: tuple[Actor, ...]
    burst: int = 4
    commits_before: int = 2
    retained: int = 1
    is_lazy: bool = False
    lock: str = ""
    is_frozen: bool = False
    version: int = 6

    def __str__(self) -> str:
        kind = "merge-on-read" if self.has_logs else "copy-on-write"
        how = ", ".join(filter(None, ("lazily" if self.is_lazy else "", self.lock)))
        lines = [
            f"seed {self.seed}: {kind} of version {self.version},"
            f" {self.commits_before} writes before, bursts of {self.burst},"
            f" cleans keep {self.retained}{how and f', {how}'}"
        ]
        for number, actor in enumerate(self.actors):
            clock = f", clock {actor.clock_ahead_ms:+,} ms" if actor.clock_ahead_ms else ""
            lines.append(f"  p{number} on host {actor.host}{clock}")
            lines.extend(f"    {step}" for step in actor.steps)
            lines.extend(f"    ! {incident}" for incident in actor.incidents)
        return "\n".join(lines)
