"""Scenes that draws at large seldom make: who meets whom is given, the rest is drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from pyhudi.config.options.operations import Operation
from tests.simulator.history import LOCKS, PARTITIONS, Actor, History, Step
from tests.simulator.rows import Asked
from tests.simulator.world import Incident, Kind

_FILE_LOCK = LOCKS[0]
_SPANS_MS = (300, 2_500, 10_000, 70_000)

Cast = tuple[tuple[Step, ...], ...]


def scene(seed: int, chooser: random.Random) -> History:
    """The history of a seed in which one of the scenes below is played."""
    return chooser.choice(_SCENES)(seed, chooser)


def _upsert(chooser: random.Random, name: str, column: str = "") -> Step:
    rows = {(chooser.choice(PARTITIONS), chooser.choice("ab")): name}
    return Step("upsert", Asked(Operation.UPSERT, rows, column=column), _rest(chooser))


def _rest(chooser: random.Random) -> int:
    return chooser.choice((0, 0, 0, 5, 50))


def _suspended(chooser: random.Random, chance: float) -> tuple[Incident, ...]:
    if chooser.random() >= chance:
        return ()
    kind = chooser.choice((Kind.PAUSES_BEFORE, Kind.PAUSES_AFTER))
    return (Incident(int(chooser.triangular(1, 90, 30)), kind, chooser.choice(_SPANS_MS)),)


def _history(
    seed: int, chooser: random.Random, cast: Cast, *, suspended: float = 0.0, **more: object
) -> History:
    actors = tuple(
        Actor(chooser.randrange(2), steps, _suspended(chooser, suspended)) for steps in cast
    )
    given = {"has_logs": False, "commits_before": 2, "burst": chooser.choice((1, 4, 16, 40))}
    return History(seed=seed, actors=actors, **(given | more))  # type: ignore[arg-type]


def _planned_beside_a_write(seed: int, chooser: random.Random) -> History:
    """A compaction is planned, and run, while another appends to the same slices."""
    cast = (
        (_upsert(chooser, "w0"), _upsert(chooser, "w1")),
        (Step("plan compaction", None, _rest(chooser)), Step("run compaction")),
    )
    return _history(seed, chooser, cast, suspended=0.2, has_logs=True)


def _runs_of_one_plan(seed: int, chooser: random.Random) -> History:
    """Two run the plan that there is, and one of them is suspended meanwhile."""
    first = Step("plan compaction"), Step("run compaction")
    cast = first, (Step("run compaction", None, _rest(chooser)),) * chooser.choice((1, 2))
    return _history(seed, chooser, cast, suspended=0.7, has_logs=True)


def _cleaned_beside_a_reader(seed: int, chooser: random.Random) -> History:
    """Somebody reads the oldest write that is retained while others clean."""
    cast = (Step("read old"),) * 2, (Step("clean", None, _rest(chooser)),)
    retained = chooser.choice((2, 3))
    return _history(seed, chooser, cast, commits_before=4, retained=retained)


def _cleaned_after_a_savepoint(seed: int, chooser: random.Random) -> History:
    """A savepoint is taken, and its files are replaced and cleaned by others."""
    writes = tuple(_upsert(chooser, f"w{number}") for number in range(3))
    cast = (Step("savepoint"), *writes, Step("clean")), (_upsert(chooser, "v"), Step("clean"))
    return _history(seed, chooser, cast, has_logs=chooser.random() < 0.3)


def _cleaned_by_two(seed: int, chooser: random.Random) -> History:
    """One is suspended on its way to a plan, and another writes and cleans meanwhile."""
    writes = tuple(_upsert(chooser, f"w{number}") for number in range(2))
    incident = Incident(chooser.randint(2, 14), Kind.PAUSES_BEFORE, 2_500)
    actors = Actor(0, (Step("clean"),), (incident,)), Actor(1, (*writes, Step("clean")))
    return History(seed, has_logs=False, actors=actors, commits_before=3)


def _archived_by_two(seed: int, chooser: random.Random) -> History:
    """An archiver dies or has no answer on the way, and another goes on."""
    kinds = (Kind.DIES_BEFORE, Kind.DIES_AFTER, Kind.ANSWER_LOST)
    incident = Incident(chooser.randint(4, 40), chooser.choice(kinds))
    actors = (
        Actor(0, (Step("archive"),), (incident,)),
        Actor(chooser.randrange(2), (Step("archive", None, 50),)),
    )
    return History(seed, has_logs=chooser.random() < 0.3, actors=actors, commits_before=4)


def _new_keys_at_once(seed: int, chooser: random.Random) -> History:
    """Writers beside each other bring the same new key, into an empty table or a full one."""
    cast = tuple(
        (Step("upsert", Asked(Operation.UPSERT, {("x", "new"): name}), _rest(chooser)),)
        for name in ("w", "v")
    )
    before = chooser.choice((0, 0, 1))
    return _history(seed, chooser, cast, lock=chooser.choice(LOCKS), commits_before=before)


def _answers_lost(seed: int, chooser: random.Random) -> History:
    """A writer gets an error for a call that did its work."""
    incident = Incident(chooser.randint(20, 60), Kind.ANSWER_LOST)
    actor = Actor(0, (_upsert(chooser, "w"),), (incident,))
    lock = chooser.choice((*LOCKS, "", "", ""))
    return History(seed, has_logs=chooser.random() < 0.3, actors=(actor,), lock=lock)


def _clocks_alike(seed: int, chooser: random.Random) -> History:
    """All clocks stand still, so that writers draw the same times."""
    cast = tuple((_upsert(chooser, name),) for name in ("w", "v"))
    return _history(seed, chooser, cast, is_frozen=True)


def _listings_behind(seed: int, chooser: random.Random) -> History:
    """A reader whose listing does not have the newest file, beside a writer or after one."""
    reader = Actor(1, (Step("read"),) * 2, (Incident(chooser.randint(1, 12), Kind.STALE),))
    writer = Actor(0, (_upsert(chooser, "w"),))
    actors = (reader, writer) if chooser.random() < 0.7 else (reader,)
    return History(seed, has_logs=chooser.random() < 0.3, actors=actors)


def _columns_at_once(seed: int, chooser: random.Random) -> History:
    """Writers beside each other bring a column each."""
    cast = tuple((_upsert(chooser, name, column=name),) for name in ("one", "two"))
    return _history(seed, chooser, cast, suspended=0.2, lock=chooser.choice(LOCKS[:2]))


def _lock_deleted(seed: int, chooser: random.Random) -> History:
    """One who did not get the lock deletes that of a suspended holder, and a third takes it."""
    loser = Step("loser of the lock", None, 50)
    at, span_ms = chooser.randint(12, 26), chooser.choice((300, 2_500))
    actors = (
        Actor(0, (_upsert(chooser, "w"),), (Incident(at, Kind.PAUSES_BEFORE, span_ms),)),
        Actor(1, (loser,) * 4),
        Actor(2, (replace(_upsert(chooser, "v"), rest_ms=chooser.choice((60, 110, 160))),)),
    )
    return History(seed, has_logs=chooser.random() < 0.3, actors=actors, lock=_FILE_LOCK)


def _lease_outlived(seed: int, chooser: random.Random) -> History:
    """A writer is suspended for longer than its lease while another writes the same file."""
    rows = {("x", "a"): "w"}, {("x", "b"): "v"}
    first, second = (Step("upsert", Asked(Operation.UPSERT, each)) for each in rows)
    incident = Incident(chooser.randint(20, 50), Kind.PAUSES_BEFORE, 20_000)
    actors = Actor(0, (first,), (incident,)), Actor(1, (replace(second, rest_ms=200),))
    return History(seed, has_logs=False, actors=actors, lock=LOCKS[1], commits_before=1)


def _overtaken_elsewhere(seed: int, chooser: random.Random) -> History:
    """A writer is suspended at its commit past its lease, while another writes other files."""
    rows = {("x", "a"): "w"}, {("y", "b"): "v"}
    first, second = (Step("upsert", Asked(Operation.UPSERT, each)) for each in rows)
    incident = Incident(chooser.randint(33, 38), Kind.PAUSES_BEFORE, 20_000)
    actors = Actor(0, (first,), (incident,)), Actor(1, (replace(second, rest_ms=300),))
    has_logs = chooser.random() < 0.5
    return History(seed, has_logs=has_logs, actors=actors, lock=LOCKS[1], commits_before=1)


_SCENES: tuple[Callable[[int, random.Random], History], ...] = (
    _planned_beside_a_write,
    _runs_of_one_plan,
    _cleaned_beside_a_reader,
    _cleaned_after_a_savepoint,
    _cleaned_by_two,
    _archived_by_two,
    _new_keys_at_once,
    _answers_lost,
    _clocks_alike,
    _listings_behind,
    _columns_at_once,
    _lock_deleted,
    _lease_outlived,
    _overtaken_elsewhere,
)
