import datetime as dt

import pytest

from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.keys.dates.reading import check_readable, read_date

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a local clock


def read(text: str, *patterns: str) -> dt.datetime | None:
    found = read_date(text, patterns, this_year=2026)
    return None if found is None else EPOCH + dt.timedelta(milliseconds=found.local_millis)


@pytest.mark.parametrize(
    ("text", "pattern", "wanted"),
    [
        ("20240105", "yyyyMMdd", (2024, 1, 5)),
        ("123", "HHmm", (1970, 1, 1, 12, 3)),
        ("02-29", "MM-dd", (2000, 2, 29)),
        ("2024-366", "yyyy-DDD", (2024, 12, 31)),
        ("24:30", "kk:mm", (1970, 1, 1, 0, 30)),
        ("12:30 am", "hh:mm a", (1970, 1, 1, 0, 30)),
        ("0:30 PM", "K:mm a", (1970, 1, 1, 12, 30)),
        ("Fri, 5 JAN 2024", "EEE, d MMM yyyy", (2024, 1, 5)),
        ("friday 5 sep 2025", "EEEE d MMMM yyyy", (2025, 9, 5)),
        ("2024-01-05T", "yyyy-MM-dd't'", (2024, 1, 5)),
        ("050124", "ddMMyy", (2024, 1, 5)),
    ],
)
def test_texts_are_read_by_their_pattern(text: str, pattern: str, wanted: tuple[int, ...]) -> None:
    assert read(text, pattern) == dt.datetime(*wanted)  # type: ignore[arg-type]  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("12", "HHmm"),  # the hours take both digits and leave none
        ("2024-01-05 ", "yyyy-MM-dd"),
        ("2024/01/05", "yyyy-MM-dd"),
        ("2024-١٢-05", "yyyy-MM-dd"),
    ],
)
def test_a_text_that_does_not_meet_the_pattern_is_not_read(text: str, pattern: str) -> None:
    assert read(text, pattern) is None


def test_the_first_pattern_that_meets_the_whole_text_counts() -> None:
    assert read("2024-01-05 07", "yyyy-MM-dd", "yyyy-MM-dd HH", "yyyy-dd-MM HH") == dt.datetime(  # noqa: DTZ001
        2024, 1, 5, 7
    )


@pytest.mark.parametrize(
    ("text", "hours"), [("10Z", 0), ("10+0530", 5.5), ("10-08:00", -8), ("10+05", 5)]
)
def test_offsets_are_told(text: str, hours: float) -> None:
    found = read_date(text, ["HHZ"], this_year=2026)
    assert found is not None
    assert found.offset_millis == hours * 3_600_000


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2024-04-31", "yyyy-MM-dd"),
        ("2023-366", "yyyy-D"),
        ("2024-13-01", "yyyy-MM-dd"),
        ("24:00", "HH:mm"),
        ("13:00 am", "hh:mm a"),
        ("10:60", "HH:mm"),
    ],
)
def test_parts_out_of_range_are_refused(text: str, pattern: str) -> None:
    with pytest.raises(RequestError, match=r"of (month|the year)|not from"):
        read(text, pattern)


@pytest.mark.parametrize("pattern", ["G yyyy", "CC", "xxxx-ww-e", "HH z", "HH ZZZ"])
def test_patterns_that_are_not_read_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot be read here"):
        check_readable(pattern)
