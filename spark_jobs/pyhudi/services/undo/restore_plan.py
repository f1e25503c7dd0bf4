"""Which instants a restore undoes, and what speaks against it. Pure.

Source: RestorePlanActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from pyhudi.actions.restore import RestorePlan
from pyhudi.actions.rollback import InstantInfo
from pyhudi.config.options.archive import BEYOND_SAVEPOINT
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline


def plan_restore(
    timeline: Timeline,
    savepoint: str,
    *,
    clustering: Collection[str],
    begun_as: Callable[[Instant], Action],
) -> RestorePlan:
    """Everything that was written or planned after a savepoint, the newest first.

    Where the timeline tells when writes were completed the newest is what was completed last, and
    what is pending comes before it: writes go on beside a compaction that takes long.

    The instant that keeps writers out meanwhile is among it: Hudi refuses to finish the restore of
    one who died where a pending write is left. ``clustering`` are the times of pending clusterings,
    which go before all others.

    A service that completed under another action than it began with, which ``begun_as`` tells, is
    named by both: half undone it has the one that it began with, and Hudi would not know it by the
    other.

    Source: RestorePlanActionExecutor.execute, Hudi 0.15, which goes by requested time, and 1.1.
    """
    after, later = timeline.after(savepoint), list[InstantInfo]()
    for found in sorted(timeline.write_instants(), key=_age, reverse=True):
        if found in after:
            actions = dict.fromkeys((found.action, begun_as(found)))
            later.extend(InstantInfo(time=found.time, action=each.value) for each in actions)
    first = [info for info in later if info.time in clustering]
    return RestorePlan(
        savepoint=savepoint,
        instants=(*first, *(info for info in later if info.time not in clustering)),
    )


def _age(instant: Instant) -> tuple[bool, str, tuple[str, str]]:
    ended = instant.completion_time
    return ended is None, ended or "", instant.identity


def written_beside(plan: RestorePlan, timeline: Timeline) -> tuple[str, ...]:
    """The completed writes after the savepoint of a plan that it does not know."""
    if plan.savepoint is None:
        return ()
    known, after = {info.time for info in plan.instants}, timeline.after(plan.savepoint)
    completed = timeline.write_instants().completed()
    return tuple(each.time for each in completed if each in after and each.time not in known)


def why_not_restored(
    timeline: Timeline,
    savepoint: str,
    *,
    saved: Iterable[str],
    present: Collection[str],
    instants: Iterable[str],
    archived: Collection[str],
) -> str | None:
    """What keeps a table from going back to a savepoint, in words; None for nothing.

    ``saved`` are the paths of the files that the savepoint keeps, ``present`` those that there are,
    ``instants`` those that base files have, and ``archived`` the times of archived writes.
    """
    lost = sorted(path for path in saved if path not in present)
    if lost:
        return f"{len(lost)} of the files that it keeps are gone, the first is {lost[0]}"
    later = [each.time for each in timeline.completed() if each.action is Action.SAVEPOINT]
    later = [time for time in later if time > savepoint]
    if later:
        return f"savepoint {later[-1]} is later; delete that first"
    is_committed = timeline.committed_test()
    known = {found.time for found in timeline.write_instants()}
    gone = {time for time in instants if is_committed(time)} | {*archived}
    gone = {time for time in gone if time > savepoint and time not in known}
    if gone:
        return (
            f"{len(gone)} writes after it have been archived, the first is {min(gone)}, and cannot "
            f"be undone; where {BEYOND_SAVEPOINT.key} is false such writes stay on the timeline"
        )
    return None
