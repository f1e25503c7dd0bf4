import datetime as dt
import random

import pytest

from pyhudi.errors import OptionError
from pyhudi.keys.dates.pattern import (
    DAY_MILLIS,
    civil_of_days,
    days_of_civil,
    parse_pattern,
    resolution_millis,
    shows_offset,
    spell_date,
)

EPOCH = dt.date(1970, 1, 1)


def spell(pattern: str, millis: int, offset: int = 0, zone: str | None = "UTC") -> str:
    return spell_date(parse_pattern(pattern), millis, offset, zone)


def test_days_and_dates_are_each_others_inverse_in_any_year() -> None:
    rng = random.Random(3)
    for days in [rng.randrange(-700_000, 2_900_000) for _ in range(500)]:
        date = EPOCH + dt.timedelta(days=days)
        assert civil_of_days(days) == (date.year, date.month, date.day)
        assert spell("D/e/xxxx/w", days * DAY_MILLIS) == (
            f"{date.timetuple().tm_yday}/{date.isoweekday()}/"
            f"{date.isocalendar().year:04d}/{date.isocalendar().week}"
        )
    for days in (-(10**9), 10**9, -719_529, 2_932_897):
        assert days_of_civil(*civil_of_days(days)) == days


def test_quotes_hold_text_and_two_make_one() -> None:
    assert spell("yyyy'-W'MM''dd 'o''clock'", 0) == "1970-W01'01 o'clock"


def test_years_before_christ_have_a_sign_or_an_era() -> None:
    year_zero = days_of_civil(0, 3, 1) * DAY_MILLIS
    assert spell("yyyy YYYY G", year_zero) == "0000 0001 BC"
    assert spell("yyyy", days_of_civil(-5, 1, 1) * DAY_MILLIS) == "-0005"


def test_midnight_and_noon_in_every_count_of_hours() -> None:
    assert spell("H k h K a", 0) == "0 24 12 0 AM"
    assert spell("H k h K a", DAY_MILLIS // 2) == "12 12 12 0 PM"


def test_offsets_are_spelled_with_and_without_a_zone() -> None:
    assert spell("Z ZZ ZZZ", 0, 19_800_000, None) == "+0530 +05:30 +05:30"
    assert spell("Z ZZ ZZZ", 0, 0, None) == "+0000 +00:00 UTC"
    assert spell("ZZZ", 0, 3_600_000, "Europe/Paris") == "Europe/Paris"


@pytest.mark.parametrize(
    ("pattern", "millis"),
    [("yyyy/MM", DAY_MILLIS), ("yyyy HH", 3_600_000), ("mm", 60_000), ("ss", 1000), ("S", 1)],
)
def test_the_resolution_is_the_finest_part(pattern: str, millis: int) -> None:
    assert resolution_millis(parse_pattern(pattern)) == millis
    assert not shows_offset(parse_pattern(pattern))


@pytest.mark.parametrize("pattern", ["", "yyyy-qq", "yyyyT"])
def test_a_pattern_without_meaning_is_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="date pattern"):
        parse_pattern(pattern)
