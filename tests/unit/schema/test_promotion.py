from __future__ import annotations

import pyarrow as pa
import pytest

from pyhudi.schema.promotion import can_become, must_fit


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_change_their_unit_but_never_gain_or_lose_a_zone(unit):
    assert can_become(pa.timestamp(unit, "Asia/Tokyo"), pa.timestamp("us", "UTC"))
    assert not can_become(pa.timestamp(unit), pa.timestamp("us", "UTC"))


@pytest.mark.parametrize(
    ("precision", "scale", "expected"), [(6, 3, True), (5, 3, False), (9, 1, False)]
)
def test_decimal_keeps_its_digits_on_both_sides(precision, scale, expected):
    assert can_become(pa.decimal128(5, 2), pa.decimal128(precision, scale)) is expected


def test_only_integers_that_become_floats_are_rounded():
    assert not must_fit(pa.int64(), pa.float64())
    assert must_fit(pa.timestamp("ns"), pa.timestamp("us"))
