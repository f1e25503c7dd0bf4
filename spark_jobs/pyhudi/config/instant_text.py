"""Instants as people write them."""

from __future__ import annotations

import re
from datetime import datetime

from pyhudi.errors import OptionError

_DIGITS = re.compile(r"\d{14}|\d{17}")
_FORMATS = {10: "%Y-%m-%d", 19: "%Y-%m-%d %H:%M:%S", 23: "%Y-%m-%d %H:%M:%S.%f"}
_EXAMPLES = "20260102030405678, 2026-01-02 or 2026-01-02 03:04:05.678"


def normalise_instant(text: str) -> str:
    """The instant time that a text names, in the digits that instants are compared by.

    17 or 14 digits stand for themselves, a date for its midnight, and a time without milliseconds
    for the last one of its second. The zone is the timeline's own.

    Raises:
        OptionError: no instant, date, or date and time.
    Source: HoodieSqlCommonUtils.formatQueryInstant, HoodieInstantTimeGenerator, Hudi 0.15 and 1.1.
    """
    given = text.strip()
    if _DIGITS.fullmatch(given):
        return given
    try:
        moment = datetime.strptime(given, _FORMATS[len(given)])  # noqa: DTZ007 - the table's zone
    except (KeyError, ValueError):
        raise OptionError(f"{text!r} is no instant; write it as {_EXAMPLES}") from None
    milliseconds = 999 if len(given) == 19 else moment.microsecond // 1000
    return f"{moment:%Y%m%d%H%M%S}{milliseconds:03d}".rjust(17, "0")
