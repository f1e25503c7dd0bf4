import pyarrow as pa
import pytest

from pyhudi.schema.evolution.promotion import can_become, can_widen, may_fit


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.string(), pa.date32()),
        (pa.string(), pa.decimal128(5, 2)),
        (pa.float32(), pa.decimal128(5, 2)),
        (pa.decimal128(4, 2), pa.string()),
        (pa.date32(), pa.string()),
        (pa.binary(), pa.string()),
    ],
    ids=str,
)
def test_a_batch_may_be_converted_to_types_that_a_table_does_not_turn_into(found, wanted):
    assert can_become(found, wanted)
    assert not can_widen(found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.int32(), pa.date32()),
        (pa.int64(), pa.timestamp("us", "UTC")),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.int64()),
        (pa.bool_(), pa.int32()),
        (pa.bool_(), pa.string()),
        (pa.string(), pa.int32()),
        (pa.float64(), pa.float32()),
    ],
    ids=str,
)
def test_types_of_another_meaning_are_never_converted(found, wanted):
    assert not may_fit(found, wanted)
    assert not can_widen(found, wanted)


def test_wider_numbers_may_fit_a_narrower_column():
    assert may_fit(pa.int64(), pa.int32())
    assert may_fit(pa.decimal128(10, 4), pa.decimal128(5, 2))
    assert not can_become(pa.int64(), pa.int32())
    assert not can_become(pa.decimal128(10, 4), pa.decimal128(5, 2))


@pytest.mark.parametrize(
    ("precision", "scale", "expected"), [(11, 2, True), (12, 2, False), (11, 3, False)]
)
def test_a_decimal_column_gains_whole_digits_that_its_bytes_hold(precision, scale, expected):
    found, wanted = pa.decimal128(10, 2), pa.decimal128(precision, scale)
    assert can_widen(found, wanted) is expected
    assert can_become(found, wanted)
