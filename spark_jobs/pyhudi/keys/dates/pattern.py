"""Date patterns in Joda's language, the one that Hudi's options speak, parsed and formatted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from pyhudi.errors import OptionError, UnsupportedError

DAY_MILLIS: Final = 86_400_000
HOUR_MILLIS: Final = 3_600_000
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HALVES: Final = ("AM", "PM")
TWO_DIGITS: Final = 2
FULL_TEXT_WIDTH: Final = 4
TEXT_WIDTH: Final = 3

_EPOCH_YEAR: Final = 1970
_LETTERS: Final = "GCxywYeEDMdaKhHkmsSzZ"
_FINEST: Final = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("aKhHk", HOUR_MILLIS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a pattern: ``width`` times a letter, or a literal when ``letter`` is empty."""

    letter: str
    width: int
    literal: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the part is formatted in digits."""
        if self.letter in ("M", "E"):
            return self.letter == "M" and self.width < TEXT_WIDTH
        return bool(self.letter) and self.letter not in "GazZ"


@cache
def parse_pattern(pattern: str) -> tuple[Part, ...]:
    """Take a pattern apart.

    Raises:
        OptionError: a letter has no meaning.
    Source: DateTimeFormat.parsePatternTo, Joda-Time 2.9.
    """
    parts = tuple(_parts(pattern))
    for part in parts:
        if part.letter and part.letter not in _LETTERS:
            raise OptionError(
                f"the date pattern {pattern!r} has the letter {part.letter}, which means nothing; "
                "put text into single quotes"
            )
    if not parts:
        raise OptionError("a date pattern is empty")
    return parts


def _parts(pattern: str) -> Iterator[Part]:
    position, literal, is_quoted = 0, "", False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern[position + 1 : position + 2] == "'":
                literal += "'"
                position += 1
            else:
                is_quoted = not is_quoted
        elif not is_quoted and char.isascii() and char.isalpha():
            if literal:
                yield Part(letter="", width=0, literal=literal)
                literal = ""
            width = len(pattern[position:]) - len(pattern[position:].lstrip(char))
            yield Part(letter=char, width=width)
            position += width - 1
        else:
            literal += char
        position += 1
    if literal:
        yield Part(letter="", width=0, literal=literal)


def resolution_millis(parts: tuple[Part, ...]) -> int:
    """How much time values may differ in without being formatted differently.

    Units: milliseconds.
    """
    return min((_FINEST.get(part.letter, DAY_MILLIS) for part in parts), default=DAY_MILLIS)


def shows_offset(parts: tuple[Part, ...]) -> bool:
    """Whether the offset of the zone is formatted."""
    return any(part.letter == "Z" for part in parts)


def check_spellable(pattern: str) -> None:
    """Refuse a pattern that cannot be formatted.

    Raises:
        OptionError: a letter has no meaning.
        UnsupportedError: the name of a time zone, which differs with the Java at work.
    """
    if any(part.letter == "z" for part in parse_pattern(pattern)):
        raise UnsupportedError(
            f"the date pattern {pattern!r} spells the name of a time zone (z), which is not "
            "supported; take Z, ZZ or ZZZ"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """A moment of a local clock, in the fields that patterns name."""

    days: int
    millis: int
    offset_millis: int
    zone_id: str | None
    year: int
    month: int
    day: int


def spell_date(
    parts: tuple[Part, ...], local_millis: int, offset_millis: int, zone_id: str | None
) -> str:
    """Format a moment.

    ``zone_id`` is what ZZZ formats; None takes the offset for it.

    Units: milliseconds of the local clock since 1970, and its offset from UTC in milliseconds.
    Source: DateTimeFormatter.print, Joda-Time 2.9 (English texts, proleptic Gregorian calendar).
    """
    days, millis = divmod(local_millis, DAY_MILLIS)
    year, month, day = civil_of_days(days)
    moment = _Moment(
        days=days,
        millis=millis,
        offset_millis=offset_millis,
        zone_id=zone_id,
        year=year,
        month=month,
        day=day,
    )
    return "".join(
        part.literal if not part.letter else _FORMATS[part.letter](moment, part.width)
        for part in parts
    )


def civil_of_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970, in any year."""
    date = np.datetime64(days, "D")
    month = date.astype("datetime64[M]")
    months = int(month.astype(np.int64))
    day = int((date - month.astype("datetime64[D]")).astype(np.int64)) + 1
    return _EPOCH_YEAR + months // 12, months % 12 + 1, day


def days_of_civil(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date, in any year."""
    months = np.datetime64((year - _EPOCH_YEAR) * 12 + month - 1, "M")
    return int(months.astype("datetime64[D]").astype(np.int64)) + day - 1


def weekday_of_days(days: int) -> int:
    """The day of the week, Monday being 1."""
    return (days + 3) % 7 + 1


def _week(days: int) -> tuple[int, int]:
    """The year that the week counts to, and the week."""
    thursday = days - weekday_of_days(days) + 4
    year = civil_of_days(thursday)[0]
    return year, (thursday - days_of_civil(year, 1, 1)) // 7 + 1


def _padded(number: int, width: int) -> str:
    return f"-{-number:0{width}d}" if number < 0 else f"{number:0{width}d}"


def _year(number: int, width: int) -> str:
    return f"{abs(number) % 100:02d}" if width == TWO_DIGITS else _padded(number, width)


def _name(names: tuple[str, ...], position: int, width: int) -> str:
    return names[position] if width >= FULL_TEXT_WIDTH else names[position][:TEXT_WIDTH]


def _month(moment: _Moment, width: int) -> str:
    if width >= TEXT_WIDTH:
        return _name(MONTHS, moment.month - 1, width)
    return _padded(moment.month, width)


def _fraction(moment: _Moment, width: int) -> str:
    return f"{moment.millis % 1000:03d}".ljust(width, "0")[:width]


def _offset(moment: _Moment, width: int) -> str:
    if width > TWO_DIGITS and moment.zone_id is not None:
        return moment.zone_id
    if width > TWO_DIGITS and moment.offset_millis == 0:
        return "UTC"
    return offset_text(moment.offset_millis, ":" if width >= TWO_DIGITS else "")


def offset_text(offset_millis: int, separator: str) -> str:
    """An offset from UTC as ``+05:30``."""
    sign = "-" if offset_millis < 0 else "+"
    hours, rest = divmod(abs(offset_millis), HOUR_MILLIS)
    minutes, rest = divmod(rest, 60_000)
    fields = [f"{hours:02d}", f"{minutes:02d}"]
    if rest:
        fields.append(f"{rest // 1000:02d}")
    return sign + separator.join(fields)


def _hour(moment: _Moment) -> int:
    return moment.millis // HOUR_MILLIS


_FORMATS: dict[str, Callable[[_Moment, int], str]] = {
    "G": lambda at, _: "AD" if at.year > 0 else "BC",
    "C": lambda at, width: _padded((at.year if at.year > 0 else 1 - at.year) // 100, width),
    "Y": lambda at, width: _year(at.year if at.year > 0 else 1 - at.year, width),
    "y": lambda at, width: _year(at.year, width),
    "x": lambda at, width: _year(_week(at.days)[0], width),
    "w": lambda at, width: _padded(_week(at.days)[1], width),
    "e": lambda at, width: _padded(weekday_of_days(at.days), width),
    "E": lambda at, width: _name(WEEKDAYS, weekday_of_days(at.days) - 1, width),
    "D": lambda at, width: _padded(at.days - days_of_civil(at.year, 1, 1) + 1, width),
    "M": _month,
    "d": lambda at, width: _padded(at.day, width),
    "a": lambda at, _: HALVES[_hour(at) // 12],
    "K": lambda at, width: _padded(_hour(at) % 12, width),
    "h": lambda at, width: _padded(_hour(at) % 12 or 12, width),
    "H": lambda at, width: _padded(_hour(at), width),
    "k": lambda at, width: _padded(_hour(at) or 24, width),
    "m": lambda at, width: _padded(at.millis // 60_000 % 60, width),
    "s": lambda at, width: _padded(at.millis // 1000 % 60, width),
    "S": _fraction,
    "Z": _offset,
}
