"""Which instants leave the timeline for the archive. Pure.

Source: HoodieTimelineArchiver, ArchivalUtils, CleanerUtils.getEarliestCommitToRetain,
CompactionUtils.getOldestInstantToRetainForCompaction and
ClusteringUtils.getOldestInstantToRetainForClustering, Hudi 0.15; TimelineArchiverV1 and V2, Hudi
1.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyhudi.actions.archived import CleanBounds
from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.config.options.clean import CleanPolicy
from pyhudi.config.options.compaction import Trigger
from pyhudi.config.table import TableType
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.timeline import Timeline

_SECONDS = "%Y%m%d%H%M%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveBounds:
    """What of a table but its timeline says what may leave that.

    ``last_clean`` is what the plan of the last completed clean says, where there is one.
    ``before`` is the last compaction of the metadata table, whose log files need later instants,
    and empty where none was; None in a table without one that is kept. In an archive that
    ``is_layered``, which is that of layout 2, cleans and rollbacks lie among the commits.
    """

    table_type: TableType
    last_clean: CleanBounds | None = None
    before: str | None = None
    is_layered: bool = False


def plan_archive(
    timeline: Timeline, config: ArchiveConfig, bounds: ArchiveBounds
) -> tuple[Instant, ...]:
    """The instants to archive, oldest first; none where the timeline has not too many.

    Commits leave from the oldest on without a gap, cleans and rollbacks by their own number, or in
    layout 2 with the commits that are later. What stays of commits: as many as
    ``instants_to_keep`` says, the first one that is saved and all later ones, the one before the
    first pending write, what the next compaction is told by, and replacecommits whose replaced
    files may still be there, with all that follow each of these.
    """
    if any(each.action is Action.RESTORE for each in timeline.pending()):
        return ()
    least, most = instants_to_keep(timeline, config)
    completed = timeline.completed()
    commits = completed.write_instants().instants
    left = _that_may_leave(commits, timeline, config, bounds) if len(commits) > most else []
    chosen = left[: len(commits) - least]
    others = _among(timeline, chosen) if bounds.is_layered else _by_number(timeline, least, most)
    chosen += others
    if bounds.before is not None and not bounds.is_layered:
        chosen = [each for each in chosen if each.time < bounds.before]
    return tuple(sorted(chosen, key=lambda each: each.identity))


def _by_number(timeline: Timeline, least: int, most: int) -> list[Instant]:
    """The cleans and rollbacks to archive where each kind is counted by itself."""
    completed, found = timeline.completed(), list[Instant]()
    pending = timeline.write_instants().pending().first
    for action in (Action.CLEAN, Action.ROLLBACK):
        done = [each for each in completed if each.action is action]
        left = done[: len(done) - least] if len(done) > most else []
        # A compaction that is run again is told by the rollbacks of its earlier runs.
        found += [
            each
            for each in left
            if action is Action.CLEAN or pending is None or each.time < pending.time
        ]
    return found


def _among(timeline: Timeline, commits: Sequence[Instant]) -> list[Instant]:
    """The cleans and rollbacks that are older than the latest of the commits that leave."""
    last = commits[-1].time if commits else ""
    done = (each for each in timeline.completed() if each.time < last)
    return [each for each in done if each.action in (Action.CLEAN, Action.ROLLBACK)]


def instants_to_keep(timeline: Timeline, config: ArchiveConfig) -> tuple[int, int]:
    """How many commits stay when some are archived, and how many there may be before.

    Where a clean keeps the files of more commits than options leave on the timeline, all these
    commits stay, and two more.
    """
    least, most = config.least_commits, config.most_commits
    earliest = _earliest_retained(timeline, config)
    if earliest is None:
        return least, most
    commits = timeline.write_instants().completed()
    needed = sum(each.time > earliest for each in commits) + 2
    return (needed, needed + most - least) if needed > least else (least, most)


def _earliest_retained(timeline: Timeline, config: ArchiveConfig) -> str | None:
    """The earliest commit whose files a clean would keep now; None where it keeps all."""
    writes = timeline.write_instants()
    done = writes.completed().instants
    match config.clean_policy:
        case CleanPolicy.COMMITS if len(done) > config.commits_retained:
            found = done[len(done) - config.commits_retained].time
            first = writes.pending().first
            if first is None or found <= first.time:
                return found
            before = [each.time for each in done if each.time < first.time]
            return before[-1] if before else None
        case CleanPolicy.HOURS if done:
            oldest = _earlier(done[-1].time, seconds=config.hours_retained * 3600)
            return next((each.time for each in done if each.time >= oldest), None)
        case _:
            return None


def _that_may_leave(
    commits: Sequence[Instant], timeline: Timeline, config: ArchiveConfig, bounds: ArchiveBounds
) -> list[Instant]:
    """The commits that nothing keeps on the timeline; it is gone through once for all of them."""
    saved = sorted(each.time for each in timeline if each.action is Action.SAVEPOINT)
    stops = (
        None if config.is_beyond_savepoint or not saved else saved[0],
        _before_pending(timeline),
        _for_compaction(timeline, config, bounds.table_type),
        _for_replaced(timeline, bounds.last_clean, saved),
        _after_compaction(commits, bounds.before) if bounds.is_layered else None,
    )
    first = min((stop for stop in stops if stop is not None), default=None)
    return [
        each
        for each in commits
        if (first is None or each.time < first)
        and not (config.is_beyond_savepoint and each.time in saved)
    ]


def _after_compaction(commits: Sequence[Instant], before: str | None) -> str | None:
    """The first commit that ended after the last compaction of the metadata table."""
    if before is None:
        return None
    late = (each.time for each in commits if (each.completion_time or each.time) > before)
    return next(late, None)


def _before_pending(timeline: Timeline) -> str | None:
    """The last commit before the first write, compaction or clustering that is not done."""
    pending = timeline.write_instants().pending().first
    if pending is None:
        return None
    done = timeline.write_instants().completed()
    return max((each.time for each in done if each.time < pending.time), default=pending.time)


def _for_compaction(timeline: Timeline, config: ArchiveConfig, table_type: TableType) -> str | None:
    """From where on delta commits and time are counted until a compaction is due.

    By time alone, and by one or the other, Hudi archives what they are told by, and such a
    compaction of a table that is written often enough never comes.
    """
    if table_type is not TableType.MERGE_ON_READ:
        return None
    done = [each.time for each in timeline.completed() if each.action is Action.COMMIT]
    deltas = [
        each.time
        for each in timeline.write_instants()
        if each.action is Action.DELTA_COMMIT and (not done or each.time > done[-1])
    ]
    begin = done[-1] if done else next(iter(deltas), None)
    if begin is None:
        return None
    stops = []
    if config.trigger is not Trigger.TIME_ELAPSED:
        is_due = len(deltas) >= config.max_delta_commits
        stops.append(deltas[len(deltas) - config.max_delta_commits] if is_due else begin)
    if config.trigger in (Trigger.TIME_ELAPSED, Trigger.NUM_OR_TIME, Trigger.NUM_AND_TIME):
        latest = timeline.latest_time or begin
        old_enough = _earlier(latest, seconds=config.max_delta_seconds)
        stops.append(max((time for time in deltas if time <= old_enough), default=begin))
    return min(stops)


def _for_replaced(
    timeline: Timeline, last_clean: CleanBounds | None, saved: Sequence[str]
) -> str | None:
    """The first replacecommit whose replaced files may still be there.

    Without it on the timeline readers would take them for files that count.
    """
    replaces = [each.time for each in timeline if each.action.completes_as is Action.REPLACE_COMMIT]
    since = "" if last_clean is None else min(_kept_by(timeline, last_clean, saved))
    return next((time for time in replaces if time >= since), None)


def _kept_by(timeline: Timeline, clean: CleanBounds, saved: Sequence[str]) -> Iterator[str]:
    """The instants from which on a clean has left files that were replaced."""
    if clean.earliest_retained is None:
        yield max(each.time for each in timeline.completed() if each.action is Action.CLEAN)
    else:
        yield clean.earliest_retained
    yield from (*clean.savepoints, *saved)


def _earlier(time: str, *, seconds: int) -> str:
    """An instant so many seconds before another."""
    moment = datetime.strptime(time[:14], _SECONDS)  # noqa: DTZ007 - only counted on
    return f"{moment - timedelta(seconds=seconds):{_SECONDS}}{time[14:]}"
