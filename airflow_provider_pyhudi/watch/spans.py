"""Spans of time that commits say they hold the data of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone

from pyhudi.errors import OptionError

BEGIN, END = "airflow.data_interval_start", "airflow.data_interval_end"
"""The entries of a commit's extra metadata that say of which data interval it is."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """From a moment to before another."""

    begin: datetime
    end: datetime


def span_of(stamp: Mapping[str, str | None]) -> Span | None:
    """The data interval that a commit is stamped with; None without one that has a length."""
    try:
        begin, end = (_moment(stamp.get(name) or "") for name in (BEGIN, END))
    except ValueError:
        return None
    return Span(begin=begin, end=end) if begin < end else None


def parse_moment(given: str | date, name: str) -> datetime:
    """A time in ISO 8601, in UTC unless it says otherwise.

    Raises:
        OptionError: it is no time; names the argument.
    """
    try:
        return _moment(given if isinstance(given, str) else given.isoformat())
    except ValueError:
        raise OptionError(
            f"{name} is {str(given)!r}, which is no time; it takes ISO 8601, such as "
            "2026-01-02T03:04:05+00:00"
        ) from None


def reached(spans: Iterable[Span], begin: datetime) -> datetime:
    """Up to when the spans go on without a gap from a moment on; that moment where none begins."""
    end = begin
    for span in sorted(spans):
        if span.begin > end:
            break
        end = max(end, span.end)
    return end


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
