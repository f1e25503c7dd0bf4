"""Ordering values of deletes, for one column and for several."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.logfile.deletes.blocks import OrderingKind
from pyhudi.logfile.deletes.orderings import ordering_values
from tests.support.log_files import array_deletes, deletes

DAY = datetime.date(2026, 1, 2)


def values_of(found: tuple[pa.Array, ...]) -> list[list]:
    return [column.to_pylist() for column in found]


def test_a_value_of_the_columns_type_is_compared_others_are_not() -> None:
    made = deletes(
        ("a", OrderingKind.LONG, 5),
        ("b", OrderingKind.INT, 5),
        ("c", OrderingKind.INT, 0),
        ("d", OrderingKind.NONE, None),
    )
    assert values_of(ordering_values(made, [pa.int64()])) == [[5, None, None, None]]
    assert values_of(ordering_values(made, [pa.int32()])) == [[None, 5, None, None]]


def test_several_values_are_compared_column_by_column() -> None:
    made = array_deletes(
        ("a", [(OrderingKind.LONG, 5), (OrderingKind.STRING, "x")]),
        ("b", [(OrderingKind.LONG, 6), (OrderingKind.STRING, "y")]),
    )
    assert values_of(ordering_values(made, [pa.int64(), pa.string()])) == [[5, 6], ["x", "y"]]


def test_the_integer_0_among_several_is_a_value() -> None:
    made = array_deletes(("a", [(OrderingKind.INT, 0), (OrderingKind.INT, 0)]))
    assert values_of(ordering_values(made, [pa.int32(), pa.int32()])) == [[0], [0]]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([(OrderingKind.LONG, 5), (OrderingKind.INT, 5)], id="another_type"),
        pytest.param([(OrderingKind.LONG, 5), None], id="null"),
        pytest.param([(OrderingKind.LONG, 5)], id="too_few"),
        pytest.param([], id="none"),
    ],
)
def test_deletes_without_a_value_for_each_column_are_not_compared(given: list) -> None:
    whole = ("b", [(OrderingKind.LONG, 7), (OrderingKind.LONG, 8)])
    found = ordering_values(array_deletes(("a", given), whole), [pa.int64(), pa.int64()])
    assert values_of(found) == [[None, 7], [None, 8]]


@pytest.mark.parametrize("columns", [1, 3])
def test_arrays_for_another_number_of_columns_are_not_compared(columns: int) -> None:
    made = array_deletes(("a", [(OrderingKind.LONG, 5), (OrderingKind.LONG, 6)]))
    assert values_of(ordering_values(made, [pa.int64()] * columns)) == [[None]] * columns


def test_single_values_are_not_compared_with_several_columns() -> None:
    found = ordering_values(deletes(("a", OrderingKind.LONG, 5)), [pa.int64(), pa.int64()])
    assert values_of(found) == [[None], [None]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (OrderingKind.LOCAL_DATE, DAY),
        (OrderingKind.DATE, DAY),
        (OrderingKind.INT, (DAY - datetime.date(1970, 1, 1)).days),
    ],
)
def test_dates_are_compared_however_they_are_written(kind: OrderingKind, value: object) -> None:
    made = array_deletes(("a", [(kind, value), (OrderingKind.LONG, 1)]))
    assert values_of(ordering_values(made, [pa.date32(), pa.int64()])) == [[DAY], [1]]


def test_no_ordering_column_has_no_values() -> None:
    assert ordering_values(deletes(("a", OrderingKind.LONG, 5)), []) == ()
    many = deletes(*((str(n), OrderingKind.LONG, n) for n in range(5)))
    assert np.array_equal(ordering_values(many, [pa.int64()])[0].to_numpy(), np.arange(5))
