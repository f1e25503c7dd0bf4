"""Processes that take turns at their storage calls, in the order of a seed.

Everything runs in one thread: each process is a greenlet, each heartbeat another. A process gives
the turn away at a storage call and when it sleeps; time passes by those alone. So one seed is one
history, call by call.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from greenlet import getcurrent, greenlet

BEGIN_MS = 1_767_225_600_000
_LATENCIES_MS = (0, 0, 1, 1, 2, 4)
FOREVER = float("inf")
_MOST_CALLS = 60_000
"""Of one history; one that makes more does not come to an end."""


class Killed(BaseException):
    """The process is gone; nothing it would still do reaches the storage."""


class StuckError(AssertionError):
    """Processes wait for each other, or one never ends."""


class Kind(Enum):
    """What befalls a process at one of its storage calls."""

    DIES_BEFORE = "dies before the call"
    DIES_AFTER = "dies after the call"
    PAUSES_BEFORE = "is suspended before the call"
    PAUSES_AFTER = "is suspended after the call"
    ANSWER_LOST = "gets an error for a call that did its work"
    CALL_LOST = "gets an error for a call that did nothing"
    CLOCK_JUMPS = "has its clock set"
    STALE = "does not see the newest data file in a listing"


@dataclass(frozen=True, slots=True)
class Incident:
    """What befalls a process at its storage call of a number, the first of which is 1.

    ``span_ms`` is how long it is suspended, or how far its clock is set.
    """

    at: int
    kind: Kind
    span_ms: int = 0

    def __str__(self) -> str:
        span = f" by {self.span_ms:,} ms" if self.span_ms else ""
        return f"call {self.at}: {self.kind.value}{span}"


@dataclass(eq=False, slots=True)
class Strand:
    """One line of execution: the work of a process, or what it repeats beside."""

    process: Process
    name: str
    run: Callable[[], None]
    is_work: bool
    wakes_ms: float = 0.0
    is_over: bool = False
    is_acting: bool = False
    let: greenlet = field(init=False)


@dataclass(eq=False, slots=True)
class Process:
    """One process of a machine: it can die, be suspended, and its clock is its own.

    ``host`` tells machines apart: who is on the same one knows at once that it died. ``saw`` is how
    many instants had been completed when it last listed the timeline, ``asked_lock`` the number of
    its last call to the file of a lock.
    """

    number: int
    host: int
    clock_ahead_ms: int = 0
    incidents: dict[int, Incident] = field(default_factory=dict)
    calls: int = 0
    is_dead: bool = False
    suspended_until_ms: float = 0.0
    saw: int = 0
    asked_lock: int = 0
    strands: list[Strand] = field(default_factory=list)
    doing: str = ""

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return f"p{self.number}"


class World:
    """Time, processes, and whose turn it is.

    ``burst`` is how many calls one makes in a row on average, ``completed`` how many instants were.
    ``trace`` gets a line for each call where it is not None. ``watch`` is called before each call,
    ``ended`` when a process has done its work.
    """

    def __init__(self, seed: int, *, burst: int = 4) -> None:
        self.random = random.Random(seed)
        self.now_ms = float(BEGIN_MS)
        self.processes: list[Process] = []
        self.completed = 0
        self.trace: list[str] | None = None
        self.calls = 0
        self.watch: Callable[[Strand, str, str], None] | None = None
        self.ended: Callable[[Process], None] | None = None
        self._burst, self._left = burst, 0
        self.is_frozen = False
        self._is_stopped = False
        self._hub: greenlet | None = None
        self._running: Strand | None = None
        self._latencies = _LATENCIES_MS

    @property
    def current(self) -> Process | None:
        """The process whose turn it is; None outside of the play."""
        return None if self._running is None else self._running.process

    def add(self, process: Process, work: Callable[[], None]) -> None:
        """Let a process do some work, from now on."""
        self.processes.append(process)
        self.start(process, "work", work, is_work=True)

    def start(
        self, process: Process, name: str, run: Callable[[], None], *, is_work: bool
    ) -> Strand:
        """Start a strand of a process."""
        strand = Strand(process, name, run, is_work)
        strand.let = greenlet(lambda: self._live(strand), parent=self._hub or getcurrent())
        process.strands.append(strand)
        return strand

    def play(self) -> None:
        """Go on until all work is done, or its process dead.

        Raises:
            StuckError: it never is.
        """
        self._hub = getcurrent()
        try:
            while not self._is_stopped and (ready := self._ready()) is not None:
                strand = ready[0] if len(ready) == 1 else self.random.choice(ready)
                self._left = self._draw_burst()
                self._running = strand
                strand.let.switch()
                self._running = None
        finally:
            self._bury()

    def stop(self) -> None:
        """Nobody goes on."""
        self._is_stopped = True

    def step(self, what: str, path: str) -> Incident | None:
        """A storage call is about to be made: others may come before it; what befalls the caller.

        Raises:
            Killed: the process ends here.
        """
        strand = self._running
        if strand is None:
            return None
        process = strand.process
        self.calls += 1
        if self.calls > _MOST_CALLS:
            raise StuckError(f"{_MOST_CALLS:,} calls were made, and there is no end")
        self.now_ms += self.random.choice(self._latencies)
        self._left -= 1
        if self._left <= 0 or process.is_dead:
            self._give_way(strand)
        process.calls += 1
        if self.trace is not None:
            self._note(f"{process.calls:4d} {what} {path}", process)
        if self.watch is not None:
            self.watch(strand, what, path)
            if max(process.suspended_until_ms, strand.wakes_ms) > self.now_ms:
                self._give_way(strand)
        incident = process.incidents.get(process.calls)
        if incident is not None:
            self._befall(strand, incident, is_before=True)
        return incident

    def after(self, incident: Incident) -> None:
        """The call was made at which something befalls its caller.

        Raises:
            Killed: the process ends here.
        """
        if self._running is not None:
            self._befall(self._running, incident, is_before=False)

    def sleep(self, ms: float) -> None:
        """The strand whose turn it is lets time pass."""
        strand = self._running
        if strand is None:
            self.now_ms += ms
            return
        strand.wakes_ms = self.now_ms + ms
        self._give_way(strand)

    @contextmanager
    def repeating(
        self, process: Process, act: Callable[[], None], every_ms: float, name: str
    ) -> Iterator[None]:
        """A span beside which a strand of the process does something at each interval."""

        def repeat() -> None:
            while True:
                self.sleep(every_ms)
                if beside.is_over:
                    return
                beside.is_acting = True
                act()
                beside.is_acting = False

        beside = self.start(process, name, repeat, is_work=False)
        beside.wakes_ms = self.now_ms
        try:
            yield
        finally:
            while beside.is_acting and not process.is_dead:
                self.sleep(1)
            beside.is_over = True

    def kill(self, process: Process) -> None:
        """End a process: it never runs again."""
        process.is_dead = True
        if self.trace is not None:
            self._note("DIES", process)

    def suspend(self, process: Process, span_ms: float) -> None:
        """Suspend a process, heartbeats and all."""
        process.suspended_until_ms = max(process.suspended_until_ms, self.now_ms + span_ms)
        if self.trace is not None:
            self._note(f"suspended for {span_ms:,.0f} ms", process)

    def wake(self, process: Process) -> None:
        """Let a process go on that is suspended."""
        process.suspended_until_ms = 0.0

    def _befall(self, strand: Strand, incident: Incident, *, is_before: bool) -> None:
        process, kind = strand.process, incident.kind
        if kind is (Kind.DIES_BEFORE if is_before else Kind.DIES_AFTER):
            self.kill(process)
            raise Killed
        if kind is (Kind.PAUSES_BEFORE if is_before else Kind.PAUSES_AFTER):
            self.suspend(process, incident.span_ms)
            self._give_way(strand)
        if kind is Kind.CLOCK_JUMPS and is_before:
            process.clock_ahead_ms += incident.span_ms

    def _live(self, strand: Strand) -> None:
        try:
            if not strand.process.is_dead:
                strand.run()
        except Killed:
            pass
        finally:
            strand.is_over = True
            if strand.is_work and self.ended is not None:
                self.ended(strand.process)

    def _give_way(self, strand: Strand) -> None:
        if self._hub is None or getcurrent() is not strand.let:
            return
        if strand.process.is_dead:
            raise Killed
        self._hub.switch()
        if strand.process.is_dead:
            raise Killed

    def _ready(self) -> list[Strand] | None:
        """The strands that can go on, time having passed where none could; None at the end."""
        soonest, ready, is_work_left = FOREVER, list[Strand](), False
        for process in self.processes:
            if process.is_dead:
                continue
            suspended = process.suspended_until_ms
            for strand in process.strands:
                if strand.is_over:
                    continue
                is_work_left = is_work_left or strand.is_work
                at = suspended if suspended > strand.wakes_ms else strand.wakes_ms
                if at <= self.now_ms:
                    ready.append(strand)
                elif at < soonest:
                    soonest = at
        if not is_work_left:
            return None
        if ready:
            return ready
        if soonest == FOREVER:
            raise StuckError("everybody waits for somebody, and nobody goes on")
        self.now_ms = soonest
        return self._ready()

    def _draw_burst(self) -> int:
        return 1 if self._burst == 1 else 1 + int(self.random.expovariate(1.0 / self._burst))

    def _note(self, text: str, process: Process) -> None:
        assert self.trace is not None
        self.trace.append(f"{self.now_ms - BEGIN_MS:9.0f} {process.name} {text}")

    def _bury(self) -> None:
        """Unwind what never came to its end; nothing of it reaches the storage."""
        for process in self.processes:
            process.is_dead = True
            for strand in process.strands:
                self._running = strand
                while strand.let:
                    strand.let.throw(Killed)
        self._running = None


class WorldClock:
    """The clock of a process."""

    def __init__(self, world: World, process: Process) -> None:
        self._world, self._process = world, process

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC, as the process believes."""
        now_ms = BEGIN_MS if self._world.is_frozen else int(self._world.now_ms)
        return now_ms + self._process.clock_ahead_ms

    def monotonic_ms(self) -> int:
        """Milliseconds since the world began."""
        return int(self._world.now_ms) - BEGIN_MS

    def sleep(self, seconds: float) -> None:
        """Let others go on for this time."""
        self._world.sleep(seconds * 1000)

    def repeating(self, act: Callable[[], None], every_s: float, name: str):  # type: ignore[no-untyped-def]
        """A span with a strand beside it."""
        return self._world.repeating(self._process, act, every_s * 1000, name)
