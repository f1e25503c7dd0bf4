"""Histories by their seeds: played, and told when they fail."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulator.draw import VERSIONS, drawn
from tests.simulator.history import History
from tests.simulator.play import Play
from tests.simulator.shrink import shrunk
from tests.simulator.world import StuckError
from tests.support.points import STEP

HISTORIES = 10_000 if STEP == 1 else 1_000
"""How many histories `make test` plays, and `make unit`."""
WHOLE_HISTORIES = 200 if STEP == 1 else 20
"""How many of those with real files."""


def asked_seeds() -> range | None:
    """The seeds that PYHUDI_SEEDS asks for, as 500-529 or 500; None where it asks for none."""
    asked = os.environ.get("PYHUDI_SEEDS")
    if not asked:
        return None
    first, _, last = asked.partition("-")
    return range(int(first), int(last or first) + 1)


@dataclass
class Told:
    """What came of histories.

    ``outcomes`` counts steps by what they are and what came of them.
    """

    histories: int = 0
    calls: int = 0
    commits: int = 0
    conflicts: int = 0
    deaths: int = 0
    beyond: int = 0
    late: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def note(self, play: Play) -> None:
        """Count a history that has been played."""
        self.histories += 1
        self.calls += play.world.calls
        self.beyond += play.is_beyond
        self.late += play.truth.late_ones
        for each in play.outcomes:
            if each.process.number > 90:
                continue
            result, error = each.result, each.error
            came = result.status if result else type(error).__name__ if error else "ended"
            if each.is_over is False:
                came, self.deaths = "died", self.deaths + 1
            self.outcomes[each.step.kind, came] += 1
            if each.step.asked is not None and came == "committed":
                self.commits += 1
            self.conflicts += (result.conflicts or 0) if result else 0


def problem_of(history: History, told: Told | None = None) -> str | None:
    """What is found wrong with a history; None for nothing."""
    play = Play(history)
    try:
        play.run()
    except (AssertionError, StuckError) as error:
        return str(error) or type(error).__name__
    except Exception as error:  # noqa: BLE001 - whatever it is, the history has found it
        return f"{type(error).__name__}: {error}"
    finally:
        if told is not None:
            told.note(play)
    return None


def play_seeds(seeds: Iterable[int], told: Told, versions: tuple[int, ...] = VERSIONS) -> None:
    """Play histories one after another, on tables of these versions."""
    for seed in seeds:
        problem = problem_of(drawn(seed, versions), told)
        if problem is not None:
            told.failures.append((seed, problem))


def described(seed: int, problem: str, versions: tuple[int, ...] = VERSIONS) -> str:
    """A failure in full: the smallest history that fails, its calls, and how to play it again."""
    history = drawn(seed, versions)
    asked = "" if versions == VERSIONS else "".join(f" --version {each}" for each in versions)
    small = shrunk(history, lambda each: problem_of(each) is not None)
    play = Play(small, is_traced=True)
    try:
        play.run()
    except Exception as error:  # noqa: BLE001 - it is to fail
        problem = f"{problem}\n\nand, made smaller, {error}"
    return "\n".join(
        (
            f"seed {seed}: {problem}",
            "",
            str(small),
            "",
            *(play.world.trace or ()),
            "",
            f"again: .venv/bin/python -m tests.simulator --seeds {seed}{asked}",
        )
    )
