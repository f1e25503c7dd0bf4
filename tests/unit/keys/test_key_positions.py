"""Keys of stored rows among those of incoming records."""

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.keys import key_positions as key_places
from pyhudi.keys.key_positions import KeyPositions


def found(keys: list[str], asked: list[str | None]) -> dict[int, int]:
    rows, places = KeyPositions(pa.array(keys, pa.string())).find(
        pa.chunked_array([asked[:2], asked[2:]], pa.string())
    )
    assert np.array_equal(rows, np.sort(rows))
    assert len(set(rows.tolist())) == len(rows)
    return dict(zip(rows.tolist(), places.tolist(), strict=True))


def wanted(keys: list[str], asked: list[str | None]) -> dict[int, int]:
    places = {key: place for place, key in enumerate(keys)}
    return {row: places[key] for row, key in enumerate(asked) if key in places}


@pytest.fixture(params=["few", "many"], autouse=True)
def _threshold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are looked up by Arrow, or by their hashes."""
    monkeypatch.setattr(key_places, "MANY_KEYS", 1 << 30 if request.param == "few" else 0)


@pytest.mark.parametrize("seed", range(10))
def test_keys_are_found_where_they_stand(seed: int) -> None:
    chance = random.Random(seed)
    keys = [f"id:{n},ü" for n in chance.sample(range(100), chance.randint(1, 60))]
    asked = [chance.choice([None, f"id:{chance.randrange(100)},ü"]) for _ in range(80)]
    assert found(keys, asked) == wanted(keys, asked)


def test_keys_of_one_hash_are_told_apart() -> None:
    # In Java "Aa" and "BB" have one hash, and so has whatever is made of as many of them.
    alike = ["".join(pair) for pair in itertools.product(["Aa", "BB"], repeat=4)]
    keys, asked = ["x", *alike[:12], "y"], [*alike, "BB", "y", None, "BB"]
    assert found(keys, asked) == wanted(keys, asked)
    # And many of them.
    alike = ["".join(pair) for pair in itertools.product(["Aa", "BB"], repeat=6)]
    assert found(alike, alike[::-1]) == wanted(alike, alike[::-1])


def test_nothing_is_found_among_no_keys_and_by_none() -> None:
    assert found(["a"], []) == {}
    assert found([], ["a", "b"]) == {}
