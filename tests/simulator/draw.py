"""Histories drawn by seeds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pyhudi.config.options.operations import Operation
from tests.simulator.history import LOCKS, PARTITIONS, Actor, History, Step
from tests.simulator.rows import Asked
from tests.simulator.scenes import scene
from tests.simulator.world import Incident, Kind

_KEYS = ("a", "b", "c")
_WRITES = (
    *(["upsert"] * 6),
    "insert",
    "bulk_insert",
    "delete",
    "delete",
    "delete_partition",
    "insert_overwrite",
    "insert_overwrite_table",
)
_SERVICES = ("clean", "clean", "rollback", "archive", "savepoint", "unsavepoint", "read", "read")
_OF_LOGS = ("compact", "compact", "plan compaction", "run compaction", "log compact")
_HOUR_MS = 3_600_000
VERSIONS = (6, 6, 6, 6, 8, 9)
"""Those of which a seed draws one: a third of the histories are of versions 8 and 9."""
_SCENES = 0.35
"""The share of histories in which a scene is played."""


def drawn(seed: int, versions: Sequence[int] = VERSIONS) -> History:
    """The history of a seed, on a table of one of these versions; a share of them is a scene.

    Of the others those of odd seeds have several writers at once.
    """
    version = random.Random(f"version of {seed}").choice(versions)
    return replace(_drawn(seed), version=version)


def _drawn(seed: int) -> History:
    chooser = random.Random(seed)
    if chooser.random() < _SCENES:
        return scene(seed, chooser)
    lock = chooser.choice(LOCKS) if seed % 2 else ""
    has_logs, is_hot = chooser.random() < 0.6, chooser.random() < 0.3
    actors = tuple(
        _actor(chooser, number, has_logs=has_logs, lock=lock, is_hot=is_hot)
        for number in range(chooser.choice((2, 2, 2, 3, 3, 4)))
    )
    return History(
        seed=seed,
        has_logs=has_logs,
        actors=actors,
        burst=chooser.choice((1, 2, 4, 8, 16, 40)),
        commits_before=chooser.choice((0, 1, 2, 3, 4)),
        retained=chooser.choice((1, 1, 2)),
        is_lazy=not lock and chooser.random() < 0.2,
        lock=lock,
    )


def _actor(
    chooser: random.Random, number: int, *, has_logs: bool, lock: str, is_hot: bool
) -> Actor:
    services = (*_SERVICES, *(_OF_LOGS if has_logs else ()))
    kinds = _WRITES if is_hot else (*_WRITES, *services)
    steps = tuple(
        _step(chooser, chooser.choice(kinds), f"{number}.{position}", is_hot=is_hot)
        for position in range(chooser.choice((1, 1, 1, 2, 2, 3)))
    )
    ahead = 0
    if chooser.random() < 0.2:
        ahead = chooser.choice((-_HOUR_MS, -5_000, -300, 300, 5_000, _HOUR_MS))
    return Actor(
        host=chooser.randrange(2),
        steps=steps,
        # Who dies in a process takes the others of it along.
        incidents=() if lock.startswith("InProcess") else _incidents(chooser),
        clock_ahead_ms=ahead,
    )


def _step(chooser: random.Random, kind: str, name: str, *, is_hot: bool) -> Step:
    rest_ms = 0 if is_hot else chooser.choice((0, 0, 0, 50, 500, 3_000))
    if kind not in _WRITES:
        return Step(kind, None, rest_ms)
    operation, partitions = (
        Operation(kind),
        tuple(chooser.sample(PARTITIONS, chooser.choice((1, 1, 2)))),
    )
    if operation is Operation.DELETE_PARTITION:
        return Step(kind, Asked(operation, {}, partitions[:1]), rest_ms)
    keys = chooser.sample(_KEYS, chooser.choice((1, 1, 2)))
    if operation in (Operation.INSERT, Operation.BULK_INSERT):
        # Inserts look nothing up: a key that is there already is there twice, as in Hudi.
        keys = [f"n{name}"]
    if operation is Operation.UPSERT and chooser.random() < 0.3:
        keys.append(chooser.choice(("new", f"n{name}")))
    rows = {(partition, key): name for partition in partitions for key in keys}
    return Step(kind, Asked(operation, rows), rest_ms)


def _incidents(chooser: random.Random) -> tuple[Incident, ...]:
    found = []
    if chooser.random() < 0.55:
        kind = chooser.choice(tuple(kind for kind in Kind if kind is not Kind.STALE))
        at = int(chooser.triangular(1, 120, 20))
        span = 0
        if kind in (Kind.PAUSES_BEFORE, Kind.PAUSES_AFTER):
            span = chooser.choice((300, 2_500, 10_000, 70_000))
        elif kind is Kind.CLOCK_JUMPS:
            span = chooser.choice((-_HOUR_MS, -5_000, 5_000, _HOUR_MS))
        found.append(Incident(at, kind, span))
    if chooser.random() < 0.1:
        found.append(Incident(chooser.randrange(1, 100), Kind.CALL_LOST))
    return tuple(found)
