"""Texts of dates read by Joda patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.keys.dates.pattern import (
    DAY_MILLIS,
    HOUR_MILLIS,
    MONTHS,
    TEXT_WIDTH,
    TWO_DIGITS,
    WEEKDAYS,
    Part,
    civil_of_days,
    days_of_civil,
    parse_pattern,
    weekday_of_days,
)

_UNREAD = "GCzxw"
_MOST_DIGITS = {"D": 3, "e": 1}
_YEAR_DIGITS = 9
# What a pattern without a year means by its months and days.
_DEFAULT_YEAR = 2000
_OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?")


def _any_of(names: Sequence[str]) -> str:
    return "|".join([*names, *(name[:TEXT_WIDTH] for name in names)])


_TEXTS = {"E": _any_of(WEEKDAYS), "a": "AM|PM", "Z": "Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDate:
    """A date as a text states it; ``offset_millis`` is None where it names no offset.

    Units: milliseconds of the local clock since 1970; milliseconds.
    """

    local_millis: int
    offset_millis: int | None


def check_readable(pattern: str) -> None:
    """Refuse a pattern that texts cannot be read by.

    Raises:
        OptionError: a letter has no meaning.
        UnsupportedError: eras, centuries, week years and names of time zones.
    """
    for part in parse_pattern(pattern):
        if (part.letter and part.letter in _UNREAD) or (part.letter == "Z" and part.width > 2):
            raise UnsupportedError(
                f"the date pattern {pattern!r} has {part.letter * part.width}, by which texts "
                "cannot be read here"
            )


def read_date(text: str, patterns: Sequence[str], *, this_year: int) -> ReadDate | None:
    """Read a text by the first pattern that it meets as a whole; None when it meets none.

    ``this_year`` tells the century of years of two digits: from 80 years before to 19 after.

    Raises:
        RequestError: a part is out of its range, as in the 31st of April.
    Source: DateTimeFormatterBuilder.MatchingParser, DateTimeParserBucket.computeMillis,
        Joda-Time 2.9.
    """
    for pattern in patterns:
        found = _matcher(pattern).fullmatch(text)
        if found is not None:
            return _date(parse_pattern(pattern), found, this_year)
    return None


@cache
def _matcher(pattern: str) -> re.Pattern[str]:
    parts = parse_pattern(pattern)
    following = [*parts[1:], Part(letter="", width=0)]
    pieces = [
        _expression(part, number, is_number_next=after.is_number)
        for number, (part, after) in enumerate(zip(parts, following, strict=True))
    ]
    return re.compile("".join(pieces), re.IGNORECASE)


def _expression(part: Part, number: int, *, is_number_next: bool) -> str:
    if not part.letter:
        return re.escape(part.literal)
    # Digits that one part took are not given back to the next: a lookahead is atomic.
    return f"(?=(?P<p{number}>{_body(part, is_number_next=is_number_next)}))(?P=p{number})"


def _body(part: Part, *, is_number_next: bool) -> str:
    if part.letter == "M" and part.width >= TEXT_WIDTH:
        return _any_of(MONTHS)
    if part.letter in _TEXTS:
        return _TEXTS[part.letter]
    if part.letter in "yY":
        if part.width == TWO_DIGITS and is_number_next:
            return "[0-9]{2}"
        return f"[+-]?[0-9]{{1,{part.width if is_number_next else _YEAR_DIGITS}}}"
    most = part.width if part.letter == "S" else _MOST_DIGITS.get(part.letter, 2)
    return f"[0-9]{{1,{most}}}"


def _date(parts: tuple[Part, ...], found: re.Match[str], this_year: int) -> ReadDate:
    values: dict[str, int] = {}
    offset = None
    for number, part in enumerate(parts):
        if not part.letter:
            continue
        text = found.group(f"p{number}")
        if part.letter == "Z":
            offset = _read_offset(text)
        else:
            values[part.letter] = _read_value(part, text, this_year)
    millis = _days(values) * DAY_MILLIS + _time_millis(values)
    return ReadDate(local_millis=millis, offset_millis=offset)


def _read_value(part: Part, text: str, this_year: int) -> int:
    if part.letter in "yY":
        is_short = part.width == TWO_DIGITS and len(text) == TWO_DIGITS and text.isdigit()
        return _full_year(int(text), this_year) if is_short else int(text)
    if part.letter == "M" and part.width >= TEXT_WIDTH:
        return _place(MONTHS, text)
    if part.letter == "E":
        return _place(WEEKDAYS, text)
    if part.letter == "a":
        return int(text.lower() == "pm")
    if part.letter == "S":
        return int(text.ljust(3, "0")[:3])
    return int(text)


def _full_year(short: int, this_year: int) -> int:
    first = this_year - 80
    return first + (short - first) % 100


def _place(names: Sequence[str], text: str) -> int:
    prefix = text[:TEXT_WIDTH].lower()
    return next(n for n, name in enumerate(names, 1) if name[:TEXT_WIDTH].lower() == prefix)


def _read_offset(text: str) -> int:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return 0
    sign, *fields = found.groups(default="0")
    hours, minutes, seconds = (int(field) for field in fields)
    millis = hours * HOUR_MILLIS + minutes * 60_000 + seconds * 1000
    return -millis if sign == "-" else millis


def _days(values: dict[str, int]) -> int:
    has_date = values.keys() & set("yYMdDeE")
    year = values.get("y", values.get("Y", _DEFAULT_YEAR if has_date else 1970))
    if "D" in values:
        days = days_of_civil(year, 1, 1) + values["D"] - 1
        if values["D"] < 1 or civil_of_days(days)[0] != year:
            raise RequestError(f"day {values['D']} of the year {year}")
    else:
        month, day = values.get("M", 1), values.get("d", 1)
        days = days_of_civil(year, month, day) if 1 <= month <= 12 else 0
        if civil_of_days(days) != (year, month, day):
            raise RequestError(f"day {day} of month {month}")
    weekday = values.get("E", values.get("e"))
    return days if weekday is None else days - weekday_of_days(days) + weekday


def _time_millis(values: dict[str, int]) -> int:
    limits = {"H": (0, 23), "k": (1, 24), "K": (0, 11), "h": (1, 12), "m": (0, 59), "s": (0, 59)}
    for letter, (least, most) in limits.items():
        if not least <= values.get(letter, least) <= most:
            raise RequestError(f"{letter} is {values[letter]}, not from {least} to {most}")
    half = values.get("h", values.get("K", 0)) % 12 + 12 * values.get("a", 0)
    hour = values.get("H", values.get("k", half) % 24)
    seconds = (hour * 60 + values.get("m", 0)) * 60 + values.get("s", 0)
    return seconds * 1000 + values.get("S", 0)
