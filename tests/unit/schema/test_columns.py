"""Columns as arrays that rows are chosen and ordered with."""

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.schema.columns import flags_of, order_of

VALUES = pa.array([True, None, False, True])


@pytest.mark.parametrize(
    ("column", "flags"),
    [
        pytest.param(VALUES, [True, False, False, True], id="array"),
        pytest.param(VALUES.slice(1, 2), [False, False], id="slice"),
        pytest.param(pa.chunked_array([VALUES[3:], VALUES[:2]]), [True, True, False], id="chunks"),
        pytest.param(pa.chunked_array([], pa.bool_()), [], id="no_chunks"),
    ],
)
def test_null_is_no_and_the_flags_may_be_changed(column, flags) -> None:
    found = flags_of(column)
    assert (found.dtype, found.tolist()) == (bool, flags)
    found[:] = True
    assert flags_of(column).tolist() == flags


@pytest.mark.parametrize(
    "codes",
    [[], [3, 0, 65535, 0, 3], [3, 0, 65536, 0, 3], [1, -1, 4464, -2, -1]],
    ids=["none", "16 bits", "17 bits", "negative"],
)
def test_positions_come_in_the_order_of_the_codes_equal_ones_as_they_came(codes) -> None:
    expected = sorted(range(len(codes)), key=lambda place: codes[place])
    assert order_of(np.array(codes, dtype=np.int32)).tolist() == expected
