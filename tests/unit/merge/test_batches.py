"""Which row of a batch stands for its key, and which of two versions wins."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.merge.batches import incoming_wins, surviving_positions

ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-3, 3)), max_size=40)


def test_a_batch_of_distinct_keys_is_left_alone():
    assert surviving_positions(pa.array(["a", "b", "c"]), None) is None


def test_without_an_ordering_field_the_last_row_of_a_key_stands():
    assert surviving_positions(pa.array(["a", "b", "a"]), None).tolist() == [1, 2]


def test_the_highest_ordering_value_stands():
    keys, ordering = pa.array(["a", "b", "a"]), pa.array([7, 1, 3])
    assert surviving_positions(keys, ordering).tolist() == [0, 1]


def test_of_equal_ordering_values_the_last_row_stands():
    keys, ordering = pa.array(["a", "a", "a"]), pa.array([7, 7, 3])
    assert surviving_positions(keys, ordering).tolist() == [1]


@given(ROWS)
def test_survivors_agree_with_a_plain_statement_of_the_rule(rows):
    best: dict[str, int] = {}
    for position, (key, value) in enumerate(rows):
        if key not in best or value >= rows[best[key]][1]:
            best[key] = position
    keys = pa.array([key for key, _ in rows], pa.string())
    found = surviving_positions(keys, pa.array([value for _, value in rows], pa.int64()))
    expected = sorted(best.values())
    assert (list(range(len(rows))) if found is None else found.tolist()) == expected


def test_a_stored_row_gives_way_unless_its_ordering_value_is_greater():
    wins = incoming_wins(pa.array([5, 5, 5, 5]), pa.array([4, 5, 6, None]))
    assert wins.to_pylist() == [True, True, False, True]
