import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import UnsupportedError
from pyhudi.keys.java_text import java_text

MICROS = pa.timestamp("us", "UTC")


def spelled(values: list[object], kind: pa.DataType, zone: str | None = None) -> list[str | None]:
    return java_text(pa.array(values, kind), timestamp_zone=zone).to_pylist()


def test_whole_numbers_booleans_and_strings_read_as_java_prints_them() -> None:
    assert spelled([0, -5, None], pa.int32()) == ["0", "-5", None]
    assert spelled([-(2**63)], pa.int64()) == ["-9223372036854775808"]
    assert spelled([7], pa.int8()) == ["7"]
    assert spelled([True, False], pa.bool_()) == ["true", "false"]
    assert spelled(["é", ""], pa.large_string()) == ["é", ""]
    assert spelled([None], pa.null()) == [None]


DOUBLES = {
    1.0: "1.0",
    -0.0: "-0.0",
    0.001: "0.001",
    9.9e-4: "9.9E-4",
    9999999.0: "9999999.0",
    1e7: "1.0E7",
    12345678.9: "1.23456789E7",
    -1.2345e-5: "-1.2345E-5",
    1e10: "1.0E10",
    1e21: "1.0E21",
    5e-324: "4.9E-324",
    1.7976931348623157e308: "1.7976931348623157E308",
    float("inf"): "Infinity",
    float("-inf"): "-Infinity",
}


def test_doubles_read_as_double_to_string() -> None:
    assert spelled(list(DOUBLES), pa.float64()) == list(DOUBLES.values())
    assert spelled([float("nan"), None, 1.5], pa.float64()) == ["NaN", None, "1.5"]


def test_floats_read_as_float_to_string() -> None:
    texts = {
        0.1: "0.1",
        123456.79: "123456.79",
        16777216.0: "1.6777216E7",
        3.4028234663852886e38: "3.4028235E38",
        1.401298464324817e-45: "1.4E-45",
        1e-5: "1.0E-5",
        float("-inf"): "-Infinity",
    }
    assert spelled(list(texts), pa.float32()) == list(texts.values())
    assert spelled([None, float("nan")], pa.float32()) == [None, "NaN"]


@settings(max_examples=200)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_the_text_of_a_double_reads_back_to_it(values: list[float]) -> None:
    texts = java_text(pa.array(values, pa.float64())).to_pylist()
    assert [float(text) for text in texts] == values
    plain = [text for value, text in zip(values, texts, strict=True) if 1e-3 <= abs(value) < 1e7]
    assert not [text for text in plain if "E" in text]
    assert all("." in text or text.endswith("Infinity") for text in texts)


@settings(max_examples=100)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_the_text_of_a_float_reads_back_to_it(values: list[float]) -> None:
    texts = java_text(pa.array(values, pa.float32())).to_pylist()
    assert [np.float32(text) for text in texts] == [np.float32(value) for value in values]


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        ("1.50", 2, "1.50"),
        ("0", 10, "0E-10"),
        ("0.0000001", 10, "1.000E-7"),
        ("0.0000010", 10, "0.0000010000"),
        ("-12.3", 2, "-12.30"),
        ("123.456", 10, "123.4560000000"),
    ],
)
def test_decimals_keep_their_scale_and_turn_scientific_as_big_decimal(
    value: str, scale: int, text: str
) -> None:
    exact = Decimal(value).quantize(Decimal(1).scaleb(-scale))
    assert spelled([exact], pa.decimal128(20, scale)) == [text]


def test_dates_read_as_iso_dates() -> None:
    days = [datetime.date(2020, 1, 31), datetime.date(1, 1, 1), None]
    assert spelled(days, pa.date32()) == ["2020-01-31", "0001-01-01", None]
    assert spelled([0], pa.date64()) == ["1970-01-01"]
    assert spelled([2932896, 2932897], pa.date32()) == ["9999-12-31", "+10000-01-01"]


def test_timestamps_are_raw_longs_unless_they_have_a_zone_and_one_is_given() -> None:
    assert spelled([1577836800000000, None], MICROS) == ["1577836800000000", None]
    assert spelled([1577836800000], pa.timestamp("ms", "UTC")) == ["1577836800000"]
    assert spelled([1577836800000000999], pa.timestamp("ns", "UTC")) == ["1577836800000000"]
    assert spelled([1577836800], pa.timestamp("s")) == ["1577836800000"]
    assert spelled([1577836800000000], pa.timestamp("us"), "UTC") == ["1577836800000000"]


def test_timestamps_with_a_zone_read_as_java_sql_timestamp_cut_to_millis() -> None:
    values = [1577836800000000, 1577836800120000, 1577836800123456, -1, None, 1577836800100000]
    assert spelled(values, MICROS, "UTC") == [
        "2020-01-01 00:00:00.0",
        "2020-01-01 00:00:00.12",
        "2020-01-01 00:00:00.123",
        "1970-01-01 00:00:00.0",
        None,
        "2020-01-01 00:00:00.1",
    ]
    assert spelled(values[:1], MICROS, "America/New_York") == ["2019-12-31 19:00:00.0"]
    in_tokyo = pa.timestamp("ms", "Asia/Tokyo")
    assert spelled([1577836800000], in_tokyo, "Europe/Berlin") == ["2020-01-01 01:00:00.0"]


@settings(max_examples=60)
@given(
    st.lists(st.integers(-(10**16), 10**17), min_size=1, max_size=20),
    st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata"]),
)
def test_timestamp_text_is_the_wall_clock_of_the_zone(values: list[int], zone: str) -> None:
    texts = spelled(list(values), MICROS, zone)
    millis = [abs(value) // 1000 * (1 if value > 0 else -1) for value in values]
    local = pa.array(millis, pa.int64()).cast(pa.timestamp("ms", zone))
    for text, clock in zip(texts, pc.strftime(local).to_pylist(), strict=True):
        assert text is not None
        date, _, time = text.partition(" ")
        assert f"{date}T{time.ljust(12, '0')}" == clock


def test_binary_reads_as_hexadecimal() -> None:
    values: list[object] = [b"abc", None, "é".encode(), b"", b"\xff\x00"]
    texts = ["616263", None, "c3a9", "", "ff00"]
    assert spelled(values, pa.binary()) == texts
    assert spelled(values, pa.large_binary()) == texts
    assert spelled([b"ab", None], pa.binary(2)) == ["6162", None]
    assert java_text(pa.array(values, pa.binary()).slice(1, 2)).to_pylist() == texts[1:3]
    assert spelled([], pa.binary()) == []
    assert spelled([None], pa.binary()) == [None]


def test_dictionary_columns_and_slices_read_as_plain_ones() -> None:
    plain = pa.array([1.5, None, 1e9, 1.5, 2.0])
    assert java_text(plain.dictionary_encode()).equals(java_text(plain))
    assert java_text(plain.slice(2, 2)).to_pylist() == ["1.0E9", "1.5"]
    assert java_text(plain.slice(0, 0)).to_pylist() == []


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int32()), pa.time64("us"), pa.struct([("a", "int8")])]
)
def test_types_without_a_stable_text_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedError, match="record key or partition path"):
        java_text(pa.nulls(1, kind))
