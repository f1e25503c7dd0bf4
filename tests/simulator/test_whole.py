"""Histories of the whole pipeline, with the files of production: fewer, as each costs more."""

import pytest

from tests.simulator.draw import drawn
from tests.simulator.seeds import WHOLE_HISTORIES
from tests.simulator.whole import WholePlay

_A_TEST = 20
_FIRST = 50_000


@pytest.mark.parametrize("first", range(_FIRST, _FIRST + WHOLE_HISTORIES, _A_TEST))
def test_every_history_leaves_the_rows_of_its_commits(first: int) -> None:
    for seed in range(first, first + _A_TEST):
        history = drawn(seed)
        try:
            WholePlay(history).run()
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}\n\n{history}")
