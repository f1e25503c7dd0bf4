"""What a rollback or a restore would undo."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pyhudi.actions.rollback import RollbackPlan
from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.cli.writes import Told, told_by
from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.filegroup.names import path_to_delete
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.undo.rollback import plan_asked
from pyhudi.services.undo.completed import plan_undo
from pyhudi.services.undo.restore import plan_restore_of
from pyhudi.table.table import Table

_UNDONE = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="action"),
    Column(name="operation", rank=1),
    Column(name="state"),
    Column(name="rows", kind=Kind.CHANGES),
    Column(name="files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
    Column(name="dag_run", rank=2, least=24),
)
_PARTITIONS = (
    Column(name="partition", least=12),
    Column(name="files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
    Column(name="logs_appended", kind=Kind.COUNT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """What undoing one instant takes away: files by partition path, and blocks of log files.

    Shapes: ``logs`` are the names of log files that get a block which takes others back.
    """

    files: Mapping[str, frozenset[str]]
    logs: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, plan: RollbackPlan) -> Gone:
        """What the plan of a rollback names."""
        files: dict[str, set[str]] = defaultdict(set)
        logs: dict[str, set[str]] = defaultdict(set)
        for each in plan.requests:
            paths = (path_to_delete(file, each.partition) for file in each.files_to_delete)
            files[each.partition].update(paths)
            logs[each.partition].update(each.log_blocks)
        return cls(
            files={path: frozenset(own) for path, own in files.items()},
            logs={path: frozenset(own) for path, own in logs.items()},
        )

    @property
    def paths(self) -> frozenset[str]:
        """The files of all partitions."""
        return frozenset(chain.from_iterable(self.files.values()))


def rollback_plan(table: Table, request: RollbackRequest) -> Report:
    """Which files rolling a write back would delete."""
    time = parse_exact_instant(request.instant).on(table.config.timezone)
    plan = plan_asked(table, time)
    return _report(table, {} if plan is None else {time: Gone.of(plan)}, ())


def restore_plan(table: Table, request: RestoreRequest) -> Report:
    """Which instants going back to a savepoint would undo, the newest first."""
    savepoint = parse_exact_instant(request.instant).on(table.config.timezone)
    asked = {info.time for info in plan_restore_of(table, savepoint).instants}
    found = [each for each in table.timeline.write_instants() if each.time in asked]
    gone = {each.time: Gone.of(plan_undo(table, each)) for each in reversed(found)}
    return _report(table, gone, (Fact(name="savepoint", value=savepoint, kind=Kind.INSTANT),))


def _report(table: Table, gone: Mapping[str, Gone], facts: tuple[Fact, ...]) -> Report:
    """What is undone, instant by instant and partition by partition."""
    sizes = sizes_of(table)
    writes = {each.time: each for each in table.timeline.write_instants()}
    told = told_by(table, [writes[time] for time in gone])
    paths = frozenset(chain.from_iterable(each.paths for each in gone.values())) & sizes.keys()
    dead = [each.time for each in table.timeline.pending_writes() if each.time not in gone]
    notes = f"Writes that did not complete are undone first: {', '.join(dead)}." if dead else ""
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            *facts,
            Fact(name="instants", value=len(gone), kind=Kind.COUNT),
            Fact(name="files", value=len(paths), kind=Kind.COUNT),
            Fact(name="bytes", value=sum(sizes[path] for path in paths), kind=Kind.SIZE),
        ),
        grids=(
            Grid(
                name="instants_to_undo",
                columns=_UNDONE,
                rows=tuple(_instant_row(each, gone[each.instant.time], sizes) for each in told),
                empty="none; the table would stay as it is",
            ),
            *_partition_grids(list(gone.values()), sizes),
        ),
        notes=(notes,) if notes else (),
    )


def _instant_row(told: Told, gone: Gone, sizes: Mapping[str, int]) -> tuple[Value, ...]:
    there = gone.paths & sizes.keys()
    return (
        told.instant.time,
        told.instant.action.value,
        told.operation,
        told.instant.state.name.lower(),
        told.changes,
        len(there),
        sum(sizes[path] for path in there),
        told.dag_run,
    )


def _partition_grids(gone: Sequence[Gone], sizes: Mapping[str, int]) -> Iterator[Grid]:
    if gone:
        rows = tuple(_partition_rows(gone, sizes))
        yield Grid(name="partitions", columns=_PARTITIONS, rows=rows, empty="no file would change")


def _partition_rows(gone: Sequence[Gone], sizes: Mapping[str, int]) -> Iterator[tuple[Value, ...]]:
    """Each partition with the files that go, and how many log files get a block."""
    for partition in sorted({path for each in gone for path in (*each.files, *each.logs)}):
        named = frozenset().union(*(each.files.get(partition, ()) for each in gone))
        logs = frozenset().union(*(each.logs.get(partition, ()) for each in gone))
        there = named & sizes.keys()
        yield partition, len(there), sum(sizes[path] for path in there), len(logs)


def sizes_of(table: Table) -> dict[str, int]:
    """The bytes of every data file by its path."""
    found = table.listing.files()
    logs = {log.path: log.size_bytes for log in (*found.log_files, *found.cdc_files)}
    return logs | {file.path: file.size_bytes for file in found.base_files}
