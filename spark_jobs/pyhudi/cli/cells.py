"""A value of a report as people read it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pyhudi.cli.report import Kind, Value

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_SIGNS = {"inserted": "+", "updated": "~", "deleted": "-"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOST = 20
"""Of a longer list so many are shown; JSON has all."""
NOTHING = "-"
"""What stands where a value is not known, or there is none."""


def cell(value: Value, kind: Kind) -> str:
    """The text of a value, on one line and without what a terminal would obey."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], _shown(value, kind))


def counted(number: int, what: str) -> str:
    """A number of things: ``1 file``, ``2,000 files``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _shown(value: Value, kind: Kind) -> str:
    if kind in (Kind.DATA, Kind.NUMBER):
        return _data(value)
    if value is None or value in ("", ()):
        return NOTHING
    match value:
        case str() if kind is Kind.MOMENT:
            return moment(value)
        case Mapping():
            return _counts(value, kind)
        case int() | float() if not isinstance(value, bool):
            return _number(value, kind)
    return _text(value)


def _text(value: Value) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            more = f" and {len(value) - _MOST:,} more" if len(value) > _MOST else ""
            return ", ".join(str(each) for each in value[:_MOST]) + more
    return str(value)


def _data(value: Value) -> str:
    """A value of a row as it is; lists and structs as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def size(size_bytes: float) -> str:
    """Bytes in the largest unit that leaves a number before the point: ``1.5 MiB``."""
    amount, unit = float(size_bytes), 0
    while abs(amount) >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    # What would be shown as 1024.0 is one of the next unit.
    if round(amount, 1) >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:.0f} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """A span in at most two units: ``0.35 s``, ``4.2 s``, ``3m 12s``, ``5h 01m``, ``9d 04h``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    hours = minutes // 60
    return f"{hours}h {minutes % 60:02}m" if hours < 24 else f"{hours // 24}d {hours % 24:02}h"


def moment(digits: str) -> str:
    """The digits of an instant as a date and time, to the second."""
    if len(digits) < 14 or not digits.isdigit():
        return digits
    date = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    return f"{date} {digits[8:10]}:{digits[10:12]}:{digits[12:14]}"


def _number(value: float, kind: Kind) -> str:
    match kind:
        case Kind.SIZE:
            return size(value)
        case Kind.SECONDS:
            return duration(value)
        case Kind.RATIO:
            return f"{value:,.2f}"
        case Kind.SHARE:
            return f"{value:.1%}"
        case Kind.COUNT:
            return f"{value:,}"
    return str(value)


def _counts(counts: Mapping[str, Value], kind: Kind) -> str:
    """Counts that are not 0: of rows with a sign each, as in ``+27,004 ~9 -3``, or with names."""
    found = {name: n for name, n in counts.items() if isinstance(n, int) and n}
    if kind is Kind.CHANGES:
        return " ".join(f"{_SIGNS.get(name, f'{name} ')}{n:,}" for name, n in found.items()) or "0"
    return ", ".join(f"{n:,} {name}" for name, n in found.items()) or "0"
