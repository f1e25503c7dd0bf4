"""Aligned columns and rows of one key become one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.merge.choice import choose, filled, fold

KINDS = {
    "decimals": pa.array([None, 1, 2, None], pa.decimal128(5, 1)),
    "structs": pa.array([None, {"x": None}, {"x": 2}, {"x": 3}]),
    "lists": pa.array([None, [], [1, None], [2]]),
    "maps": pa.array([None, [], [("k", 1)], [("k", None)]], pa.map_(pa.string(), pa.int64())),
    "texts": pa.array([None, "", "b", "c"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_kind_can_be_chosen_and_filled(kind: str) -> None:
    first = KINDS[kind]
    second = first.take(pa.array([3, 2, 1, 0]))
    flags = np.array([True, False, False, True])
    values, others = first.to_pylist(), second.to_pylist()
    found = choose(first, pa.chunked_array([second.slice(0, 1), second.slice(1)]), flags)
    assert found.to_pylist() == [values[0], others[1], others[2], values[3]]
    expected = [b if a is None else a for a, b in zip(values, others, strict=True)]
    assert filled(first, second).to_pylist() == expected


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40))
def test_folding_meets_the_rows_of_each_key_in_their_order(keys: list[str]) -> None:
    rows = pa.table({"key": keys, "path": [[number] for number in range(len(keys))]})

    def step(before: pa.Table, after: pa.Table) -> pa.Table:
        pairs = zip(before["path"].to_pylist(), after["path"].to_pylist(), strict=True)
        return after.set_column(1, "path", pa.array([a + b for a, b in pairs]))

    found = fold(rows, rows["key"], step).to_pylist()
    expected: dict[str, list[int]] = {}
    for number, key in enumerate(keys):
        expected[key] = [*expected.pop(key, []), number]
    assert [(row["key"], row["path"]) for row in found] == list(expected.items())
