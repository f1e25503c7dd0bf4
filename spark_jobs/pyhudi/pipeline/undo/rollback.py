"""Rollback from request to result: what completed last, or anything that did not complete."""

from __future__ import annotations

from contextlib import suppress

from pyhudi.actions.rollback import RollbackPlan
from pyhudi.errors import MissingFileError, RequestError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.service_run import ServiceRun, deleted_files
from pyhudi.services.left_files import plan_rollback
from pyhudi.services.recovery import recover
from pyhudi.services.rollback import (
    revert_compaction,
    roll_back,
    rollback_target,
    rollbacks_of,
)
from pyhudi.services.undo.completed import plan_rollback_of, roll_back_completed
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.exclusion import at_work
from pyhudi.transaction.heartbeat import give_heartbeat_up
from pyhudi.transaction.spans import nobody_committing, take_heartbeat

_PLANNED = (Action.COMPACTION, Action.LOG_COMPACTION)


def rollback_table(environment: Environment, request: RollbackRequest) -> JobResult:
    """Carry out a request to roll a write back.

    The latest completed write is taken back, or one that did not complete; a compaction that did
    not, goes back to its plan.

    Raises:
        RequestError: there is no such write, or later writes, a savepoint or a plan are in the
            way. Nothing was changed.
        ConflictError: writers were at work for too long.
        PlatformError: disk, network or runner failed; who writes next goes on from there.
    """
    run = ServiceRun.of(environment, request)
    return run.in_turn(lambda: _roll_back(run, run.digits(request.instant)))


def plan_asked(table: Table, time: str) -> RollbackPlan | None:
    """What a request to roll a write back would delete; None where it would change nothing.

    Raises:
        RequestError: there is no such write, or something is in the way.
    """
    found = _find(table, time)
    if found is None:
        _rollback_that_undid(table, time)
        return None
    if _is_plan_alone(found):
        return None
    return plan_rollback_of(table, found) if found.is_completed else plan_rollback(table, found)


def _roll_back(run: ServiceRun, time: str) -> JobResult:
    before = _find(run.table.refresh(), time)
    if before is not None and _is_plan_alone(before):
        return run.result(
            "nothing_to_do",
            reason=f"{before.action.value} {time} is planned and has not run; the job compaction "
            "takes a plan back with the mode unschedule",
        )
    active = run.table.active
    if not rollbacks_of(active, active.load().pending(), time):
        if before is None:
            return _done(run, run.table.refresh(), time, is_new=False)
        if before.is_completed:
            # What is refused changes nothing; what others change meanwhile is seen further down.
            with suppress(MissingFileError):
                plan_rollback_of(run.table.refresh(), before)
    run.without_metadata_table()
    with run.watch.stage("rollback"):
        _undo(run, time)
    return _done(run, run.table.refresh(), time, is_new=True)


def _undo(run: ServiceRun, time: str) -> None:
    writer = run.writer()
    recover(writer)
    found = _find(run.table.refresh(), time)
    if found is None:  # a dead write, which is undone by now
        return
    if not found.is_completed and found.action is Action.COMPACTION:
        take_heartbeat(writer, found)
        try:
            revert_compaction(run.table, writer.clock, found, writer.delete)
        finally:
            give_heartbeat_up(writer.storage, time)
        return
    with nobody_committing(writer):
        table = run.table.refresh()
        found = _find(table, time)
        if found is not None and found.is_completed:
            roll_back_completed(table, writer.clock, found, writer.delete)
        elif found is not None:
            if writer.is_alive(time):
                raise at_work(writer, [time])
            roll_back(table, writer.clock, time, writer.delete)


def _find(table: Table, time: str) -> Instant | None:
    found = [each for each in table.timeline.write_instants() if each.time == time]
    return found[0] if found else None


def _is_plan_alone(found: Instant) -> bool:
    """Whether it is a compaction that has not run, which a rollback leaves as it is."""
    return found.state is State.REQUESTED and found.action in _PLANNED


def _done(run: ServiceRun, table: Table, time: str, *, is_new: bool) -> JobResult:
    """The result, told by the rollback that is on the timeline.

    Raises:
        RequestError: there is none, and no such write.
    """
    found = _rollback_that_undid(table, time)
    done = table.active.read_rollback(found)
    return run.result(
        "committed" if is_new else "already_committed",
        found,
        partitions=tuple(sorted(done.partitions)),
        files=deleted_files([done]),
    )


def _rollback_that_undid(table: Table, time: str) -> Instant:
    """The completed rollback of a write.

    Raises:
        RequestError: there is none, and no such write.
    """
    for found in reversed(table.timeline.completed().instants):
        target = rollback_target(table.active, found)
        if target is not None and target.time == time:
            return found
    last = table.timeline.last_completed
    archived = ArchivedTimeline.of(table.storage, table.config).writes_since(time)
    what = f"instant {time} is archived, and cannot be rolled back"
    raise RequestError(
        f"{what if time in archived else f'there is no write at instant {time}'}; the latest is "
        f"{last.time if last else 'none'}",
        where=table.storage.uri,
    )
