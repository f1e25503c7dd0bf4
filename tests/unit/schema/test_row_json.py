import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.schema.row_json import row_json

UTC = dt.timezone.utc


def _read(rows: pa.Table) -> list[object]:
    return [json.loads(text) for text in row_json(rows).to_pylist()]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.bool_(), True, True),
        (pa.int64(), -7, -7),
        (pa.float64(), 1.5, 1.5),
        (pa.float32(), float("nan"), "nan"),
        (pa.float64(), float("-inf"), "-inf"),
        (pa.decimal128(5, 2), Decimal("1.50"), "1.50"),
        (pa.date32(), dt.date(2026, 1, 2), "2026-01-02"),
        (pa.timestamp("us", "Europe/Berlin"), dt.datetime(2026, 1, 2, tzinfo=UTC), None),
        (pa.binary(), b"\xff\x00", "ff00"),
        (pa.binary(2), b"\xff\x00", "ff00"),
        (pa.string_view(), "ü", "ü"),
        (pa.dictionary(pa.int8(), pa.string()), "ü", "ü"),
        (pa.null(), None, None),
    ],
    ids=str,
)
def test_every_type_has_a_json_value(kind, value, expected):
    if pa.types.is_timestamp(kind):
        expected = "2026-01-02 00:00:00.000000Z"
    assert _read(pa.table({"c": pa.array([value, None], kind)})) == [{"c": expected}, {"c": None}]


def test_rows_without_columns_are_empty_objects():
    assert row_json(pa.table({"a": [1, 2]}).select([])).to_pylist() in ([], ["{}", "{}"])


_TEXT = st.text(max_size=4)
_STRUCT = st.none() | st.fixed_dictionaries(
    {"a": st.none() | st.integers(0, 9), 'b"': st.none() | st.lists(st.none() | _TEXT, max_size=3)}
)
_KIND = pa.struct([("a", pa.int32()), ('b"', pa.list_(pa.string()))])
_MAPS = st.none() | st.dictionaries(_TEXT, _STRUCT, max_size=3)
_ROWS = st.lists(
    st.fixed_dictionaries(
        {"t": st.none() | _TEXT, "s": _STRUCT, "m": _MAPS, "l": st.none() | st.lists(_STRUCT)}
    ),
    max_size=6,
)


@given(_ROWS, st.integers(0, 6))
def test_nested_rows_read_back_from_their_json(rows, start):
    nested = {"m": pa.map_(pa.string(), _KIND), "l": pa.large_list(_KIND)}
    schema = pa.schema({"t": pa.string(), "s": _KIND, **nested})
    pairs = [{**r, "m": None if r["m"] is None else list(r["m"].items())} for r in rows]
    assert _read(pa.Table.from_pylist(pairs, schema=schema).slice(start)) == rows[start:]
