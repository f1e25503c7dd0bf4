"""Instants as people, Airflow and Hudi write them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Final

from pyhudi.config.options.table import TimelineZone
from pyhudi.errors import OptionError

_DIGITS: Final = re.compile(r"\d{14}|\d{17}")
_TIME: Final = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)"
    r"(?:[T ](\d\d)(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d{1,9}))?)?"
    r" ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?",
    re.IGNORECASE,
)
_FORMS: Final = (
    "an instant's digits as in 20260102030405678, or a date or time as in 2026-01-02, "
    "2026-01-02 03:04, 2026-01-02 03:04:05.678 or 2026-01-02T03:04:05+01:00; one without a zone is "
    "in that of the table's timeline"
)
_SECONDS: Final = "%Y%m%d%H%M%S"
_END_OF_SECOND: Final = "999"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedInstant:
    """An instant that somebody asks for, in digits.

    Without a zone of their own the digits are in that of the timeline they are compared with.
    ``is_exact`` when they were given to the millisecond, or as an instant's own digits.
    """

    digits: str
    zone: timezone | None = None
    is_exact: bool = True

    def on(self, timeline_zone: TimelineZone) -> str:
        """The digits to compare with the instants of a timeline in that zone.

        The zone LOCAL is that of this machine.
        """
        if self.zone is None:
            return self.digits
        moment = datetime.strptime(self.digits[:14], _SECONDS).replace(tzinfo=self.zone)
        is_utc = timeline_zone is TimelineZone.UTC
        there = moment.astimezone(timezone.utc) if is_utc else moment.astimezone()
        return _digits(there, self.digits[14:])

    def moment_ms(self, timeline_zone: TimelineZone) -> int:
        """The moment, the digits of one without a zone of its own being those of a timeline.

        Digits of no time, such as those of a bootstrap, are before all moments there are.

        Units: milliseconds since 1970 in UTC.
        """
        own = timezone.utc if timeline_zone is TimelineZone.UTC else None
        try:
            moment = datetime.strptime(self.digits[:14], _SECONDS).replace(tzinfo=self.zone or own)
            seconds = int(moment.timestamp())
        except (ValueError, OverflowError, OSError):
            return 0
        return seconds * 1000 + int(self.digits[14:] or 0)


def elapsed_seconds(begin: str, end: str) -> float:
    """The whole seconds from one instant to another of the same timeline.

    Digits of no time, such as those of a bootstrap, are those of 1970.

    Source: HoodieActiveTimeline.parseDateFromInstantTimeSafely, Hudi 0.15.
    """
    first, last = (_clock_time(each) for each in (begin, end))
    return (last - first).total_seconds()


def _clock_time(digits: str) -> datetime:
    try:
        return datetime.strptime(digits[:14], _SECONDS)  # noqa: DTZ007 - only the difference counts
    except ValueError:
        return datetime(1970, 1, 1)  # noqa: DTZ001 - as above


def parse_instant(given: str | date) -> AskedInstant:
    """The instant that a text, a date or a time names.

    17 or 14 digits stand for themselves, a date for its midnight, and a time without milliseconds
    for the last one of its second; one without seconds is that minute's first second.

    Raises:
        OptionError: nothing of the kind; the message shows what is.
    Source: HoodieSqlCommonUtils.formatQueryInstant, HoodieInstantTimeGenerator, Hudi 0.15 and 1.1,
        which know digits, ``yyyy-MM-dd`` and ``yyyy-MM-dd HH:mm:ss[.SSS]``.
    """
    text = instant_text(given)
    if _DIGITS.fullmatch(text):
        return AskedInstant(digits=text)
    try:
        return _parse_time(text)
    except ValueError:
        raise OptionError(f"{text!r} is no instant; allowed: {_FORMS}") from None


def instant_text(given: str | date) -> str:
    """The text of an instant that may be given as a date or time, to be parsed where it is used."""
    return given.strip() if isinstance(given, str) else given.isoformat()


def instant_option(text: str) -> AskedInstant:
    """The instant that the text of an option names; refused as options are, with a ValueError."""
    try:
        return parse_instant(text)
    except OptionError:
        raise ValueError(_FORMS) from None


def parse_exact_instant(given: str | date) -> AskedInstant:
    """The one instant that a text or time names to the millisecond.

    Raises:
        OptionError: no instant, or a date or time that many instants may lie in.
    """
    found = parse_instant(given)
    if not found.is_exact:
        raise OptionError(
            f"{str(given)!r} names no single instant: write its digits, as 20260102030405678, or "
            "a time with milliseconds"
        )
    return found


def normalise_instant(given: str | date, zone: TimelineZone = TimelineZone.LOCAL) -> str:
    """The digits of an instant on a timeline in that zone; see ``parse_instant``.

    Raises:
        OptionError: no instant, date or time.
    """
    return parse_instant(given).on(zone)


def _parse_time(text: str) -> AskedInstant:
    matched = _TIME.fullmatch(text)
    if matched is None:
        raise ValueError(text)
    year, _, month, day, hour, _, minute, second, fraction, zone = matched.groups()
    moment = datetime.strptime(  # noqa: DTZ007 - the zone goes beside it
        f"{year}{month}{day}{hour or '00'}{minute or '00'}{second or '00'}", _SECONDS
    )
    if zone and not 1 < moment.year < 9999:
        raise ValueError(text)  # In another zone it may be a time that there is no year for.
    unsaid = "000" if hour is None else _END_OF_SECOND
    milliseconds = f"{fraction}00"[:3] if fraction else unsaid
    return AskedInstant(
        digits=_digits(moment, milliseconds),
        zone=_zone(zone) if zone else None,
        is_exact=fraction is not None,
    )


def _zone(text: str) -> timezone:
    if text.upper() in ("Z", "UTC", "GMT"):
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _digits(moment: datetime, milliseconds: str) -> str:
    return f"{moment:%Y%m%d%H%M%S}{milliseconds}".rjust(17, "0")
