"""What is planned for a table and not done: compactions with their plans, and clusterings.

The action is that of compactions or that of log compactions, whose plans are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.filegroup.slices import GroupId
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline


def pending_plans(
    active: ActiveTimeline, timeline: Timeline, action: Action = Action.COMPACTION
) -> Iterator[tuple[Instant, CompactionPlan]]:
    """The compactions that are requested or inflight, oldest first, with their plans.

    One that was unscheduled since the timeline was listed is left out.

    Raises:
        CorruptTableError: one that is pending has no plan, or one that cannot be read.
    Source: CompactionUtils.getAllPendingCompactionPlans, Hudi 0.15.
    """
    for instant in timeline.pending():
        if instant.action is action:
            try:
                plan = active.read_compaction_plan(instant)
            except MissingFileError as error:
                if active.load().contains(instant.time):
                    raise CorruptTableError(
                        f"the {instant.action.value} {instant.time} is pending and its plan is "
                        "gone, so it is not known which file groups it has; restore "
                        f"{active.where(instant.in_state(State.REQUESTED))}",
                        where=active.storage.uri,
                    ) from error
                continue
            yield instant, plan


def pending_compactions(active: ActiveTimeline, timeline: Timeline) -> Mapping[GroupId, str]:
    """The instant of the pending compaction of each file group that is in one.

    New log files of such a file group name this instant as their base, so that the compaction may
    run meanwhile.

    Source: CompactionUtils.getAllPendingCompactionOperations, Hudi 0.15.
    """
    return {
        operation.file_group: instant.time
        for instant, plan in pending_plans(active, timeline)
        for operation in plan.operations
    }


def pending_log_compactions(active: ActiveTimeline, timeline: Timeline) -> frozenset[GroupId]:
    """The file groups that are in the plan of a log compaction.

    No other log compaction takes them. Writers and compactions need not mind: such a plan is for
    log files that they leave as they are, and is not carried out where they added some.

    Source: CompactionUtils.getAllPendingLogCompactionOperations, Hudi 0.15 and 1.1;
    HoodieCompactionPlanGenerator.filterLogCompactionOperations (false there).
    """
    plans = pending_plans(active, timeline, Action.LOG_COMPACTION)
    return frozenset(each.file_group for _, plan in plans for each in plan.operations)


def clustered_groups(active: ActiveTimeline, timeline: Timeline) -> frozenset[GroupId]:
    """Every file group under a pending clustering: to be left as it is until that has ended.

    Source: SparkRejectUpdateStrategy and UpsertPartitioner.filterSmallFilesInClustering, Hudi 0.15.
    """
    found = (active.clustered_groups(instant) or () for instant in timeline.pending())
    return frozenset(group for groups in found for group in groups)


def condemned_files(
    active: ActiveTimeline, timeline: Timeline, since: str
) -> frozenset[tuple[str, str]]:
    """The files that cleans later than an instant were planned to delete: partitions and names.

    Such a clean may be at work still, or for one who carries it out a second time, when it is
    completed.
    """
    found: set[tuple[str, str]] = set()
    for clean in timeline:
        if clean.action is Action.CLEAN and clean.time > since:
            with suppress(MissingFileError):
                plan = active.read_clean_plan(clean)
                names = {} if plan is None else plan.names
                found.update((path, name) for path, every in names.items() for name in every)
    return frozenset(found)


def find_planned(
    active: ActiveTimeline, timeline: Timeline, key: str, action: Action = Action.COMPACTION
) -> str | None:
    """The pending compaction whose plan carries an idempotency key; the oldest first."""
    plans = pending_plans(active, timeline, action)
    stamp = IDEMPOTENCY_KEY.key
    return next((at.time for at, plan in plans if plan.extra_metadata.get(stamp) == key), None)
