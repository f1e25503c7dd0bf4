"""``pyhudi timeline`` and ``pyhudi commits``: what happened to a table, one instant a line."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from pyhudi.cli.history import IsAsked, has_archive, newest_archived
from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.cli.writes import Told, changes, kind_of, told_by
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Instant

_TIMELINE = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="started", kind=Kind.MOMENT, rank=4),
    Column(name="action"),
    Column(name="operation", rank=3),
    Column(name="state"),
    Column(name="took", kind=Kind.SECONDS),
    Column(name="rows", kind=Kind.CHANGES),
    Column(name="bytes", kind=Kind.SIZE),
    Column(name="dag_run", rank=1, least=24),
)
_COMMITS = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="started", kind=Kind.MOMENT, rank=4),
    Column(name="operation"),
    Column(name="took", kind=Kind.SECONDS, rank=1),
    Column(name="partitions", kind=Kind.COUNT, rank=1),
    Column(name="new", kind=Kind.COUNT),
    Column(name="rewritten", kind=Kind.COUNT),
    Column(name="log", kind=Kind.COUNT),
    Column(name="rows", kind=Kind.CHANGES),
    Column(name="bytes", kind=Kind.SIZE),
    Column(name="dag_run", rank=2, least=24),
)
_PENDING = "pending instants"
"""None of these is archived."""


def timeline(given: argparse.Namespace) -> Report:
    """The newest instants, the oldest of them first."""
    table = open_given(given)

    def is_asked(instant: Instant) -> bool:
        is_of_state = not (given.pending and instant.is_completed)
        return is_of_state and (not given.action or instant.action.value in given.action)

    found, notes = _newest(table, given, is_asked, _PENDING if given.pending else "instants")
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        grids=(
            Grid(
                name="timeline",
                columns=_TIMELINE,
                rows=tuple(_timeline_row(each) for each in found),
                empty="no such instant",
            ),
        ),
        notes=(*notes, *_problems(found)),
    )


def commits(given: argparse.Namespace) -> Report:
    """The newest completed writes, with what they did to how many files."""
    table = open_given(given)
    found, notes = _newest(
        table, given, lambda each: each.action.writes_rows and each.is_completed, "commits"
    )
    total = sum(each.size_bytes or 0 for each in found)
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="writes", value=len(found), kind=Kind.COUNT),
            Fact(
                name="rows_changed",
                value=changes([s for each in found if not each.is_service for s in each.stats]),
                kind=Kind.CHANGES,
            ),
            Fact(name="bytes_written", value=total, kind=Kind.SIZE),
        ),
        grids=(
            Grid(
                name="commits",
                columns=_COMMITS,
                rows=tuple(_commit_row(each) for each in found),
                empty="nothing was written yet",
            ),
        ),
        notes=(*notes, *_problems(found)),
    )


def _newest(
    table: Table, given: argparse.Namespace, is_asked: IsAsked, what: str
) -> tuple[list[Told], tuple[str, ...]]:
    """The newest instants that are asked for, archived ones if these are, and what is left out."""
    there = [each for each in table.timeline if is_asked(each)]
    found = told_by(table, there[-given.limit :] if given.limit else there)
    if len(found) < len(there):
        return found, (f"The newest {len(found):,} of {len(there):,} {what}; --limit 0 shows all.",)
    if what == _PENDING:
        return found, ()
    if not given.archived:
        is_more = has_archive(table)
        return found, ("Earlier ones are in the archive; --archived shows them.",) * is_more
    missing = given.limit - len(found) if given.limit else None
    found = [*newest_archived(table, missing, is_asked), *found]
    is_cut = given.limit == len(found)
    return found, (f"The newest {len(found):,} {what}; --limit 0 shows all.",) * is_cut


def _timeline_row(told: Told) -> tuple[Value, ...]:
    instant = told.instant
    return (
        instant.time,
        instant.time,
        instant.action.value,
        told.operation,
        told.state,
        told.seconds,
        told.changes,
        told.size_bytes,
        told.dag_run,
    )


def _commit_row(told: Told) -> tuple[Value, ...]:
    kinds = Counter(kind_of(stat) for stat in told.stats)
    return (
        told.instant.time,
        told.instant.time,
        told.operation,
        told.seconds,
        len({stat.partition_path for stat in told.stats}),
        kinds["new"],
        kinds["rewritten"],
        kinds["log"],
        told.changes,
        told.size_bytes,
        told.dag_run,
    )


def _problems(found: Sequence[Told]) -> tuple[str, ...]:
    return tuple(
        f"{each.instant.time} cannot be read: {each.problem}" for each in found if each.problem
    )
