"""Random histories: whatever their processes do and whatever befalls them, the table is right."""

import pytest

from tests.simulator.draw import drawn
from tests.simulator.play import Play
from tests.simulator.seeds import HISTORIES, Told, asked_seeds, described, play_seeds
from tests.simulator.shrink import shrunk

_A_TEST = 250


def shares() -> list[range]:
    """The seeds to play, cut into what one test plays."""
    seeds = asked_seeds() or range(HISTORIES)
    return [seeds[first : first + _A_TEST] for first in range(0, len(seeds), _A_TEST)]


@pytest.mark.parametrize("seeds", shares(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_every_history_leaves_the_rows_of_its_commits(seeds: range) -> None:
    told = Told()
    play_seeds(seeds, told)
    if told.failures:
        pytest.fail(described(*told.failures[0]))
    assert told.calls > 20 * len(seeds)


def test_a_seed_is_one_history() -> None:
    traces = []
    for _ in range(2):
        play = Play(drawn(7), is_traced=True)
        play.run()
        traces.append(play.world.trace)
    assert traces[0] == traces[1]


def test_a_history_that_fails_is_made_smaller() -> None:
    history = next(
        found for found in map(drawn, range(100)) if len(found.actors) == 4 and found.commits_before
    )
    small = shrunk(history, lambda each: any(actor.host for actor in each.actors))
    assert len(small.actors) == 1
    assert small.commits_before == 0
