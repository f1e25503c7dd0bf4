"""The harness itself: what it unpacks, and the one text form that rows are compared in."""

import datetime
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.golden import (
    expected_rows,
    golden_copy,
    golden_names,
    golden_queries,
    golden_table,
    row_texts,
    without,
)

MOMENT = datetime.datetime.fromisoformat("0987-01-02T03:04:05.000006")

TEXTS = {
    "null": (pa.array([None], pa.int32()), "null"),
    "boolean": (pa.array([True]), "true"),
    "long": (pa.array([2**63 - 1]), "9223372036854775807"),
    "double": (pa.array([0.1]), "0.1"),
    "float_widened_to_double": (pa.array([0.1], pa.float32()), "0.10000000149011612"),
    "nan": (pa.array([float("nan")]), '"NaN"'),
    "minus_infinity": (pa.array([float("-inf")]), '"-Infinity"'),
    "decimal_keeps_its_scale": (pa.array([Decimal("12.3")], pa.decimal128(9, 3)), '"12.300"'),
    "string": (pa.array(['é"\\']), '"é\\"\\\\"'),
    "dictionary": (pa.array(["a"]).dictionary_encode(), '"a"'),
    "binary": (pa.array([b"\x00\xff"]), '"00ff"'),
    "date": (pa.array([datetime.date(2020, 1, 31)]), '"2020-01-31"'),
    "timestamp": (pa.array([MOMENT], pa.timestamp("us", "UTC")), '"0987-01-02T03:04:05.000006Z"'),
    "timestamp_without_zone": (
        pa.array([MOMENT], pa.timestamp("us")),
        '"0987-01-02T03:04:05.000006"',
    ),
    "list": (pa.array([[1, None]]), "[1,null]"),
    "map_of_text": (pa.array([[("b", 1), ("a", 2)]], pa.map_("string", "int32")), '{"a":2,"b":1}'),
    "map_of_numbers": (pa.array([[(10, 1), (9, 2)]], pa.map_("int32", "int32")), "[[10,1],[9,2]]"),
    "struct": (pa.array([{"x": Decimal("1.5")}]), '{"x":"1.5"}'),
}


@pytest.mark.parametrize(("column", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_a_value_of_each_type_has_one_text(column: pa.Array, text: str) -> None:
    assert row_texts(pa.table({"v": column})) == [f'{{"v":{text}}}']


def test_the_rows_of_a_base_file_have_the_text_of_the_expected_rows() -> None:
    (file,) = golden_table("v6_cow_default_bloom").rglob("*.parquet")
    rows = row_texts(pq.read_table(file, partitioning=None))
    assert rows == expected_rows("v6_cow_default_bloom")


def test_every_table_has_a_snapshot_unless_hudi_cannot_read_it() -> None:
    without_snapshot = [n for n in golden_names() if "snapshot" not in golden_queries(n)]
    assert without_snapshot == ["v6_cow_custom_keygen_long", "v9_cow_custom_keygen_long"]


def test_where_versions_of_hudi_differ_the_newer_answer_counts() -> None:
    (first, *_) = expected_rows("v6_cow_timestamp_keygen")
    assert json.loads(first)["moment"] == "1700000000000"


def test_a_copy_can_be_changed_and_the_table_stays(tmp_path) -> None:
    copy = golden_copy("v6_cow_empty", tmp_path)
    (copy / ".hoodie" / "hoodie.properties").unlink()
    assert (golden_table("v6_cow_empty") / ".hoodie" / "hoodie.properties").exists()


def test_columns_can_be_left_out_of_row_texts() -> None:
    assert without(['{"a":1,"b":2}'], "a") == ['{"b":2}']


def test_an_unknown_table_is_named_with_those_there_are() -> None:
    with pytest.raises(LookupError, match="no golden table nowhere; there are v6_cow_all_deleted"):
        golden_table("nowhere")
