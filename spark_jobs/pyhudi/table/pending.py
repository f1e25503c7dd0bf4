"""What is planned for a table and not done: pending compactions and their plans.

The action is that of compactions or that of log compactions, whose plans are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.errors import MissingFileError
from pyhudi.storage.storage import Storage
from pyhudi.timeline import active
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def read_plan(
    storage: Storage,
    version: TableVersion,
    instant: Instant,
    action: Action = Action.COMPACTION,
) -> CompactionPlan:
    """The plan of a compaction, whatever state the instant has come to.

    Raises:
        MissingFileError: it was unscheduled or archived.
        CorruptTableError: its requested file holds no plan.
    """
    requested = Instant(time=instant.time, action=action, state=State.REQUESTED)
    data = active.read_state(storage, version, requested)
    return CompactionPlan.from_bytes(data, where=f"{storage.uri} at {instant.time}")


def pending_plans(
    storage: Storage,
    version: TableVersion,
    timeline: Timeline,
    action: Action = Action.COMPACTION,
) -> Iterator[tuple[Instant, CompactionPlan]]:
    """The compactions that are requested or inflight, oldest first, with their plans.

    One that was unscheduled since the timeline was listed is left out.

    Source: CompactionUtils.getAllPendingCompactionPlans, Hudi 0.15.
    """
    for instant in timeline.pending():
        if instant.action is action:
            try:
                yield instant, read_plan(storage, version, instant, action)
            except MissingFileError:
                continue


def pending_compactions(
    storage: Storage, version: TableVersion, timeline: Timeline
) -> Mapping[tuple[str, str], str]:
    """The instant of the pending compaction of each file group (partition path, file id) in one.

    New log files of such a file group name this instant as their base, so that the compaction may
    run meanwhile.

    Source: CompactionUtils.getAllPendingCompactionOperations, Hudi 0.15.
    """
    return {
        operation.file_group: instant.time
        for instant, plan in pending_plans(storage, version, timeline)
        for operation in plan.operations
    }


def pending_log_compactions(
    storage: Storage, version: TableVersion, timeline: Timeline
) -> frozenset[tuple[str, str]]:
    """The file groups (partition path, file id) that are in the plan of a log compaction.

    No other log compaction takes them. Writers and compactions need not mind: such a plan is for
    log files that they leave as they are, and is not carried out where they added some.

    Source: CompactionUtils.getAllPendingLogCompactionOperations, Hudi 0.15 and 1.1;
    HoodieCompactionPlanGenerator.filterLogCompactionOperations (false there).
    """
    plans = pending_plans(storage, version, timeline, Action.LOG_COMPACTION)
    return frozenset(each.file_group for _, plan in plans for each in plan.operations)


def find_planned(
    storage: Storage,
    version: TableVersion,
    timeline: Timeline,
    key: str,
    action: Action = Action.COMPACTION,
) -> str | None:
    """The pending compaction whose plan carries an idempotency key; the oldest first."""
    plans = pending_plans(storage, version, timeline, action)
    stamp = IDEMPOTENCY_KEY.key
    return next((at.time for at, plan in plans if plan.extra_metadata.get(stamp) == key), None)
