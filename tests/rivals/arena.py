"""Runs the processes of a plan, and lets things befall them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyhudi.storage.schemes import open_storage
from tests.rivals.hudi import start_hudi
from tests.rivals.notes import Notes, read_notes
from tests.rivals.observer import Observer
from tests.rivals.orders import Order, first_order
from tests.rivals.plan import HEARTBEAT_S, Plan
from tests.rivals.writer import Writer, carry_out_noted
from tests.support.source_tree import ROOT

AUDIT_SWITCH = ".hoodie/.locks/audit_enabled.json"
_PATIENCE_S = 180.0
_BEFORE_INCIDENTS_S = 1.0


@dataclass(slots=True)
class Contender:
    """One writer: its process, how often it was started, and until when it is stopped."""

    number: int
    process: subprocess.Popen[bytes]
    life: int = 0
    stopped_until: float | None = None


@dataclass
class Arena:
    """The processes of a run. ``kills`` and ``stops`` count what befell them.

    ``before`` is called when the table is made, ``after`` when the writers have ended.
    """

    plan: Plan
    before: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    kills: int = 0
    stops: int = 0
    contenders: list[Contender] = field(default_factory=list)

    def run(self) -> None:
        """Make the table, let everybody at it until the time is up, and then clear up.

        Raises:
            TimeoutError: a process does not end.
            ChildProcessError: one ended otherwise than it should.
        """
        plan = self.plan
        plan.save()
        maker = Writer(plan, Notes(plan.notes("locks of the maker")))
        first = first_order(has_hudi=bool(plan.hudi))
        carry_out_noted(maker, Notes(plan.notes("maker")), first)
        # Whoever holds the storage lock is to note it from here on, where a checker reads it.
        storage = open_storage(plan.uri, plan.storage_options)
        storage.put(AUDIT_SWITCH, b'{"STORAGE_LOCK_AUDIT_SERVICE_ENABLED": true}')
        self.before()
        with Observer(plan), ExitStack() as ended:
            others = [self._start("reader", number) for number in range(plan.readers)]
            names = [f"reader{number}" for number in range(plan.readers)]
            if plan.hudi:
                others.append(start_hudi(plan))
                names.append("hudi")
            for process in others:
                ended.callback(_end, process)
            for number in range(plan.writers):
                self.contenders.append(Contender(number, self._start("writer", number, 0)))
                ended.callback(lambda found=self.contenders[-1]: _end(found.process))
                names.append(f"writer{number}")
            self._wait_until_up(names)
            self._befall(plan.begin())
            self._wait([*(each.process for each in self.contenders), *others])
            self.after()
            # Whoever was killed counts as dead from then on, wherever one looks from.
            time.sleep(HEARTBEAT_S + 1 if self.kills or self.stops else 0)
            self._clear_up()

    def _clear_up(self) -> None:
        """What is planned is run, what died undone, what is old deleted."""
        notes, locks = Notes(self.plan.notes("last")), Notes(self.plan.notes("locks of the last"))
        last = Writer(self.plan, notes=locks)
        services = ["clean"]
        if self.plan.is_logged:
            services += ["run_compaction"] * 3 + ["compact"]
        for count, service in enumerate([*services, "clean", "clean"]):
            carry_out_noted(last, notes, Order(name=f"last.{count}", operation=service))

    def _wait_until_up(self, names: Iterable[str]) -> None:
        until = time.monotonic() + _PATIENCE_S
        for name in names:
            while not any(each["kind"] == "up" for each in read_notes(self.plan.notes(name))):
                if time.monotonic() > until:
                    raise TimeoutError(f"{name} does not begin")
                time.sleep(0.05)

    def _start(self, role: str, *numbers: int) -> subprocess.Popen[bytes]:
        said = Path(self.plan.folder) / f"{role}{numbers[0]}.said"
        with said.open("ab") as output:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"tests.rivals.{role}",
                    str(self.plan.path),
                    *map(str, numbers),
                ],
                cwd=ROOT,
                env=environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _befall(self, began: float) -> None:
        """Kill and stop writers, start the dead again and let the stopped go on."""
        plan, chance = self.plan, random.Random(f"incidents of {self.plan.seed}")
        notes = Notes(plan.notes("incidents"))
        next_kill = began + _BEFORE_INCIDENTS_S + _next(chance, plan.kill_every_s)
        next_stop = began + _BEFORE_INCIDENTS_S + _next(chance, plan.stop_every_s)
        while (now := time.monotonic()) < began + plan.seconds:
            if now >= next_kill:
                next_kill = now + _next(chance, plan.kill_every_s)
                if running := self._running():
                    self._kill(chance.choice(running), notes)
            if now >= next_stop:
                next_stop = now + _next(chance, plan.stop_every_s)
                if running := self._running():
                    self._stop(chance.choice(running), chance.choice(plan.stops_s), notes)
            self._let_go_on(now)
            time.sleep(0.05)
        self._let_go_on(float("inf"))

    def _running(self) -> list[Contender]:
        return [
            each
            for each in self.contenders
            if each.stopped_until is None and each.process.poll() is None
        ]

    def _kill(self, victim: Contender, notes: Notes) -> None:
        with suppress(ProcessLookupError):
            # Its session, so that a JVM of its own goes with it.
            _signal_all(victim.process, signal.SIGKILL)
        victim.process.wait()
        victim.life += 1
        self.kills += 1
        notes.add("killed", writer=victim.number)
        victim.process = self._start("writer", victim.number, victim.life)

    def _stop(self, victim: Contender, seconds: float, notes: Notes) -> None:
        victim.process.send_signal(signal.SIGSTOP)
        victim.stopped_until = time.monotonic() + seconds
        self.stops += 1
        notes.add("stopped", writer=victim.number, seconds=seconds)

    def _let_go_on(self, now: float) -> None:
        for each in self.contenders:
            if each.stopped_until is not None and each.stopped_until <= now:
                each.process.send_signal(signal.SIGCONT)
                each.stopped_until = None

    @staticmethod
    def _wait(processes: list[subprocess.Popen[bytes]]) -> None:
        until = time.monotonic() + _PATIENCE_S
        for process in processes:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired as late:
                raise TimeoutError(f"{late.cmd} does not end") from late
            if process.returncode:
                raise ChildProcessError(f"{process.args} ended with {process.returncode}")


def environment() -> dict[str, str]:
    """What a process finds around it."""
    paths = f"{ROOT}{os.pathsep}{ROOT / 'spark_jobs'}"
    # Arrow's threads of many processes only get in each other's way.
    return {**os.environ, "PYTHONPATH": paths, "TZ": "UTC", "OMP_NUM_THREADS": "1"}


def _next(chance: random.Random, every_s: float) -> float:
    return chance.uniform(0.5, 1.5) * every_s if every_s else float("inf")


def _signal_all(process: subprocess.Popen[bytes], number: int) -> None:
    os.killpg(process.pid, number)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        _signal_all(process, signal.SIGKILL)
    process.wait()
