"""A whole run: a place for the table, its processes, and the checks afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.rivals.arena import Arena
from tests.rivals.checks import Checked, check
from tests.rivals.plan import Plan
from tests.rivals.report import Befallen, Figure, figures
from tests.support.servers.object_stores import S3Server, versitygw
from tests.support.servers.proxy import (
    SLOW_DOWN,
    CutAnswer,
    CutUpload,
    Delay,
    DropAnswer,
    Fault,
    Proxy,
    Reset,
)

_FAULTS: tuple[Fault, ...] = (
    SLOW_DOWN,
    DropAnswer(),
    Delay(0.5),
    CutAnswer(),
    CutUpload(),
    Reset(),
)
_BUCKET = "rivals"


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run."""

    checked: Checked
    befallen: Befallen
    figures: list[Figure]

    @property
    def anomalies(self) -> list[str]:
        """What must not be, in words."""
        return [str(each) for each in self.checked.anomalies]


def local_plan(folder: Path, **asked: object) -> Plan:
    """A run on the local disk."""
    table = folder / "table"
    return Plan(folder=str(folder), uri=str(table), seen=str(table), **asked)  # type: ignore[arg-type]


def run_here(plan: Plan) -> Ran:
    """Run a plan on the local disk."""
    arena = Arena(plan)
    arena.run()
    return _judged(plan, arena, faults=0)


def run_on_store(folder: Path, server: S3Server, **asked: object) -> Ran:
    """Run on an S3 server whose buckets are folders, through a proxy that makes faults."""
    server.make_bucket(_BUCKET)
    assert server.folder is not None
    plan = Plan(
        folder=str(folder),
        uri=f"s3://{_BUCKET}/table",
        seen=str(server.folder / _BUCKET / "table"),
        storage="s3",
        storage_options=server.options,
        **asked,  # type: ignore[arg-type]
    )
    with Proxy(server.port, seed=plan.seed) as proxy:
        behind = replace(plan, storage_options=server.behind(proxy.port).options)
        arena = Arena(behind, before=lambda: _make_faults(proxy, plan), after=proxy.heal)
        arena.run()
        faults = sum(each.fault is not None for each in proxy.requests())
        return _judged(behind, arena, faults=faults)


def _make_faults(proxy: Proxy, plan: Plan) -> None:
    for fault in _FAULTS:
        if plan.fault_chance:
            proxy.fail(fault, chance=plan.fault_chance)


def _judged(plan: Plan, arena: Arena, *, faults: int) -> Ran:
    checked = check(plan)
    befallen = Befallen(kills=arena.kills, stops=arena.stops, faults=faults)
    return Ran(checked, befallen, figures(checked, befallen))


@contextmanager
def store(folder: Path) -> Iterator[S3Server]:
    """A versitygw for a run."""
    with versitygw(folder / "server") as server:
        yield server
