"""What a command answers, as plain values: facts and grids, each value with its kind. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | Mapping[str, "Value"] | Sequence["Value"] | None
"""A value as JSON has it; of several texts a tuple."""


class Kind(Enum):
    """What a value is, which says how people read it.

    Units: SIZE in bytes, SECONDS in seconds; INSTANT and MOMENT are digits in the table's zone, the
    former to be typed again; RATIO is a factor, SHARE a part of 1; CHANGES are counts of rows by
    what became of them, COUNTS of other things by their names. DATA is a value of a user's, whose
    name is the user's too, NUMBER one that is a number.
    """

    TEXT = "text"
    COUNT = "count"
    SIZE = "size"
    SECONDS = "seconds"
    RATIO = "ratio"
    SHARE = "share"
    INSTANT = "instant"
    MOMENT = "moment"
    CHANGES = "changes"
    COUNTS = "counts"
    DATA = "data"
    NUMBER = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value by its name, in small letters with underscores."""

    name: str
    value: Value
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a grid.

    Where a terminal has no room for all columns, the one of the highest ``rank`` leaves first, of
    several the last. One with a ``least`` width may be folded into lines of so many letters.
    """

    name: str
    kind: Kind = Kind.TEXT
    rank: int = 0
    least: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows of values below columns; ``empty`` is said where there are none."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    empty: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a command answers.

    ``subject`` says in one line what it is about, ``notes`` what else is to be known, in
    sentences. ``has_findings`` when something is not as it must be.
    """

    subject: str
    facts: tuple[Fact, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    has_findings: bool = False
    zone: str = "UTC"
