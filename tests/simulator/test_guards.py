"""Without any one guard histories that nobody wrote down show that it is missing."""

import pytest

from tests.simulator.draw import drawn
from tests.simulator.guards import BY_NAME
from tests.simulator.seeds import problem_of

_MINUTE = 3_000
"""Histories that one process plays in a minute, whatever else the machine does."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_seeds_find_within_a_minute_that_it_is_missing(name: str) -> None:
    with BY_NAME[name].taken_out():
        assert any(problem_of(drawn(seed)) for seed in range(_MINUTE))
