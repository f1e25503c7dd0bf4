"""Row groups that a condition rules out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.condition import RowCondition, matching_row_groups

SCHEMA = pa.schema([("qty", pa.int64()), ("part", pa.string())])
QTY, PART = pc.field("qty"), pc.field("part")


def file_of(table: pa.Table) -> pa.NativeFile:
    """A Parquet file of ten rows a row group."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=10)
    return pa.BufferReader(sink.getvalue())


@pytest.mark.parametrize(
    ("filters", "groups"),
    [
        pytest.param(QTY >= 25, [2], id="range"),
        pytest.param(QTY.isin([3, 14]), [0, 1], id="one_of"),
        pytest.param(QTY > 2**40, [], id="none"),
        pytest.param(PART == "x", [0, 1, 2], id="column_the_file_has_not"),
    ],
)
def test_row_groups_are_ruled_out_by_their_statistics(
    filters: pc.Expression, groups: list[int]
) -> None:
    older = pa.table({"qty": pa.array(range(30), pa.int32())})
    column = "part" if "part" in str(filters) else "qty"
    condition = RowCondition(expression=filters, columns=(column,), schema=SCHEMA)
    assert matching_row_groups(file_of(older), condition) == groups


def test_statistics_of_another_type_rule_nothing_out() -> None:
    older = pa.table({"part": pa.array(range(30), pa.int32())})
    condition = RowCondition(expression=PART == "5", columns=("part",), schema=SCHEMA)
    assert matching_row_groups(file_of(older), condition) is None


def test_statistics_of_floats_say_nothing_about_the_doubles_they_are_read_as() -> None:
    schema = pa.schema([("x", pa.float64())])
    older = pa.table({"x": pa.array([1.1] * 10, pa.float32())})
    condition = RowCondition(expression=pc.field("x") == 1.1, columns=("x",), schema=schema)
    assert matching_row_groups(file_of(older), condition) is None
