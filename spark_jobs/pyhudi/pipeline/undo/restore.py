"""Restore from request to result: a table goes back to a savepoint."""

from __future__ import annotations

from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.service_run import ServiceRun, deleted_files
from pyhudi.services.recovery import recover
from pyhudi.services.undo.restore import (
    check_restorable,
    find_savepoint,
    finish_restores,
    restore,
    restored_to,
)
from pyhudi.table.savepoints import pending_restores
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.spans import nobody_writing


def restore_table(environment: Environment, request: RestoreRequest) -> JobResult:
    """Carry out a request to take a table back to a savepoint.

    Raises:
        RequestError: there is no such savepoint, or what it keeps is not there. Nothing was
            changed.
        ConflictError: writers were at work for too long.
        PlatformError: disk, network or runner failed; who writes next finishes a restore that had
            begun.
    """
    run = ServiceRun.of(environment, request)
    return run.in_turn(lambda: _restore(run, run.digits(request.instant)))


def _restore(run: ServiceRun, savepoint: str) -> JobResult:
    table = run.table.refresh()
    find_savepoint(table, savepoint)
    if not pending_restores(table.timeline):
        check_restorable(table, savepoint)
    run.without_metadata_table()
    writer = run.writer()
    with run.watch.stage("restore"):
        finished = finish_restores(writer)
        recover(writer)
        with nobody_writing(writer) as own:
            done = restore(writer, run.table.refresh(), savepoint, own)
    if done is not None:
        return _told(run, "committed", done)
    earlier = _earlier(run, savepoint)
    if earlier is None:
        return run.result("nothing_to_do", reason=f"nothing came after savepoint {savepoint}")
    is_new = earlier.time in (each.time for each in finished)
    return _told(run, "committed" if is_new else "already_committed", earlier)


def _earlier(run: ServiceRun, savepoint: str) -> Instant | None:
    """The restore after which nothing came: it went back to this savepoint."""
    active = run.table.active
    for found in reversed(active.load().completed().instants):
        if found.action is Action.RESTORE and restored_to(active, found) == savepoint:
            return found
    return None


def _told(run: ServiceRun, status: Status, done: Instant) -> JobResult:
    completed = run.table.active.completed(done)
    rollbacks = run.table.active.read_restore(completed).rollbacks.values()
    return run.result(
        status,
        completed,
        partitions=tuple(sorted({path for each in rollbacks for path in each.partitions})),
        files=deleted_files(rollbacks),
    )
