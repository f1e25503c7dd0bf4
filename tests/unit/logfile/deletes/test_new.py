"""Delete records as writers make them."""

import datetime

import pyarrow as pa
import pytest

from pyhudi.errors import UnsupportedError
from pyhudi.logfile.deletes.blocks import OrderingKind, decode_deletes, encode_deletes
from pyhudi.logfile.deletes.new import (
    joined_deletes,
    kept_deletes,
    ordered_deletes,
    unconditional_deletes,
)
from pyhudi.logfile.deletes.orderings import ordering_values

KEYS = pa.array(["a", "b"])
DAY = datetime.date(2026, 1, 2)


def written(deletes):
    """The deletes as they come back from a block."""
    return decode_deletes(encode_deletes(deletes), where="the block")


def test_deletes_without_ordering_columns_have_the_integer_0() -> None:
    for made in (unconditional_deletes(KEYS, "p"), ordered_deletes(KEYS, "p", [])):
        found = written(made)
        assert (found.keys, found.partitions.to_pylist()) == (KEYS, ["p", "p"])
        assert found.orderings[OrderingKind.INT].to_pylist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.int64(), [1, 2**40]),
        (pa.float64(), [0.5, -1.0]),
        (pa.string(), ["x", "y"]),
        (pa.date32(), [DAY, DAY]),
        (pa.timestamp("us", "UTC"), [7, 8]),
    ],
)
def test_the_value_of_one_ordering_column_is_kept(column: pa.DataType, values: list) -> None:
    given = pa.array(values, column)
    assert ordering_values(written(ordered_deletes(KEYS, "p", [given])), [column]) == (given,)


def test_values_of_several_ordering_columns_are_kept_together() -> None:
    first, second = pa.array([1, 2], pa.int64()), pa.array(["x", "y"])
    found = written(ordered_deletes(KEYS, "p", [first, second]))
    assert found.kinds.tolist() == [OrderingKind.ARRAY] * 2
    assert ordering_values(found, [pa.int64(), pa.string()]) == (first, second)


def test_deletes_without_a_value_are_not_compared() -> None:
    gap = pa.array([1, None], pa.int64())
    assert written(ordered_deletes(KEYS, "p", [gap])).kinds.tolist() == [OrderingKind.LONG, 0]
    found = written(ordered_deletes(KEYS, "p", [pa.array(["x", "y"]), gap]))
    compared = ordering_values(found, [pa.string(), pa.int64()])
    assert [column.to_pylist() for column in compared] == [["x", None], [1, None]]


def test_joined_deletes_keep_what_each_has() -> None:
    several = ordered_deletes(KEYS, "p", [pa.array([1, 2], pa.int64()), pa.array(["x", "y"])])
    single = unconditional_deletes(pa.array(["c"]), "q")
    found = written(joined_deletes([several, single]))
    assert found.keys.to_pylist() == ["a", "b", "c"]
    assert found.partitions.to_pylist() == ["p", "p", "q"]
    assert found.kinds.tolist() == [OrderingKind.ARRAY, OrderingKind.ARRAY, OrderingKind.INT]
    assert found.orderings[OrderingKind.INT].to_pylist() == [None, None, 0]
    compared = ordering_values(found, [pa.int64(), pa.string()])
    assert [column.to_pylist() for column in compared] == [[1, 2, None], ["x", "y", None]]


def test_values_that_delete_blocks_do_not_know_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="the ordering column has the type list"):
        ordered_deletes(KEYS, "p", [pa.array([[1], [2]])])


def test_deletes_that_are_written_again_are_compared_as_before() -> None:
    gap = pa.array([None, 7], pa.int64())
    found = written(kept_deletes(KEYS, "p", [gap]))
    assert found.keys.to_pylist() == ["a", "b"]
    assert found.kinds.tolist() == [OrderingKind.INT, OrderingKind.LONG]
    assert ordering_values(found, [pa.int64()]) == (gap,)
    assert written(kept_deletes(KEYS, "p", [])).kinds.tolist() == [OrderingKind.INT] * 2
