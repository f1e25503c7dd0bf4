"""Which moments of a table's past can be read, and read again with the same answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyhudi.config.read import ReadConfig
from pyhudi.errors import ConflictError, MissingFileError, RequestError
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.timeline.instant import Action, Instant

if TYPE_CHECKING:
    from pyhudi.table.table import Table

_log = logging.getLogger(__name__)


def refuse_unreadable(table: Table, as_of: str) -> None:
    """Refuse an instant whose files may be gone, or which a pending write may still change.

    Raises:
        RequestError: files of that time were cleaned, or its commits archived.
        ConflictError: a write that began before it has not finished.
    Source: TimelineUtils.validateTimestampAsOf, Hudi 0.15 and 1.1; it does not look at the archive.
    """
    refuse_cleaned(table, as_of)
    pending = _first_pending_write(table)
    if pending is not None and pending.time <= as_of:
        raise ConflictError(
            f"the table cannot be read as of {as_of}: the write {pending.time} has not finished, "
            "and what it commits would belong to the answer. Wait for it, ask for an earlier "
            "instant, or read the latest snapshot",
            where=table.storage.uri,
        )


def refuse_cleaned(table: Table, as_of: str) -> None:
    """Refuse an instant whose files may be gone.

    Raises:
        RequestError: files of that time were cleaned, or its commits archived.
    """
    cleaned = earliest_retained(table)
    if cleaned is not None and as_of < cleaned:
        raise RequestError(
            f"the table cannot be read as of {as_of}: it has been cleaned, and what is retained "
            f"begins with {cleaned}. Ask for this instant or a later one; to keep more in future, "
            "raise hoodie.clean.commits.retained",
            where=table.storage.uri,
        )
    saved = {each.time for each in table.timeline if each.action is Action.SAVEPOINT}
    done = table.timeline.write_instants().completed()
    # A saved commit may stay alone where others around it were archived.
    first = next((each for each in done if each.time not in saved), None)
    is_before = first is not None and as_of < first.time and as_of not in saved
    if first is not None and is_before and _is_archived(table):
        raise RequestError(
            f"the table cannot be read as of {as_of}: its commits before {first.time} are archived "
            "and their files may be gone. Ask for this instant or a later one",
            where=table.storage.uri,
        )


def refuse_holes(table: Table, begin: str, end: str | None) -> None:
    """Refuse a range of commits in which one has not finished though a later one has.

    Whoever goes on from the end of the range would never see the rows of the late one.

    Raises:
        ConflictError: such a commit is there.
    Source: TimelineUtils.handleHollowCommitIfNeeded (policy FAIL), Hudi 0.15 and 1.1.
    """
    pending = _first_pending_write(table)
    last = table.timeline.write_instants().completed().last
    if pending is None or last is None:
        return
    newest = last.time if end is None else min(last.time, end)
    if begin < pending.time < newest:
        raise ConflictError(
            f"the changes after {begin} cannot be read: the write {pending.time} has not finished, "
            f"and {newest} after it has. Wait for it, or end the range before it",
            where=table.storage.uri,
        )


def warn_of_no_rows(table: Table, query: ReadConfig) -> None:
    """Say so where a query asks for a time before the table's first commit: it gets no rows.

    Not: an error. Hudi answers with no rows too, and who reads at fixed times may well begin before
    the table does.
    """
    first = table.timeline.write_instants().completed().first
    newest, name = (query.end, "end") if query.as_of is None else (query.as_of, "as_of")
    if first is not None and newest is not None and newest < first.time:
        _log.warning(
            "%s %s is before the first commit of table %s, which is %s: the answer has no rows. "
            "%s is when rows were committed, not a time that their columns tell of",
            name,
            newest,
            table.config.name,
            first.time,
            name,
        )
    elif query.begin is not None and query.end is not None and query.begin > query.end:
        _log.warning(
            "begin %s is after end %s: the answer of table %s has no rows",
            query.begin,
            query.end,
            table.config.name,
        )


def earliest_retained(table: Table, *, but: Instant | None = None) -> str | None:
    """The earliest instant whose files are all there, going by the last clean; None without one.

    A clean that is planned may be deleting at this moment, or go on whenever somebody finishes it.
    One of them, ``but``, is left out of account.
    """
    kept = () if but is None else (but.identity,)
    cleans = [i for i in table.timeline if i.action is Action.CLEAN and i.identity not in kept]
    found = [retained_by(table, clean) for clean in cleans if not clean.is_completed]
    done = [clean for clean in cleans if clean.is_completed]
    found += [retained_by(table, clean) for clean in done[-1:]]
    return max((time for time in found if time is not None), default=None)


def retained_by(table: Table, clean: Instant) -> str | None:
    """The earliest instant whose files a clean leaves, done or not; None where nobody knows."""
    if clean.is_completed:
        return table.active.read_clean(clean).earliest_retained or clean.time
    try:
        plan = table.active.read_clean_plan(clean)
    except MissingFileError:
        return None  # taken from the timeline since it was listed
    if plan is None:
        return None
    return plan.last_completed if plan.earliest is None else plan.earliest.time


def _is_archived(table: Table) -> bool:
    return bool(ArchivedTimeline.of(table.storage, table.config).files())


def _first_pending_write(table: Table) -> Instant | None:
    """The first pending write that may change an answer: one that only moves rows does not."""
    for instant in table.timeline.pending_writes():
        is_rewrite = instant.action is Action.LOG_COMPACTION
        if not is_rewrite and table.active.clustered_groups(instant) is None:
            return instant
    return None
