"""Schedules that are written down: who waits before which of its calls, until what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulator.world import FOREVER, Incident, Kind, Process, Strand, World


@dataclass(slots=True)
class Hold:
    """A process waits before a call: of a kind, to a path, the first after ``skips`` others.

    Those of ``then`` begin when it does, and it goes on when they have ended. ``span_ms`` passes
    when it begins to wait. One that ``is_suspended`` has no heartbeat meanwhile.
    """

    process: int
    what: str
    path: str
    then: tuple[int, ...]
    skips: int = 0
    span_ms: int = 0
    is_suspended: bool = False
    waiting: Strand | None = None
    is_done: bool = False


@dataclass(slots=True)
class Fault:
    """Something befalls a process at a call of a kind, to a path."""

    process: int
    what: str
    path: str
    kind: Kind
    then: tuple[int, ...] = ()
    is_done: bool = False


@dataclass(slots=True)
class Directed:
    """Holds and faults, in a world. Whoever begins after another waits for it."""

    holds: Sequence[Hold] = ()
    faults: Sequence[Fault] = ()
    _ended: set[int] = field(default_factory=set)

    def direct(self, world: World) -> None:
        """Have a world follow the schedule."""
        if not (self.holds or self.faults):
            return
        world.watch = lambda strand, what, path: self._watch(world, strand, what, path)
        world.ended = lambda process: self._end(world, process)
        rules = (*self.holds, *self.faults)
        later = {number for each in rules for number in each.then} - {rules[0].process}
        for process in world.processes:
            for strand in process.strands if process.number in later else ():
                strand.wakes_ms = FOREVER

    @property
    def was_followed(self) -> bool:
        """Whether what was to happen first did; the rest may be kept out."""
        return all(each.is_done for each in (*self.holds[:1], *self.faults))

    def _watch(self, world: World, strand: Strand, what: str, path: str) -> None:
        process = strand.process
        for fault in self.faults:
            if not fault.is_done and _is_meant(fault, strand, what, path):
                fault.is_done = True
                process.incidents[process.calls] = Incident(process.calls, fault.kind)
                self._begin(world, fault.then)
        for hold in self.holds:
            if not hold.is_done and _is_meant(hold, strand, what, path):
                hold.skips -= 1
                if hold.skips >= 0:
                    continue
                hold.is_done, hold.waiting = True, strand
                world.now_ms += hold.span_ms
                if hold.is_suspended:
                    process.suspended_until_ms = FOREVER
                else:
                    strand.wakes_ms = FOREVER
                self._begin(world, hold.then)

    def _begin(self, world: World, numbers: Sequence[int]) -> None:
        for process in world.processes:
            if process.number in numbers[:1]:
                process.strands[0].wakes_ms = process.suspended_until_ms = 0.0

    def _end(self, world: World, process: Process) -> None:
        self._ended.add(process.number)
        for each in (*self.holds, *self.faults):
            if process.number in each.then:
                left = [number for number in each.then if number not in self._ended]
                if left:
                    self._begin(world, left)
                elif isinstance(each, Hold) and each.waiting is not None:
                    each.waiting.wakes_ms = each.waiting.process.suspended_until_ms = 0.0
                    each.waiting = None


def _is_meant(rule: Hold | Fault, strand: Strand, what: str, path: str) -> bool:
    return (
        strand.is_work
        and strand.process.number == rule.process
        and what == rule.what
        and re.search(rule.path, path) is not None
    )
