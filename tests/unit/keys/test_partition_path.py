import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.keys.java_text import java_text
from pyhudi.keys.partition_path import escape, partition_paths, partition_values, unescape

NULL_PATH = "__HIVE_DEFAULT_PARTITION__"


def paths(
    columns: dict[str, list[str | None]], *, hive_style: bool = False, url_encode: bool = False
) -> list[str]:
    arrays = [(name, pa.array(values, pa.string())) for name, values in columns.items()]
    rows = len(arrays[0][1]) if arrays else 2
    made = partition_paths(arrays, num_rows=rows, hive_style=hive_style, url_encode=url_encode)
    assert made.type == pa.string()
    return made.to_pylist()


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("2020-01-01 10:00:00", "2020-01-01 10%3A00%3A00"),
        ("a b", "a b"),
        ("a%20", "a%2520"),
        ("é", "é"),
        ("日本", "日本"),
        ("{z}", "%7Bz}"),
        ("slash/ed", "slash%2Fed"),
        ("\x00\x1f\x7f", "%00%1F%7F"),
        ("\"#%'*/:=?\\{[]^", "%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E"),
        ("+&<>|;,~!@$().-_}", "+&<>|;,~!@$().-_}"),
    ],
)
def test_the_characters_hudi_escapes_and_no_others_are_escaped(value: str, escaped: str) -> None:
    assert escape(value) == escaped
    assert paths({"p": [value]}, url_encode=True) == [escaped]
    assert unescape(escaped) == value


@given(st.text(max_size=30))
def test_unescape_undoes_escape(value: str) -> None:
    assert unescape(escape(value)) == value


def test_unescape_leaves_a_lone_percent_sign() -> None:
    assert unescape("50%") == "50%"
    assert unescape("%zz%3a") == "%zz:"


def test_levels_are_joined_and_named_in_hive_style() -> None:
    columns: dict[str, list[str | None]] = {"region": ["eu", "us"], "city": ["a", "b"]}
    assert paths(columns) == ["eu/a", "us/b"]
    assert paths(columns, hive_style=True) == ["region=eu/city=a", "region=us/city=b"]


def test_null_and_empty_values_go_to_the_default_partition() -> None:
    values: dict[str, list[str | None]] = {"p": [None, "", "x", None]}
    assert paths(values, url_encode=True) == [NULL_PATH, NULL_PATH, "x", NULL_PATH]
    assert paths(values, hive_style=True)[1] == f"p={NULL_PATH}"
    assert paths({"p": [None, None]}) == [NULL_PATH] * 2


def test_a_table_without_partition_fields_has_the_empty_path() -> None:
    assert paths({}) == ["", ""]


def test_a_slash_makes_a_level_only_when_values_are_not_encoded() -> None:
    assert paths({"p": ["2024/01/02"]}) == ["2024/01/02"]
    assert paths({"p": ["2024/01/02"]}, url_encode=True) == ["2024%2F01%2F02"]


def values_of(
    path: str, kinds: dict[str, pa.DataType], *, hive_style: bool = False, url_encoded: bool = False
) -> dict[str, object] | None:
    found = partition_values(
        path, tuple(kinds), tuple(kinds.values()), hive_style=hive_style, url_encoded=url_encoded
    )
    if found is None:
        return None
    assert {name: value.type for name, value in found.items()} == kinds
    return {name: value.as_py() for name, value in found.items()}


TYPED = [
    (pa.string(), "a b"),
    (pa.int32(), -12),
    (pa.int64(), 2**40),
    (pa.bool_(), True),
    (pa.float64(), 1.5e10),
    (pa.float32(), 0.5),
    (pa.decimal128(10, 2), Decimal("-1.50")),
    (pa.decimal128(20, 10), Decimal("1E-7").quantize(Decimal("1E-10"))),
    (pa.date32(), datetime.date(2020, 1, 31)),
    (pa.timestamp("us"), datetime.datetime.fromisoformat("2020-01-01T00:00:00.000007")),
    (pa.timestamp("ms", "UTC"), datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)),
    (pa.binary(), "é".encode()),
]


@pytest.mark.parametrize(("kind", "value"), TYPED, ids=[str(kind) for kind, _ in TYPED])
def test_a_value_comes_back_from_its_path(kind: pa.DataType, value: object) -> None:
    text = java_text(pa.array([value], kind))
    path = partition_paths([("p", text)], num_rows=1, hive_style=True, url_encode=True)[0].as_py()
    assert values_of(path, {"p": kind}, hive_style=True, url_encoded=True) == {"p": value}


def test_the_default_partition_reads_as_null() -> None:
    assert values_of(NULL_PATH, {"p": pa.int32()}) == {"p": None}
    path = f"a=1/b={NULL_PATH}"
    kinds = {"a": pa.int32(), "b": pa.string()}
    assert values_of(path, kinds, hive_style=True) == {"a": 1, "b": None}


def test_one_field_over_several_levels_is_the_whole_path() -> None:
    assert values_of("2024/01/02", {"p": pa.string()}) == {"p": "2024/01/02"}
    assert values_of("p=2024/01/02", {"p": pa.string()}, hive_style=True) == {"p": "2024/01/02"}
    assert values_of("2024/01/02", {"p": pa.date32()}) is None


@pytest.mark.parametrize(
    ("path", "kinds", "hive_style"),
    [
        pytest.param("a/b/c", {"a": pa.string(), "b": pa.string()}, False, id="more levels"),
        pytest.param("a", {"a": pa.string(), "b": pa.string()}, False, id="fewer levels"),
        pytest.param("x=1", {"a": pa.int32()}, True, id="another field"),
        pytest.param("north", {"a": pa.int32()}, False, id="no number"),
        pytest.param("0x10", {"a": pa.int32()}, False, id="no decimal number"),
        pytest.param(
            "2020-01-01 00:00:00.0", {"a": pa.timestamp("us", "UTC")}, False, id="no zone"
        ),
        pytest.param("6g", {"a": pa.binary()}, False, id="no hexadecimal"),
        pytest.param("p", {}, False, id="a path without fields"),
        pytest.param("1", {"a": pa.list_(pa.int32())}, False, id="no scalar type"),
    ],
)
def test_paths_that_do_not_correspond_to_the_fields_give_no_values(
    path: str, kinds: dict[str, pa.DataType], hive_style: bool
) -> None:
    assert values_of(path, kinds, hive_style=hive_style) is None


def test_the_only_path_of_a_non_partitioned_table_has_no_values() -> None:
    assert values_of("", {}) == {}


def test_text_that_is_not_encoded_is_not_unescaped() -> None:
    assert values_of("50%25", {"p": pa.string()}) == {"p": "50%25"}
    assert values_of("50%25", {"p": pa.string()}, url_encoded=True) == {"p": "50%"}
