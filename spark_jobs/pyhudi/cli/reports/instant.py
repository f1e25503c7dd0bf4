"""``pyhudi show`` and ``pyhudi diff``: one instant, and what lies between two."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pyhudi.actions.commit import WriteStat
from pyhudi.cli.history import archived_at, archived_between
from pyhudi.cli.opening import open_given, subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.cli.writes import Told, changes, kind_of, replaced_by, told_by
from pyhudi.config.instant_text import parse_exact_instant, parse_instant
from pyhudi.errors import CorruptTableError, MissingFileError, RequestError
from pyhudi.filegroup.slices import GroupId
from pyhudi.schema.evolution.changes import schema_changes
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant, State

_UNTOLD = ("schema", "latest_schema", "ROLLING_STAT")
"""Entries of a commit that are whole schemas, which ``pyhudi schema`` shows, or say nothing."""

_FILES = (
    Column(name="partition", least=12),
    Column(name="file", least=24),
    Column(name="kind"),
    Column(name="rows", kind=Kind.COUNT),
    Column(name="changes", kind=Kind.CHANGES),
    Column(name="bytes", kind=Kind.SIZE),
)
_PLANNED = (
    Column(name="partition", least=12),
    Column(name="file_id", least=20),
    Column(name="slice", kind=Kind.INSTANT),
    Column(name="logs", kind=Kind.COUNT),
)
_GROUPS = (
    Column(name="partition", least=12),
    Column(name="file_id", least=20),
    Column(name="change"),
    Column(name="writes", kind=Kind.COUNT),
    Column(name="rows", kind=Kind.CHANGES),
    Column(name="bytes", kind=Kind.SIZE),
)
_BETWEEN = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="action"),
    Column(name="operation"),
    Column(name="rows", kind=Kind.CHANGES),
    Column(name="dag_run", rank=1, least=24),
)
_SAID = (
    Column(name="within", least=16),
    Column(name="entry", least=16),
    Column(name="value", least=24),
)


def show(given: argparse.Namespace) -> Report:
    """All that an instant's files say."""
    return instant_report(open_given(given), given.instant)


def instant_report(table: Table, instant: str) -> Report:
    """All that the files of an instant say, whether it is on the timeline or in the archive.

    Raises:
        OptionError: what is given is no instant.
        RequestError: the table has none of this time.
    """
    time = parse_exact_instant(instant).on(table.config.timezone)
    found = [each for each in table.timeline if each.time == time]
    told = told_by(table, found) if found else archived_at(table, time)
    if found and not told:
        raise MissingFileError(f"instant {time} is gone since the timeline was listed: try again")
    if not told:
        raise RequestError(
            f"no instant {time} is on the timeline or in the archive; `pyhudi timeline --archived` "
            "lists those that are",
            where=table.storage.uri,
        )
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(*_facts(told[0]), *(fact for each in told[1:] for fact in _facts_beside(each))),
        grids=tuple(grid for each in told for grid in _grids(table, each)),
    )


def diff(given: argparse.Namespace) -> Report:
    """What was written after one instant, up to and with another."""
    table = open_given(given)
    zone = table.config.timezone
    first, last = sorted(parse_instant(each).on(zone) for each in (given.first, given.last))
    between = [each for each in table.timeline.completed() if first < each.time <= last]
    older = () if table.timeline.goes_back_to(first) else archived_between(table, first, last)
    told = [*older, *told_by(table, between)]
    groups = _groups(told, _replaced(table, told))
    before, after = (table.schema(as_of=each) for each in (first, last))
    return Report(
        subject=f"{subject_of(table)}: after {first}, up to {last}",
        zone=zone_of(table),
        facts=(
            Fact(name="instants", value=len(told), kind=Kind.COUNT),
            Fact(name="rows", value=_row_changes(told), kind=Kind.CHANGES),
            Fact(
                name="bytes_written",
                value=sum(each.size_bytes or 0 for each in told),
                kind=Kind.SIZE,
            ),
            Fact(name="schema_changes", value=schema_changes(before, after)),
        ),
        grids=(
            Grid(
                name="instants_between",
                columns=_BETWEEN,
                rows=tuple(
                    (
                        each.instant.time,
                        each.instant.action.value,
                        each.operation,
                        each.changes,
                        each.dag_run,
                    )
                    for each in told
                ),
            ),
            Grid(name="file_groups", columns=_GROUPS, rows=tuple(groups)),
        ),
    )


def _row_changes(told: Sequence[Told]) -> Mapping[str, int]:
    return changes([stat for each in told if not each.is_service for stat in each.stats])


def _facts(told: Told) -> Iterator[Fact]:
    instant = told.instant
    yield Fact(name="instant", value=instant.time, kind=Kind.INSTANT)
    yield Fact(name="action", value=instant.action.value)
    yield Fact(name="state", value=told.state)
    yield Fact(name="started", value=instant.time, kind=Kind.MOMENT)
    if told.completed is not None:
        yield Fact(name="completed", value=told.completed, kind=Kind.MOMENT)
        yield Fact(name="took", value=told.seconds, kind=Kind.SECONDS)
    if told.problem is not None:
        yield Fact(name="problem", value=told.problem)
    if told.commit is None:
        return
    yield Fact(name="operation", value=told.operation)
    yield Fact(name="rows", value=told.changes, kind=Kind.CHANGES)
    yield Fact(name="bytes_written", value=told.size_bytes, kind=Kind.SIZE)
    extra = told.commit.extra_metadata
    shown = (name for name in extra if name not in _UNTOLD)
    yield from (Fact(name=name, value=extra[name], kind=Kind.DATA) for name in shown)


def _facts_beside(told: Told) -> Iterator[Fact]:
    """What there is of another instant at the same time, as a savepoint has that of its commit."""
    for fact in _facts(told):
        if fact.name not in ("instant", "started"):
            yield replace(fact, name=f"{told.instant.action.value}_{fact.name}")


def _grids(table: Table, told: Told) -> Iterator[Grid]:
    instant = told.instant
    if told.commit is not None:
        rows = tuple(_file_row(stat) for stat in told.stats)
        yield Grid(name="files", columns=_FILES, rows=rows, empty="it wrote none")
        if instant.action is Action.REPLACE_COMMIT:
            yield _replaced_grid(replaced_by(table, told))
    elif told.archived is not None:
        rows = tuple(_flat(told.archived.metadata or {}, ""))
        yield Grid(name="says", columns=_SAID, rows=rows, empty="the archive keeps nothing of it")
    elif instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        plan = table.active.read_compaction_plan(instant)
        rows = tuple(
            (each.partition, each.file_id, each.base_instant, len(each.log_files))
            for each in plan.operations
        )
        yield Grid(name="planned_slices", columns=_PLANNED, rows=rows)
    elif told.problem is None:
        yield Grid(
            name="says", columns=_SAID, rows=tuple(_entries(table, instant)), empty="nothing yet"
        )


def _file_row(stat: WriteStat) -> tuple[Value, ...]:
    path = stat.path or ""
    return (
        stat.partition_path,
        path.rpartition("/")[2] or stat.file_id,
        kind_of(stat),
        stat.num_writes,
        changes((stat,)),
        stat.total_write_bytes,
    )


def _replaced_grid(found: Mapping[str, Sequence[str]]) -> Grid:
    rows = tuple((partition, each) for partition, ids in found.items() for each in ids)
    columns = (Column(name="partition", least=12), Column(name="file_id", least=20))
    return Grid(name="replaced_file_groups", columns=columns, rows=rows)


def _entries(table: Table, instant: Instant) -> Iterator[tuple[Value, ...]]:
    """What an instant's file says: within which entries, by dotted names, which entry says what.

    A pending one may say something in its request alone.
    """
    for state in (instant.state, State.REQUESTED):
        try:
            body = table.active.read_plain(instant.in_state(state)).entries
        except CorruptTableError as error:
            yield "", "problem", str(error)
            return
        if body:
            yield from _flat(body, "")
            return


def _flat(found: Mapping[str, object], at: str) -> Iterator[tuple[Value, ...]]:
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{at}.{name}".lstrip("."))
        elif isinstance(value, (list, tuple)):
            for number, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from _flat(each, f"{at}.{name}.{number}".lstrip("."))
                else:
                    yield at, name, str(each)
        elif value is not None:
            yield at, name, str(value)


def _replaced(table: Table, told: Sequence[Told]) -> set[GroupId]:
    return {
        (partition, file_id)
        for each in told
        for partition, ids in replaced_by(table, each).items()
        for file_id in ids
    }


def _groups(told: Sequence[Told], replaced: set[GroupId]) -> Iterator[tuple[Value, ...]]:
    """What became of each file group that was written or replaced."""
    stats: dict[GroupId, list[tuple[bool, WriteStat]]] = defaultdict(list)
    for each in told:
        for stat in each.stats:
            group = stat.partition_path or "", stat.file_id or ""
            stats[group].append((each.is_service, stat))
    for group in sorted(stats.keys() | replaced):
        own = [stat for _, stat in stats[group]]
        kinds = [kind_of(stat) for stat in own]
        change = "replaced" if group in replaced else kinds[0] if kinds[0] == "new" else kinds[-1]
        yield (
            *group,
            change,
            len(own),
            changes([stat for is_service, stat in stats[group] if not is_service]),
            sum(stat.total_write_bytes for stat in own),
        )
