"""Savepoints from request to result: create, delete or list them."""

from __future__ import annotations

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.errors import AlreadyExistsError, RequestError
from pyhudi.jobs.result import JobResult, Status
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.service_run import ServiceRun
from pyhudi.services.undo.savepoint import Note, create_savepoint, delete_savepoint
from pyhudi.table.savepoints import savepoints
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant, State


def savepoint_table(environment: Environment, request: SavepointRequest) -> JobResult:
    """Carry out a request about a table's savepoints.

    Raises:
        RequestError: the write is not there, or its files may have been cleaned.
        ConflictError: others took the write back, or cleaned, meanwhile.
        PlatformError: disk or network failed.
    """
    run = ServiceRun.of(environment, request)
    instant = run.digits(request.instant) if request.instant else None
    match request.mode:
        case "list":
            return run.result(
                "nothing_to_do", savepoints=_all(run), reason="the table is as it was"
            )
        case "delete":
            return _delete(run, instant or "")
        case _:
            return _create(run, instant, Note(user=request.user, comment=request.comment))


def latest_write(table: Table) -> str:
    """The write that gets a savepoint where none is named.

    Raises:
        RequestError: there is none yet.
    """
    latest = table.timeline.last_completed
    if latest is None:
        raise RequestError("the table has no write to save yet", where=table.storage.uri)
    return latest.time


def _create(run: ServiceRun, instant: str | None, note: Note) -> JobResult:
    table = run.table
    time = instant or latest_write(table)
    known = dict(savepoints(table.active, table.timeline))
    if time in known:
        return _told(run, "already_committed", time, known[time])
    try:
        with run.watch.stage("savepoint"), run.gate.hold():
            made = create_savepoint(table, run.environment.clock, time, note)
    except AlreadyExistsError:
        made = dict(savepoints(table.active, table.active.load()))[time]
        return _told(run, "already_committed", time, made)
    return _told(run, "committed", time, made)


def _delete(run: ServiceRun, instant: str) -> JobResult:
    with run.watch.stage("savepoint"), run.gate.hold():
        is_deleted = delete_savepoint(run.table, instant)
    if is_deleted:
        return run.result("committed", _savepoint(instant))
    return run.result("nothing_to_do", reason=f"there is no savepoint {instant}")


def _told(run: ServiceRun, status: Status, time: str, made: SavepointMetadata) -> JobResult:
    return run.result(
        status,
        _savepoint(time),
        partitions=tuple(sorted(made.files)),
        files={"saved": len(tuple(made.paths))},
        savepoints=(_entry(time, made),),
    )


def _all(run: ServiceRun) -> tuple[dict[str, object], ...]:
    table = run.table
    return tuple(_entry(time, made) for time, made in savepoints(table.active, table.timeline))


def _entry(time: str, made: SavepointMetadata) -> dict[str, object]:
    return {
        "instant": time,
        "user": made.user,
        "comment": made.comment,
        "created_ms": made.created_ms,
        "files": len(tuple(made.paths)),
    }


def _savepoint(time: str) -> Instant:
    return Instant(time=time, action=Action.SAVEPOINT, state=State.COMPLETED)
