import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.schema.evolution.casting import cast_values, misfits

D = Decimal


@pytest.mark.parametrize(
    ("values", "found", "wanted", "fits"),
    [
        ([1, 2**40, None, -(2**31)], pa.int64(), pa.int32(), [1, 0, 1, 1]),
        ([99999999, 2**31 - 1, None], pa.int32(), pa.decimal128(10, 2), [1, 0, 1]),
        ([1e20, float("nan"), None, 1e-300], pa.float64(), pa.decimal128(10, 2), [0, 0, 1, 1]),
        ([D("1.23"), D("123.00"), None], pa.decimal128(20, 2), pa.decimal128(4, 2), [1, 0, 1]),
        ([D("1.23"), D("1.20"), None], pa.decimal128(20, 2), pa.decimal128(5, 1), [0, 1, 1]),
        (["2026-01-02", "x", None, "2026-02-30"], pa.string(), pa.date32(), [1, 0, 1, 0]),
        (["1.5", "x", None, "9" * 20], pa.string(), pa.decimal128(5, 2), [1, 0, 1, 0]),
        ([b"a", b"\xff", None], pa.binary(), pa.string(), [1, 0, 1]),
        ([0, 2**62, None, -(2**62)], pa.timestamp("s"), pa.timestamp("us"), [1, 0, 1, 0]),
        ([1000, 1001, None, -1], pa.timestamp("ns"), pa.timestamp("us"), [1, 0, 1, 0]),
        ([1, 2, None], pa.int32(), pa.string(), [1, 1, 1]),
    ],
    ids=str,
)
def test_values_that_do_not_fit_are_found_and_the_others_can_be_cast(values, found, wanted, fits):
    array = pa.array(values, found)
    bad = misfits(array, wanted)
    assert bad.tolist() == [not each for each in fits]
    assert cast_values(array.filter(pa.array(~bad)), wanted).type == wanted
    assert misfits(array.dictionary_encode(), wanted).tolist() == bad.tolist()


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_longs_fit_an_int_column_as_far_as_it_goes(values):
    bad = misfits(pa.array(values, pa.int64()), pa.int32())
    assert bad.tolist() == [v is not None and not -(2**31) <= v < 2**31 for v in values]


_DECIMALS = st.decimals(-99999, 99999, places=3, allow_nan=False)


@given(st.lists(st.none() | _DECIMALS), st.integers(1, 7), st.integers(0, 4))
def test_decimals_fit_when_no_digit_is_lost(values, whole, scale):
    found, wanted = pa.decimal128(10, 3), pa.decimal128(whole + scale, scale)
    bad = misfits(pa.array(values, found), wanted)
    assert bad.tolist() == [
        v is not None and (abs(v) >= 10**whole or v != round(v, scale)) for v in values
    ]


@given(st.lists(st.none() | st.dates() | st.text(max_size=5), max_size=20))
def test_texts_that_are_no_dates_are_found_wherever_they_are(values):
    texts = [v.isoformat() if isinstance(v, dt.date) else v for v in values]
    bad = misfits(pa.array(texts, pa.string()), pa.date32())
    assert bad.tolist() == [isinstance(v, str) for v in values]


@given(st.lists(st.none() | st.floats(width=32)))
def test_a_float_becomes_the_double_of_the_same_text(values):
    found = cast_values(pa.array(values, pa.float32()), pa.float64())
    expected = [None if v is None else float(str(np.float32(v))) for v in values]
    assert repr(found.to_pylist()) == repr(expected)
