import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.config.options.keygen import TimestampConfig
from pyhudi.errors import OptionError, RequestError, UnsupportedError
from pyhudi.keys.dates.timestamp_path import TimestampPath

UTC = dt.timezone.utc
MILLIS = pa.array([1700000000000, 0, -1, None, 1577836800123, 253402300800000], pa.int64())
SECONDS = pa.array([1700000000, 0, -1, None, 1577836800], pa.int64())
DATES = pa.array([dt.date(2024, 1, 5), dt.date(1969, 12, 31), None], pa.date32())
STAMPS = pa.array(
    [dt.datetime(2024, 1, 5, 10, 30, tzinfo=UTC), None, dt.datetime(1969, 12, 31, 23, tzinfo=UTC)],
    pa.timestamp("us", tz="UTC"),
)
DAYS = pa.array(["2024-01-05", "1969-12-31", None])
OFFSETS = pa.array(["2024-01-05T23:30:00+0530", "2024-07-05T01:30:00-0800"])
MANY = pa.array(["2024-01-05", "05/01/2024 10:11:12", "20240105"])


def path(*, logical: bool = False, **options: str) -> TimestampPath:
    prefix = "hoodie.keygen.timebased."
    keys = {
        "type": "timestamp.type",
        "unit": "timestamp.scalar.time.unit",
        "read": "input.dateformat",
        "regex": "input.dateformat.list.delimiter.regex",
        "read_zone": "input.timezone",
        "spell": "output.dateformat",
        "spell_zone": "output.timezone",
        "zone": "timezone",
    }
    config = TimestampConfig.from_options({f"{prefix}{keys[k]}": v for k, v in options.items()})
    return TimestampPath(config=config, this_year=2026, consistent_logical_timestamp=logical)


# What real Hudi, 0.15.0 and 1.1.1, made of these columns in an upsert.
NUMBERS: list[tuple[dict[str, str], pa.Array, list[str]]] = [
    (
        {"type": "EPOCHMILLISECONDS", "spell": "yyyy/MM/dd", "zone": "UTC"},
        MILLIS,
        ["2023/11/14", "1970/01/01", "1969/12/31", "1970/01/01", "2020/01/01", "10000/01/01"],
    ),
    (
        {"type": "UNIX_TIMESTAMP", "spell": "yyyy-MM-dd'T'HH"},
        SECONDS,
        ["2023-11-14T22", "1970-01-01T00", "1969-12-31T23", "1970-01-01T00", "2020-01-01T00"],
    ),
    (
        {"type": "EPOCHMICROSECONDS", "spell": "yyyyMMddHHmmssSSS"},
        pa.array([1700000000123456, 0, -1, None, 1577836800123000], pa.int64()),
        [
            "20231114221320123",
            "19700101000000000",
            "19700101000000000",
            "19700101000000000",
            "20200101000000123",
        ],
    ),
    (
        {"type": "SCALAR", "unit": "days", "spell": "yyyy-MM-dd"},
        DATES,
        ["2024-01-05", "1969-12-31", "1970-01-02"],
    ),
    (
        {"type": "SCALAR", "unit": "HOURS", "spell": "yyyy-MM-dd HH"},
        pa.array([1, -1, None], pa.int32()),
        ["1970-01-01 01", "1969-12-31 23", "1970-01-01 01"],
    ),
    (
        {"type": "EPOCHMICROSECONDS", "spell": "yyyy-MM-dd HH"},
        STAMPS,
        ["2024-01-05 10", "1970-01-01 00", "1969-12-31 23"],
    ),
    (
        {"type": "EPOCHMILLISECONDS", "spell": "yyyy-MM-dd HH"},
        STAMPS,
        ["55981-11-21 12", "1970-01-01 00", "1969-11-20 08"],
    ),
]
FROM_KOLKATA = {"read_zone": "Asia/Kolkata", "spell_zone": "UTC"}
FROM_PARIS = {"read_zone": "Europe/Paris", "spell_zone": "UTC"}
TEXTS: list[tuple[dict[str, str], pa.Array, list[str]]] = [
    ({"read": "yyyy-MM-dd", "spell": "yyyy/MM"}, DAYS, ["2024/01", "1969/12", "1970/01"]),
    (
        {"read": "yyyy-MM-dd", "spell": "yyyy/MM/dd HH", **FROM_KOLKATA},
        DAYS,
        ["2024/01/04 18", "1969/12/30 18", "1969/12/31 18"],
    ),
    (
        {"read": "yyyy-MM-dd'T'HH:mm:ssZ", "spell": "yyyy-MM-dd HH Z"},
        OFFSETS,
        ["2024-01-05 23 +0530", "2024-07-05 01 -0800"],
    ),
    (
        {"read": "yyyy-MM-dd'T'HH:mm:ssZ", "spell": "yyyy-MM-dd HH Z", "read_zone": "Europe/Paris"},
        OFFSETS,
        ["2024-01-05 19 +0100", "2024-07-05 11 +0200"],
    ),
    (
        {"read": "yyyy-MM-dd,dd/MM/yyyy HH:mm:ss, yyyyMMdd", "spell": "yyyyMMdd HH"},
        MANY,
        ["20240105 00", "20240105 10", "20240105 00"],
    ),
    (
        {"read": "yyyy-MM-dd|dd/MM/yyyy HH:mm:ss|yyyyMMdd", "regex": r"\|", "spell": "yyyyMMdd HH"},
        MANY,
        ["20240105 00", "20240105 10", "20240105 00"],
    ),
    (
        {"read": "yyyy-MM-dd", "spell": "yyyy/MM/dd"},
        pa.array(["2024-1-5", "24-1-5", "12024-01-05"]),
        ["2024/01/05", "0024/01/05", "12024/01/05"],
    ),
    (
        {"read": "dd.MM.yy", "spell": "yyyy/MM/dd"},
        pa.array(["05.01.24", "05.01.99", "05.01.46", "05.01.45", "5.1.2024"]),
        ["2024/01/05", "1999/01/05", "1946/01/05", "2045/01/05", "2024/01/05"],
    ),
    (
        {"read": "d MMM yyyy h:mm a", "spell": "yyyy/MM/dd HH:mm"},
        pa.array(["5 Jan 2024 1:02 PM", "05 january 2024 01:02 am"]),
        ["2024/01/05 13:02", "2024/01/05 01:02"],
    ),
    (
        {"read": "yyyy-MM-dd HH:mm:ss.SSS", "spell": "yyyy/MM/dd HH:mm:ss.SSSSSS S SS"},
        pa.array(["2024-01-05 01:02:03.4", "2024-01-05 01:02:03.456"]),
        ["2024/01/05 01:02:03.400000 4 40", "2024/01/05 01:02:03.456000 4 45"],
    ),
    (
        {"read": "yyyy-MM-dd HH:mm", "spell": "yyyy/MM/dd HH:mm", **FROM_PARIS},
        pa.array(["2024-10-27 02:30"]),
        ["2024/10/27 00:30"],
    ),
]


@pytest.mark.parametrize(("options", "column", "wanted"), NUMBERS)
def test_numbers_are_spelled_as_hudi_spelled_them(
    options: dict[str, str], column: pa.Array, wanted: list[str]
) -> None:
    assert path(**options).texts(column).to_pylist() == wanted


@pytest.mark.parametrize("kind", ["DATE_STRING", "MIXED"])
@pytest.mark.parametrize(("options", "column", "wanted"), TEXTS)
def test_texts_are_read_and_spelled_as_hudi_did(
    kind: str, options: dict[str, str], column: pa.Array, wanted: list[str]
) -> None:
    assert path(type=kind, **options).texts(column).to_pylist() == wanted
    assert path(type=kind, **options).texts(column.cast(pa.large_string())).to_pylist() == wanted
    assert path(type=kind, **options).texts(column.dictionary_encode()).to_pylist() == wanted


def test_every_part_of_a_pattern_is_spelled_as_hudi_spelled_it() -> None:
    pattern = "yyyy-MM-dd HH Z ZZ ZZZ E EEEE MMM MMMM a hh kk KK D w xxxx e yy yyyyy G C YYYY"
    spelled = path(type="EPOCHMILLISECONDS", spell=pattern, spell_zone="America/New_York")
    assert spelled.texts(pa.array([1700000000000, -1])).to_pylist() == [
        "2023-11-14 17 -0500 -05:00 America/New_York Tue Tuesday Nov November PM 05 17 05 318 46 "
        "2023 2 23 02023 AD 20 2023",
        "1969-12-31 18 -0500 -05:00 America/New_York Wed Wednesday Dec December PM 06 18 06 365 1 "
        "1970 3 69 01969 AD 19 1969",
    ]


def test_timestamps_are_times_when_logical_types_count() -> None:
    spelled = path(type="EPOCHMILLISECONDS", spell="yyyy-MM-dd HH", logical=True)
    assert spelled.texts(STAMPS).to_pylist() == ["2024-01-05 10", "1970-01-01 00", "1969-12-31 23"]


def test_fractions_are_cut_off_as_java_cuts_them_off() -> None:
    spelled = path(type="UNIX_TIMESTAMP", spell="HH:mm:ss")
    texts = ["00:00:05", "23:59:59", "00:00:01", "00:00:00"]
    assert spelled.texts(pa.array([5.9, -1.5, None, float("nan")])).to_pylist() == texts
    decimals = pa.array([decimal.Decimal("5.90"), decimal.Decimal("-1.50")], pa.decimal128(20, 2))
    assert spelled.texts(decimals).to_pylist() == ["00:00:05", "23:59:59"]


def test_moments_beyond_a_long_stop_at_its_end() -> None:
    spelled = path(type="SCALAR", unit="DAYS", spell="yyyy")
    assert spelled.texts(pa.array([2**62, -(2**62)])).to_pylist() == ["292278994", "-292275055"]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (pa.array(["2024-01-05x"]), "has none of the formats yyyy-MM-dd"),
        (pa.array([""]), "has none of the formats"),
        (pa.array(["2024-02-30"]), "is no date: day 30 of month 2"),
    ],
)
def test_a_text_that_is_no_date_is_refused_with_its_value(column: pa.Array, problem: str) -> None:
    spelled = path(type="DATE_STRING", read="yyyy-MM-dd", spell="yyyy")
    with pytest.raises(RequestError, match=problem):
        spelled.texts(column)


def test_rows_that_are_no_date_are_told_apart() -> None:
    spelled = path(type="DATE_STRING", read="yyyy-MM-dd", spell="yyyy")
    column = pa.array(["2024-01-05", "x", None, "2024-02-30", ""])
    for rows in (column, column.dictionary_encode(), column.cast(pa.large_string())):
        assert spelled.unread(rows).to_pylist() == [False, True, False, True, True]
    assert spelled.unread(column.slice(0, 0)).to_pylist() == []
    assert path(type="UNIX_TIMESTAMP", spell="yyyy").unread(SECONDS).to_pylist() == [False] * 5


def test_a_time_that_the_clocks_left_out_is_refused() -> None:
    read = {"read": "yyyy-MM-dd HH:mm", "read_zone": "Europe/Paris"}
    spelled = path(type="DATE_STRING", spell="HH", **read)
    with pytest.raises(RequestError, match="the clocks of Europe/Paris left out"):
        spelled.texts(pa.array(["2024-03-31 02:30"]))


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"type": "MIXED", "read": "yyyy", "spell": "yyyy"}, MILLIS),
        ({"type": "DATE_STRING", "read": "yyyy", "spell": "yyyy"}, DATES),
        ({"type": "UNIX_TIMESTAMP", "spell": "yyyy"}, DAYS),
        ({"type": "UNIX_TIMESTAMP", "spell": "yyyy"}, pa.array([True])),
    ],
)
def test_a_column_that_does_not_go_with_the_type_is_refused(
    options: dict[str, str], column: pa.Array
) -> None:
    for rows in (column, column.slice(0, 0)):
        with pytest.raises(UnsupportedError, match="its values are"):
            path(**options).texts(rows)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"spell": "yyyy-qq"}, OptionError),
        ({"spell": "yyyy z"}, UnsupportedError),
        ({"spell": "yyyy", "zone": "Nowhere/Land"}, OptionError),
        ({"type": "DATE_STRING", "read": "xxxx-ww", "spell": "yyyy"}, UnsupportedError),
    ],
)
def test_what_means_nothing_is_refused_before_any_row(options: dict[str, str], kind: Any) -> None:
    with pytest.raises(kind):
        path(**{"type": "UNIX_TIMESTAMP", **options})
