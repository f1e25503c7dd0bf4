"""Boolean columns as arrays that rows are chosen with."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyhudi.schema.columns import flags_of

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
    assert found.dtype == bool
    assert found.tolist() == flags
    found[:] = True
    assert flags_of(column).tolist() == flags
