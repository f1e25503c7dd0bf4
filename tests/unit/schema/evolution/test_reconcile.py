import datetime as dt
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.avro import parse
from pyhudi.schema.evolution.reconcile import reconcile
from tests.support.golden import golden_names, golden_table

MICROSECOND = dt.datetime(1970, 1, 1, microsecond=1)  # noqa: DTZ001 - a local time


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(fields))


def _reconciled(values: list[object], found: pa.DataType, wanted: pa.DataType) -> list[object]:
    rows = pa.table({"c": pa.array(values, found)})
    return reconcile(rows, _schema(("c", wanted))).column("c").to_pylist()


def test_missing_column_is_null_and_surplus_one_is_left_out():
    rows = pa.table({"gone": [1, 2], "a": [3, 4]})
    found = reconcile(rows, _schema(("new", pa.string()), ("a", pa.int64())))
    assert found.to_pydict() == {"new": [None, None], "a": [3, 4]}


def test_record_batch_stays_a_record_batch():
    batch = pa.record_batch({"a": pa.array([1], pa.int32())})
    found = reconcile(batch, _schema(("a", pa.int64()), ("b", pa.int64())))
    assert isinstance(found, pa.RecordBatch)
    assert found.to_pydict() == {"a": [1], "b": [None]}


@pytest.mark.parametrize(
    ("value", "found", "wanted", "expected"),
    [
        (7, pa.int8(), pa.int32(), 7),
        (7, pa.int32(), pa.int64(), 7),
        (7, pa.int32(), pa.float64(), 7.0),
        (2**53 + 1, pa.int64(), pa.float64(), float(2**53)),
        (1.1, pa.float32(), pa.float64(), 1.1),
        (7, pa.int32(), pa.string(), "7"),
        (1e10, pa.float64(), pa.string(), "1.0E10"),
        (7, pa.int64(), pa.decimal128(5, 2), Decimal("7.00")),
        (0.125, pa.float64(), pa.decimal128(5, 2), Decimal("0.13")),
        ("1.125", pa.string(), pa.decimal128(5, 2), Decimal("1.13")),
        (Decimal("1.50"), pa.decimal128(5, 2), pa.string(), "1.50"),
        ("2026-01-02", pa.string(), pa.date32(), dt.date(2026, 1, 2)),
        (dt.date(2026, 1, 2), pa.date32(), pa.string(), "2026-01-02"),
        (1000, pa.timestamp("ns"), pa.timestamp("us"), MICROSECOND),
        ("ü", pa.string(), pa.binary(), "ü".encode()),
        ("ü".encode(), pa.binary(), pa.string(), "ü"),
        (Decimal("1.5"), pa.decimal128(2, 1), pa.decimal128(5, 2), Decimal("1.50")),
        ("a", pa.large_string(), pa.string(), "a"),
        ("a", pa.dictionary(pa.int8(), pa.string()), pa.string(), "a"),
    ],
    ids=lambda value: str(value),
)
def test_stored_type_widens_to_the_newer_one(value, found, wanted, expected):
    assert _reconciled([value, None], found, wanted) == [expected, None]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.float64(), pa.float32()),
        (pa.string(), pa.int32()),
        (pa.int32(), pa.date32()),
        (pa.int64(), pa.timestamp("us")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.struct([("a", pa.int32())]), pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_type_that_cannot_become_another_names_the_column(found, wanted):
    rows = pa.table({"c": pa.array([None], found)})
    with pytest.raises(SchemaError, match="column c is"):
        reconcile(rows, _schema(("c", wanted)))


@pytest.mark.parametrize(
    ("value", "found", "wanted"),
    [
        (2**31, pa.int64(), pa.int32()),
        (Decimal("1000"), pa.decimal128(4, 0), pa.decimal128(5, 2)),
        (Decimal("0.125"), pa.decimal128(5, 3), pa.decimal128(5, 2)),
        ("2026-02-30", pa.string(), pa.date32()),
        (float("nan"), pa.float64(), pa.decimal128(5, 2)),
        (b"\xff", pa.binary(), pa.string()),
        (1001, pa.timestamp("ns"), pa.timestamp("us")),
    ],
    ids=str,
)
def test_value_that_does_not_fit_names_the_column_and_its_type(value, found, wanted):
    words = rf"column c holds a value .*does not fit {re.escape(str(wanted))}"
    with pytest.raises(SchemaError, match=words):
        _reconciled([value], found, wanted)


def test_null_in_a_column_that_allows_none_is_refused():
    target = pa.schema([pa.field("c", pa.int32(), nullable=False)])
    with pytest.raises(SchemaError, match="holds 1 nulls"):
        reconcile(pa.table({"c": pa.array([None], pa.int32())}), target)
    with pytest.raises(SchemaError, match="c is missing"):
        reconcile(pa.table({"d": [1]}), target)


def test_kept_dictionaries_stay_encoded():
    rows = pa.table({"c": pa.array(["a", "a"]).dictionary_encode()})
    found = reconcile(rows, _schema(("c", pa.string())), keep_dictionaries=True)
    assert pa.types.is_dictionary(found.schema.field("c").type)


def test_nested_fields_are_found_by_name_and_completed():
    found = pa.list_(pa.struct([("b", pa.int32()), ("a", pa.string())]))
    wanted = pa.list_(pa.struct([("a", pa.string()), ("b", pa.int64()), ("c", pa.date32())]))
    rows = [[{"b": 1, "a": "x"}, None], None, []]
    assert _reconciled(rows, found, wanted) == [[{"a": "x", "b": 1, "c": None}, None], None, []]


def test_maps_widen_their_values():
    found, wanted = pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())
    assert _reconciled([[("k", 1)], None, []], found, wanted) == [[("k", 1)], None, []]


_NESTED = pa.list_(
    pa.struct([("m", pa.map_(pa.string(), pa.int32())), ("l", pa.large_list(pa.float32()))])
)
_WIDER = pa.list_(
    pa.struct([("m", pa.map_(pa.string(), pa.int64())), ("l", pa.list_(pa.float64()))])
)
_MAPS = st.none() | st.lists(st.tuples(st.text(max_size=2), st.none() | st.integers(0, 9)))
_LISTS = st.none() | st.lists(st.none() | st.integers(0, 9).map(float), max_size=3)
_ELEMENT = st.none() | st.fixed_dictionaries({"m": _MAPS, "l": _LISTS})


@given(
    st.lists(st.none() | st.lists(_ELEMENT, max_size=3), max_size=8),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_slices_of_nested_rows_keep_their_values(rows, start, length):
    table = pa.table({"c": pa.array(rows, _NESTED)}).slice(start, length)
    found = reconcile(table, _schema(("c", _WIDER)))
    found.validate(full=True)
    assert found.to_pydict() == table.to_pydict()


@pytest.mark.parametrize("name", golden_names("v6_cow_types"))
def test_every_list_layout_of_hudi_reads_to_the_tables_schema(name):
    paths = sorted(golden_table(name).glob("*/*.parquet"))
    target = _avro_of(paths, name)
    for path in paths:
        rows = pq.ParquetFile(path).read()
        found = reconcile(rows, target)
        found.validate(full=True)
        assert str(found.schema) == str(target)
        assert found.to_pylist() == rows.to_pylist()


def _avro_of(paths: list[object], name: str) -> pa.Schema:
    texts = (pq.read_metadata(path).metadata.get(b"parquet.avro.schema") for path in paths)
    text = next((text for text in texts if text), None)
    if text is None:
        # The row writer leaves no Avro schema; its sister table has the same columns.
        return _avro_of(sorted(golden_table("v6_cow_types").glob("*/*.parquet")), name)
    return avro_to_arrow(parse(text.decode()))


@pytest.mark.parametrize("wrap", ["struct", "list", "map"])
def test_nulls_inside_are_refused_where_none_are_allowed_but_not_below_a_null(wrap):
    def kind(nullable):
        inner = pa.field("v", pa.int32(), nullable=nullable)
        named = {"list": inner.with_name("element"), "map": inner.with_name("value")}
        return {
            "struct": lambda: pa.struct([inner]),
            "list": lambda: pa.list_(named["list"]),
            "map": lambda: pa.map_(pa.string(), named["map"]),
        }[wrap]()

    good, bad = {
        "struct": ({"v": 1}, {"v": None}),
        "list": ([1], [1, None]),
        "map": ([("k", 1)], [("k", None)]),
    }[wrap]
    rows = pa.table({"c": pa.array([bad, good, None], kind(nullable=True))})
    target = _schema(("c", kind(nullable=False)))
    assert reconcile(rows.slice(1), target).to_pydict() == {"c": [good, None]}
    with pytest.raises(SchemaError, match="holds 1 nulls and may hold none"):
        reconcile(rows, target)
