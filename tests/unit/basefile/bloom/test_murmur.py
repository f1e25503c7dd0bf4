import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.basefile.bloom.murmur import key_groups
from pyhudi.errors import RecordKeyError


def _hash(key: str, seed: int) -> int:
    (group,) = key_groups(pa.array([key]))
    seeds = np.array([seed], dtype=np.uint32)
    group.hashes(seeds)
    return int(seeds.view(np.int32)[0])


@pytest.mark.parametrize(
    ("key", "seed", "expected"),
    [
        ("a", 0, -1838653602),
        ("a", 7, -68444624),
        ("ab", 0, 1525573013),
        ("abc", 0, 1775488903),
        ("abc", 7, 110606552),
        ("key1", 0, -763656453),
        ("key1", 7, 1166761119),
        ("日本", 0, 659168028),
        ("日本", 7, -1426113915),
        ("id:1,name:x", 0, -671429302),
        ("id:1,name:x", 7, 1551269388),
    ],
)
def test_hash_is_the_one_hudi_printed(key, seed, expected):
    assert _hash(key, seed) == expected


@pytest.mark.parametrize("keys", [["a", None], ["", "a"]], ids=["null", "empty"])
def test_row_without_a_key_is_refused(keys):
    with pytest.raises(RecordKeyError, match="1 of 2 record keys"):
        list(key_groups(pa.array(keys)))


@given(st.lists(st.text(min_size=1, max_size=12), max_size=30), st.integers(0, 5))
def test_a_key_hashes_alike_alone_and_among_others(keys, start):
    sliced = pa.array(keys, pa.large_string()).slice(start)
    found: dict[int, int] = {}
    for group in key_groups(sliced):
        seeds = np.full(len(group.rows), 3, dtype=np.uint32)
        group.hashes(seeds)
        found.update(zip(group.rows.tolist(), seeds.view(np.int32).tolist(), strict=True))
    assert found == {row: _hash(key, 3) for row, key in enumerate(keys[start:])}
