"""A value of a report as people read it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyhudi.cli.report import Kind, Value

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_SIGNS = {"inserted": "+", "updated": "~", "deleted": "-"}
NOTHING = "-"
"""What stands where a value is not known, or there is none."""


def cell(value: Value, kind: Kind) -> str:
    """The text of a value."""
    if value is None or value in ("", ()):
        return NOTHING
    match kind:
        case Kind.MOMENT if isinstance(value, str):
            return moment(value)
        case Kind.CHANGES if isinstance(value, Mapping):
            return _changes(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, kind)
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    """A span in at most two units: ``0.35 s``, ``4.2 s``, ``3m 12s``, ``5h 01m``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    return f"{minutes // 60}h {minutes % 60:02}m"


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


def _changes(changes: Mapping[str, Value]) -> str:
    """Counts of rows with a sign each: ``+27,004 ~9 -3``; ``0`` where none changed."""
    parts = (
        f"{_SIGNS.get(name, name + ' ')}{count:,}"
        for name, count in changes.items()
        if isinstance(count, int) and count
    )
    return " ".join(parts) or "0"
