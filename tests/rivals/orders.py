"""What a writer does next, drawn by its seed.

Keys are of four kinds, so that what must come of them does not depend on when logs are compacted:

* ``steady`` ones are updated by all, with ordering values that rise, and sometimes with late ones
  that must not count; they go with their partition alone;
* ``fleeting`` ones are deleted and written again, always with one ordering value;
* ``contested`` ones are new, and several draw them at once;
* ``own`` ones are inserted by one writer, once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.rivals.plan import Plan

Key = tuple[str, str]
"""Partition path and record key."""
Row = tuple[int, str]
"""Ordering value, and the order by which the row was written."""
Rows = dict[Key, Row]

SHARED = ("a", "b", "c")
FLEETING_TS = 500
WITH_HUDI = "both"
"""The partition in which real Hudi updates what ours update."""
STEADY_KEYS, _FLEETING, _CONTEST_S = 8, 4, 2.0
_LATE_MS = 5_000
WRITES = ("upsert", "insert", "delete", "insert_overwrite", "delete_partition")
SERVICES = ("clean", "archive", "rollback", "compact", "plan_compaction", "run_compaction")
_WEIGHTS = {
    "steady": 44,
    "fleeting": 8,
    "contested": 12,
    "own": 8,
    "delete": 8,
    "insert_overwrite": 4,
    "delete_partition": 3,
    "clean": 5,
    "archive": 3,
    "rollback": 2,
}
_LOG_WEIGHTS = {**_WEIGHTS, "compact": 6, "plan_compaction": 3, "run_compaction": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One thing to do: rows to write, keys to delete (their rows say nothing), or partitions."""

    name: str
    operation: str
    rows: Mapping[Key, Row] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The order as plain JSON values."""
        rows = [[*key, *row] for key, row in self.rows.items()]
        return {
            "name": self.name,
            "operation": self.operation,
            "rows": rows,
            "partitions": list(self.partitions),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Order:
        """The order in such values."""
        return cls(
            name=found["name"],
            operation=found["operation"],
            rows={(part, key): (ts, value) for part, key, ts, value in found["rows"]},
            partitions=tuple(found["partitions"]),
        )


def first_order(*, has_hudi: bool) -> Order:
    """The rows that the table has when the writers begin."""
    name = "first"
    partitions = (*SHARED, WITH_HUDI) if has_hudi else SHARED
    rows = {(part, f"steady{n}"): (0, name) for part in partitions for n in range(STEADY_KEYS)}
    return Order(name=name, operation="upsert", rows=rows)


class Drawing:
    """The orders of one process, one after another."""

    def __init__(self, plan: Plan, writer: int, life: int) -> None:
        self._chance = random.Random(f"{plan.seed}/{writer}/{life}")
        self._writer, self._life = writer, life
        self._weights = _LOG_WEIGHTS if plan.is_logged else _WEIGHTS
        self._has_hudi, self._shared = bool(plan.hudi), SHARED[:1] if plan.narrow else SHARED
        self._own = self._shared[0] if plan.narrow else f"w{writer}"
        self._count = 0

    def pause_s(self) -> float:
        """How long to rest before the next one."""
        return self._chance.choice((0.0, 0.0, 0.05, 0.2))

    def next(self, elapsed_s: float) -> Order:
        """The next one, as of so many seconds after the run began."""
        self._count += 1
        name = f"w{self._writer}.{self._life}.{self._count}"
        kinds, weights = list(self._weights), list(self._weights.values())
        kind = self._chance.choices(kinds, weights)[0]
        if kind in SERVICES:
            return Order(name=name, operation=kind)
        if kind == "delete_partition":
            return Order(name=name, operation=kind, partitions=(self._partition(),))
        return Order(
            name=name, operation=self._operation(kind), rows=self._rows(kind, name, elapsed_s)
        )

    @staticmethod
    def _operation(kind: str) -> str:
        named = {"steady": "upsert", "fleeting": "upsert", "contested": "upsert", "own": "insert"}
        return named.get(kind, kind)

    def _partition(self) -> str:
        # Half of them in a partition that nobody else writes, so that some have no conflict.
        return self._chance.choice((self._own, self._chance.choice(self._shared)))

    def _rows(self, kind: str, name: str, elapsed_s: float) -> Rows:
        chance = self._chance
        now = int(elapsed_s * 1000)
        partitions = {self._partition() for _ in range(chance.choice((1, 1, 2)))}
        if kind == "steady" and self._has_hudi and chance.random() < 0.15:
            partitions.add(WITH_HUDI)
        rows: Rows = {}
        for part in sorted(partitions):
            if kind in ("steady", "insert_overwrite"):
                for n in chance.sample(range(STEADY_KEYS), chance.choice((1, 2, 4))):
                    late = _LATE_MS if chance.random() < 0.15 else 0
                    rows[part, f"steady{n}"] = (max(0, now - late), name)
            if kind in ("fleeting", "delete"):
                for n in chance.sample(range(_FLEETING), 2):
                    rows[part, f"fleeting{n}"] = (FLEETING_TS, name)
            if kind == "own":
                rows[part, name] = (now, name)
        if kind == "contested":
            # All who draw within two seconds draw the same key of a shared partition.
            part = self._shared[int(elapsed_s / _CONTEST_S) % len(self._shared)]
            rows = {(part, f"new{int(elapsed_s / _CONTEST_S)}"): (FLEETING_TS, name)}
        return rows


def effect(rows: Mapping[Key, Row], order: Order) -> Rows:
    """The rows of a table after an order was carried out."""
    match order.operation:
        case "upsert" | "insert":
            left = dict(rows)
            for key, row in order.rows.items():
                if key not in left or left[key][0] <= row[0]:
                    left[key] = row
            return left
        case "delete":
            return {key: row for key, row in rows.items() if key not in order.rows}
        case "insert_overwrite":
            hidden = {part for part, _ in order.rows}
            return {**{k: r for k, r in rows.items() if k[0] not in hidden}, **order.rows}
        case "delete_partition":
            return {k: r for k, r in rows.items() if k[0] not in order.partitions}
        case _:
            return dict(rows)
