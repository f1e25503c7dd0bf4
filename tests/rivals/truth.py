"""What the table should say, told by what was completed when and by what the writers noted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rivals.notes import read_notes
from tests.rivals.observer import COMPLETED
from tests.rivals.orders import SERVICES, Order, Rows, effect
from tests.rivals.plan import Plan

UNKNOWN = "unknown"
_SERVICE_OPERATIONS = ("COMPACT", "LOG_COMPACT")


@dataclass(slots=True)
class Tried:
    """An order and what its writer knows of it: ``done``, ``refused``, ``failed`` or unknown.

    Units: ``began`` and ``ended`` in seconds since 1970.
    """

    order: Order
    writer: str
    began: float
    ended: float | None = None
    outcome: str = UNKNOWN
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def instant(self) -> str | None:
        """The instant that the writer was told."""
        return self.said.get("instant")

    @property
    def is_write(self) -> bool:
        """Whether it is about rows."""
        return self.order.operation not in SERVICES


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A completed write, and the order that it says it was made by.

    ``at`` is when its file was made, and ``seen`` when it was found where readers find it.

    Units: both in seconds since 1970.
    """

    instant: str
    at: float
    seen: float
    order: str | None
    operation: str

    @property
    def moves_rows(self) -> bool:
        """Whether it is about rows, as compactions are not."""
        return self.operation not in _SERVICE_OPERATIONS


@dataclass(slots=True)
class Story:
    """All that was noted of a run."""

    plan: Plan
    tried: dict[str, Tried]
    completed: list[Completed]
    gone: set[str]
    reads: list[dict[str, Any]]
    locks: dict[str, list[dict[str, Any]]]
    incidents: list[dict[str, Any]]

    def orders(self, instants: list[Completed]) -> list[Order]:
        """The orders of completed writes."""
        return [
            self.tried[each.order].order
            for each in instants
            if each.order in self.tried and each.moves_rows
        ]

    def rows(self, as_of: str | None = None) -> Rows:
        """The rows that the table should have, now or as of an instant."""
        wanted = [each for each in self.completed if as_of is None or each.instant <= as_of]
        rows: Rows = {}
        for order in self.orders(wanted):
            rows = effect(rows, order)
        return rows

    def states(self) -> Iterator[tuple[float, float, Rows]]:
        """Since when the table may have had which rows, and since when it had."""
        rows: Rows = {}
        for each in self.completed:
            for order in self.orders([each]):
                rows = effect(rows, order)
            yield each.at, each.seen, rows


def read_story(plan: Plan, kept: set[str]) -> Story:
    """The story of a run; ``kept`` are the instants that its table has in the end."""
    folder = Path(plan.folder)
    tried: dict[str, Tried] = {}
    locks: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.notes")):
        found = list(read_notes(path))
        if path.stem.startswith(("writer", "maker", "last", "hudi")):
            _read_writer(path.stem, found, tried)
        locks[path.stem] = [
            each for each in found if each["kind"] in ("locked", "unlocking", "confirmed")
        ]
    completed, gone = [], set()
    for each in read_notes(plan.notes("observer")):
        name = COMPLETED.fullmatch(each["name"])
        assert name is not None
        if each["kind"] == "gone":
            gone.add(name[1])
        else:
            completed.append(
                Completed(
                    instant=name[1],
                    at=each["completed"],
                    seen=each["at"],
                    order=each["order"],
                    operation=each["operation"] or "",
                )
            )
    completed = sorted((c for c in completed if c.instant in kept), key=lambda c: c.at)
    reads = [
        each
        for number in range(plan.readers)
        for each in read_notes(plan.notes(f"reader{number}"))
        if each["kind"] not in ("up", "ended")
    ]
    incidents = list(read_notes(plan.notes("incidents")))
    return Story(plan, tried, completed, gone - kept, reads, locks, incidents)


def _read_writer(name: str, found: list[dict[str, Any]], tried: dict[str, Tried]) -> None:
    for each in found:
        if each["kind"] == "begin":
            order = Order.from_dict(each["order"])
            tried[order.name] = Tried(order, name, each["at"])
        elif each["kind"] in ("done", "refused", "failed"):
            known = tried[each["order"]]
            known.outcome, known.ended, known.said = each["kind"], each["at"], each
