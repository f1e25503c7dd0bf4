"""Which row of a batch stands for its key, and which of two versions is newer."""

import datetime as dt
import decimal
import math
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import RequestError
from pyhudi.merge.ordering import (
    ordering_columns,
    sortable,
    stored_is_newer,
    surviving_positions,
)
from pyhudi.schema.columns import field_at

ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-3, 3)), max_size=40)
PAIRS = st.tuples(st.one_of(st.none(), st.integers(0, 2)), st.one_of(st.none(), st.integers(0, 2)))


def java_order(value: float) -> int:
    """The place of a double in the order of java.lang.Double.compare."""
    bits = struct.unpack(">q", struct.pack(">d", math.nan if math.isnan(value) else value))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


def test_a_batch_of_distinct_keys_is_left_alone():
    assert surviving_positions(pa.array(["a", "b", "c"]), ()) is None


def test_without_an_ordering_field_the_last_row_of_a_key_stands():
    assert surviving_positions(pa.array(["a", "b", "a"]), ()).tolist() == [1, 2]


def test_a_second_ordering_field_decides_where_the_first_is_equal():
    keys = pa.array(["a", "a", "a"])
    assert surviving_positions(keys, [pa.array([5, 5, 4]), pa.array([2, 1, 9])]).tolist() == [0]


@given(ROWS)
def test_survivors_agree_with_a_plain_statement_of_the_rule(rows):
    best: dict[str, int] = {}
    for position, (key, value) in enumerate(rows):
        if key not in best or value >= rows[best[key]][1]:
            best[key] = position
    keys = pa.array([key for key, _ in rows], pa.string())
    found = surviving_positions(keys, [pa.array([value for _, value in rows], pa.int64())])
    assert (list(range(len(rows))) if found is None else found.tolist()) == sorted(best.values())


def test_a_row_without_ordering_value_is_refused_where_its_key_has_others():
    keys = pa.array(["a", "b", "a", "b", "c"])
    with pytest.raises(RequestError, match=r"^2 rows have no value"):
        surviving_positions(keys, [pa.array([1, None, None, 2, None])])
    alone = surviving_positions(keys, [pa.array([1, 1, 2, 2, None])])
    assert alone is not None
    assert alone.tolist() == [2, 3, 4]


@given(st.lists(st.tuples(PAIRS, PAIRS)))
def test_a_stored_row_is_newer_when_its_values_are_greater_up_to_the_first_null(rows):
    def is_newer(stored, incoming) -> bool:
        for ours, theirs in zip(stored, incoming, strict=True):
            if ours is None or theirs is None:
                return False
            if ours != theirs:
                return ours > theirs
        return False

    sides = [
        [pa.array([row[side][place] for row in rows], pa.int32()) for place in (0, 1)]
        for side in (0, 1)
    ]
    expected = [is_newer(stored, incoming) for stored, incoming in rows]
    assert stored_is_newer(*sides).tolist() == expected


@given(st.lists(st.tuples(st.floats(), st.floats())))
def test_floating_point_numbers_are_in_the_order_of_java(pairs):
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    found = stored_is_newer([pa.array(left, pa.float64())], [pa.array(right, pa.float64())])
    assert found.tolist() == [java_order(ours) > java_order(theirs) for ours, theirs in pairs]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (False, True),
        ("\uffff", "\U00010000"),
        (decimal.Decimal("9.50"), decimal.Decimal("10.00")),
        (dt.date(1969, 12, 31), dt.date(1970, 1, 1)),
        (dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), dt.datetime.now(dt.timezone.utc)),
    ],
)
def test_values_of_every_kind_have_their_order(less, more):
    stored, incoming = pa.array([less, more, more, None]), pa.array([more, less, more, less])
    assert stored_is_newer([stored], [incoming]).tolist() == [False, True, False, False]


def test_dictionaries_are_compared_by_their_values():
    encoded = pa.array(["b", "a", "b"]).dictionary_encode()
    assert sortable(pa.chunked_array([encoded])).to_pylist() == ["b", "a", "b"]


def test_an_ordering_field_may_lie_in_a_struct():
    rows = pa.table({"s": pa.array([{"at": {"ts": 4}}, {"at": None}, None])})
    assert field_at(rows.schema, "s.at.ts") == pa.field("ts", pa.int64())
    assert field_at(rows.schema, "s.at.no") is None
    assert field_at(rows.schema, "no") is None
    assert field_at(rows.schema, "s.at.ts.more") is None
    assert ordering_columns(rows, ["s.at.ts"])[0].to_pylist() == [4, None, None]
