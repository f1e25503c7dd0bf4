"""What a savepoint would keep, and what deleting one would leave to cleans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.plans.undo import sizes_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.filegroup.names import file_path
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.undo.savepoint import latest_write
from pyhudi.services.undo.savepoint import check_deletable, files_to_save
from pyhudi.table.savepoints import savepoints
from pyhudi.table.table import Table

_PARTITIONS = (
    Column(name="partition", least=12),
    Column(name="files", kind=Kind.COUNT),
    Column(name="bytes", kind=Kind.SIZE),
)
_SAVEPOINTS = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="user", least=8),
    Column(name="files", kind=Kind.COUNT),
    Column(name="comment", least=16),
)
_RELEASED = "Files that are released go with the next clean whose policy does not keep them."


def savepoint_plan(table: Table, request: SavepointRequest) -> Report:
    """Which files a savepoint would keep, or which one that is deleted would give up.

    Raises:
        RequestError: what is asked for would be refused.
        ConflictError: others changed the table meanwhile.
    """
    known = dict(savepoints(table.active, table.timeline))
    time = parse_exact_instant(request.instant).on(table.config.timezone) if request.instant else ""
    match request.mode:
        case "list":
            return _listed(table, known)
        case "delete":
            return _deleted(table, known, time)
        case _:
            return _created(table, known, time or latest_write(table))


def _created(table: Table, known: Mapping[str, SavepointMetadata], time: str) -> Report:
    is_there = time in known
    names = known[time].files if is_there else files_to_save(table, time)
    paths = [file_path(partition, name) for partition, own in names.items() for name in own]
    notes = (f"There is a savepoint of {time} already; nothing would change.",) if is_there else ()
    return _report(table, time, "kept", paths, notes)


def _deleted(table: Table, known: Mapping[str, SavepointMetadata], time: str) -> Report:
    check_deletable(table, time)
    if time not in known:
        note = f"There is no savepoint {time}; nothing would change."
        return _report(table, time, "released", (), (note,))
    others = {path for other, kept in known.items() if other != time for path in kept.paths}
    for found in table.latest_slices():
        others |= {log.path for log in found.log_files}
        others |= {found.base_file.path} if found.base_file is not None else set()
    return _report(table, time, "released", set(known[time].paths) - others, (_RELEASED,))


def _report(
    table: Table, time: str, what: str, paths: Iterable[str], notes: tuple[str, ...]
) -> Report:
    sizes = sizes_of(table)
    by_partition: dict[str, list[int]] = defaultdict(list)
    for path in sorted(paths):
        if path in sizes:
            by_partition[path.rpartition("/")[0]].append(sizes[path])
    rows = tuple((path, len(own), sum(own)) for path, own in by_partition.items())
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="savepoint", value=time, kind=Kind.INSTANT),
            Fact(name="files", value=sum(row[1] for row in rows), kind=Kind.COUNT),
            Fact(name="bytes", value=sum(row[2] for row in rows), kind=Kind.SIZE),
        ),
        grids=(
            Grid(
                name=f"{what}_by_partition",
                columns=_PARTITIONS,
                rows=rows,
                empty="no file",
            ),
        ),
        notes=notes,
    )


def _listed(table: Table, known: Mapping[str, SavepointMetadata]) -> Report:
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        grids=(
            Grid(
                name="savepoints",
                columns=_SAVEPOINTS,
                rows=tuple(
                    (time, kept.user, len(tuple(kept.paths)), kept.comment)
                    for time, kept in known.items()
                ),
            ),
        ),
    )
