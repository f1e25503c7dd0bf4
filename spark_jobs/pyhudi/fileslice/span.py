"""Which commits an incremental query asks for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow.compute as pc

from pyhudi.schema.metafields import COMMIT_TIME


class CommitSpan(Protocol):
    """Some commits, whose rows are asked for and no others."""

    def holds(self, instant: str) -> bool:
        """Whether the commit requested at that time is one of them."""
        ...

    def may_begin_before(self, instant: str) -> bool:
        """Whether one of them may have been requested by then."""
        ...

    @property
    def condition(self) -> pc.Expression:
        """What their rows meet."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedSpan:
    """The commits requested after an instant, up to and with another one or without end.

    Source: IncrementalRelationV1 and MergeOnReadIncrementalRelationV1, Hudi 1.1 (table version 6).
    """

    after: str
    until: str | None = None

    def holds(self, instant: str) -> bool:
        """By the time it was requested."""
        return self.after < instant and (self.until is None or instant <= self.until)

    def may_begin_before(self, instant: str) -> bool:
        """Those before ``after`` are none of them."""
        return instant > self.after

    @property
    def condition(self) -> pc.Expression:
        """The range of commit times."""
        changed = pc.field(COMMIT_TIME) > self.after
        return changed if self.until is None else changed & (pc.field(COMMIT_TIME) <= self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpan:
    """These commits, by the times that they were requested.

    Source: IncrementalRelationV2, InstantRange (EXACT_MATCH), Hudi 1.0 and 1.1 (table versions 8
    and 9): commits are chosen by when they were completed, their rows by when they were requested.
    """

    instants: frozenset[str]

    def holds(self, instant: str) -> bool:
        """Whether it is named."""
        return instant in self.instants

    def may_begin_before(self, instant: str) -> bool:
        """Whether the first of them was requested by then."""
        return bool(self.instants) and instant >= min(self.instants)

    @property
    def condition(self) -> pc.Expression:
        """The commit times named, and by them the range that statistics are held against."""
        if not self.instants:
            return pc.scalar(False)  # noqa: FBT003
        column, ordered = pc.field(COMMIT_TIME), sorted(self.instants)
        in_range = (column >= ordered[0]) & (column <= ordered[-1])
        return in_range & column.isin(ordered)
