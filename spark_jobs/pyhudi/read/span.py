"""As of when a table is read, and which commits an incremental query asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyhudi.config.options.keygen import POPULATE_META_FIELDS
from pyhudi.config.read import EARLIEST, QueryType, ReadConfig
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.fileslice.span import CommitSpan, NamedSpan, RequestedSpan
from pyhudi.read.retention import refuse_cleaned, refuse_holes, refuse_unreadable
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.timeline.clock import day_before

if TYPE_CHECKING:
    from pyhudi.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The state of a table that a query asks for, and the commits whose rows it asks for.

    ``as_of`` is the instant after which nothing is seen of the ``table``; None for all of it.
    ``span`` is None where rows of every commit are asked for.
    """

    table: Table
    as_of: str | None = None
    span: CommitSpan | None = None


def asked_of(table: Table, query: ReadConfig) -> Asked:
    """What a query asks of a table.

    An incremental query finds the rows as they were at its end, so that a row which changed again
    later has its older values.

    Raises:
        RequestError: an instant out of reach, or an incremental query without begin.
        UnsupportedError: a table that does not know which rows changed when.
        ConflictError: an unfinished write belongs to the answer.
    Source: IncrementalRelation, Hudi 0.15; IncrementalRelationV2, Hudi 1.1.
    """
    if query.query_type is not QueryType.INCREMENTAL:
        if query.as_of is not None:
            refuse_unreadable(table, query.as_of)
        return Asked(table=table, as_of=query.as_of)
    if query.begin is None:
        raise RequestError("an incremental query needs begin, the instant to start after")
    if not table.config.populate_meta_fields:
        raise UnsupportedError(
            f"table {table.config.name} has no meta columns ({POPULATE_META_FIELDS.key}=false), "
            "so it does not know which rows changed when",
            where=table.storage.uri,
        )
    if table.config.version.timeline_layout is TimelineLayout.ONE:
        return _by_request(table, query.begin, query.end)
    return _by_completion(table, query.begin, query.end)


def _by_request(table: Table, begin: str, end: str | None) -> Asked:
    """The commits requested after one instant and up to another."""
    refuse_holes(table, begin, end)
    span = RequestedSpan(after=begin, until=end)
    last = table.timeline.write_instants().completed().last
    if end is None or last is None or end >= last.time:
        return Asked(table=table, span=span)
    refuse_unreadable(table, end)
    return Asked(table=table, as_of=end, span=span)


def _by_completion(table: Table, begin: str, end: str | None) -> Asked:
    """The commits completed after one time and up to another.

    A write that has not finished holds nobody up: whoever goes on from the end finds it later.
    """
    completions = table.timeline.completions()
    by_then = [time for time, done in completions.items() if end is None or done <= end]
    seen = table if end is None else table.completed_by(end)
    if len(by_then) == len(completions):
        seen = table
    elif by_then:
        refuse_cleaned(table, max(by_then))
    if begin == EARLIEST:
        return Asked(table=seen, span=RequestedSpan(after=begin))
    # A write is taken to last a day at most, as Hudi takes it.
    earliest = day_before(begin)
    if earliest < table.timeline.start:
        archived = ArchivedTimeline.of(table.storage, table.config)
        completions = {**archived.completions_since(earliest), **completions}
    named = frozenset(
        time for time, done in completions.items() if begin < done and (end is None or done <= end)
    )
    return Asked(table=seen, span=NamedSpan(instants=named))
