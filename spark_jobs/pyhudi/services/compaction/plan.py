"""Whether a compaction is due, and which file slices it takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final

from pyhudi.actions.compaction import CompactionOperation, CompactionPlan
from pyhudi.config.instant_text import elapsed_seconds
from pyhudi.config.options.compaction import STRATEGY, CompactionConfig, Strategy, Trigger
from pyhudi.errors import OptionError
from pyhudi.filegroup.slices import FileSlice, GroupId
from pyhudi.timeline.instant import Action
from pyhudi.timeline.timeline import Timeline

LOG_BYTES: Final = "TOTAL_LOG_FILES_SIZE"
_IO_MB: Final = "TOTAL_IO_MB"
_MB: Final = 1 << 20
_DAY = re.compile(r"(\d+)/(\d+)/(\d+)")
_PARTITION_KEY = re.compile(r"(^|/)[^/=]*=")


def is_due(timeline: Timeline, config: CompactionConfig, at: str) -> bool:
    """Whether a compaction is to be planned at an instant.

    Delta commits are counted from the last completed compaction on, or from the last plan where the
    trigger says so; before the first compaction all count, and time runs from the first of them.
    Where completion times are known, those count that were completed later.

    Source: ScheduleCompactionActionExecutor.needCompact and CompactionUtils, Hudi 0.15 and 1.1.
    """
    since = _last_compaction(timeline, config.trigger)
    commits = [
        instant.time
        for instant in timeline.completed()
        if instant.action is Action.DELTA_COMMIT
        and (instant.completion_time or instant.time) > since
    ]
    if not commits and not since:
        return False
    has_many = len(commits) >= config.max_delta_commits
    is_old = elapsed_seconds(since or commits[0], at) >= config.max_delta_seconds
    match config.trigger:
        case Trigger.TIME_ELAPSED:
            return is_old
        case Trigger.NUM_OR_TIME:
            return has_many or is_old
        case Trigger.NUM_AND_TIME:
            return has_many and is_old
        case _:
            return has_many


def plan_compaction(
    slices: Sequence[FileSlice],
    claimed: Collection[GroupId],
    config: CompactionConfig,
    *,
    at: str,
    full_file_bytes: int,
) -> CompactionPlan:
    """The plan of a compaction at an instant; without operations when there is nothing to compact.

    Slices without log files, and file groups that are ``claimed``, are left alone.

    Shapes: ``slices`` are the latest of all file groups, those without log files included.
    Units: ``full_file_bytes`` is what a base file is taken to become where there is none yet.

    Raises:
        OptionError: a strategy that goes by days, in a table that is not partitioned by day.
    Source: BaseHoodieCompactionPlanGenerator.generateCompactionPlan, Hudi 0.15 and 1.1.
    """
    today = datetime.strptime(at[:8], "%Y%m%d").date()  # noqa: DTZ007 - a day by the table's zone
    partitions = sorted({each.partition for each in slices})
    for strategy in config.strategies:
        partitions = _partitions(strategy, partitions, config, today)
    chosen = frozenset(partitions)
    operations = [
        operation_of(each, full_file_bytes)
        for each in slices
        if each.log_files
        and each.partition in chosen
        and (each.partition, each.file_id) not in claimed
    ]
    for strategy in config.strategies:
        operations = _operations(strategy, operations, config, today)
    return CompactionPlan(operations=tuple(operations))


def _last_compaction(timeline: Timeline, trigger: Trigger) -> str:
    if trigger is Trigger.NUM_COMMITS_AFTER_LAST_REQUEST:
        pending = [each.time for each in timeline.pending() if each.action is Action.COMPACTION]
        if pending:
            return pending[-1]
    done = [each.time for each in timeline.completed() if each.action is Action.COMMIT]
    return done[-1] if done else ""


def operation_of(found: FileSlice, full_file_bytes: int) -> CompactionOperation:
    """A slice as plans have it.

    Units: ``full_file_bytes`` is what a base file is taken to become where there is none yet.
    """
    base = found.base_file
    return CompactionOperation(
        partition=found.partition,
        file_id=found.file_id,
        base_instant=found.base_instant,
        base_file=None if base is None else base.name,
        log_files=tuple(str(log.name) for log in found.log_files),
        metrics=_metrics(found, full_file_bytes),
        bootstrap_file=None if base is None or base.source is None else base.source.uri,
    )


def _metrics(found: FileSlice, full_file_bytes: int) -> Mapping[str, float]:
    """What a plan says of the size of an operation.

    Source: FileSliceMetricUtils.addFileSliceCommonMetrics, Hudi 0.15 and 1.1 (whole megabytes).
    """
    base_bytes = 0 if found.base_file is None else found.base_file.size_bytes
    log_bytes = sum(log.size_bytes for log in found.log_files)
    read_mb, write_mb = (base_bytes + log_bytes) // _MB, (base_bytes or full_file_bytes) // _MB
    return {
        "TOTAL_LOG_FILES": float(len(found.log_files)),
        _IO_MB: float(read_mb + write_mb),
        "TOTAL_IO_READ_MB": float(read_mb),
        LOG_BYTES: float(log_bytes),
        "TOTAL_IO_WRITE_MB": float(write_mb),
    }


def _partitions(
    strategy: Strategy, partitions: Sequence[str], config: CompactionConfig, today: date
) -> list[str]:
    """The partitions that a strategy looks into.

    Source: CompactionStrategy.filterPartitionPaths and its overrides, Hudi 0.15.
    """
    match strategy:
        case Strategy.DAYS | Strategy.DAYS_BOUNDED_IO:
            newest = sorted(partitions, key=lambda path: path.replace("/", "-"), reverse=True)
            return newest[: config.target_partitions]
        case Strategy.RECENT_DAYS:
            return [path for path in partitions if _is_recent(path, config, today)]
        case Strategy.EARLIER_DAYS:
            return [path for path in partitions if not _is_recent(path, config, today)]
        case Strategy.PARTITION_PATTERN:
            pattern = config.partition_pattern
            return [path for path in partitions if pattern is None or pattern.search(path)]
        case _:
            return list(partitions)


def _operations(
    strategy: Strategy,
    operations: Sequence[CompactionOperation],
    config: CompactionConfig,
    today: date,
) -> list[CompactionOperation]:
    """The operations that a strategy chooses, in its order.

    Source: CompactionStrategy.orderAndFilter and its overrides, Hudi 0.15.
    """
    chosen = list(operations)
    match strategy:
        case Strategy.LOG_SIZE:
            chosen = _bounded(_by_log_size(chosen, config), config.target_io)
        case Strategy.LOG_COUNT:
            chosen = [each for each in chosen if len(each.log_files) >= config.log_count_threshold]
            chosen.sort(key=lambda each: -len(each.log_files))
            chosen = _bounded(chosen, config.target_io)
        case Strategy.BOUNDED_IO:
            chosen = _bounded(chosen, config.target_io)
        case Strategy.DAYS:
            chosen = _of_newest_days(chosen, config)
        case Strategy.DAYS_BOUNDED_IO:
            chosen = _by_log_size(_of_newest_days(chosen, config), config)
            chosen = _bounded(chosen, config.target_io)
        case Strategy.RECENT_DAYS:
            chosen = [each for each in chosen if _is_recent(each.partition, config, today)]
            chosen.sort(key=lambda each: _day_of(each.partition), reverse=True)
        case Strategy.EARLIER_DAYS:
            chosen = [each for each in chosen if not _is_recent(each.partition, config, today)]
        case Strategy.UNBOUNDED | Strategy.PARTITION_PATTERN:
            pass
    return chosen


def _by_log_size(
    operations: Iterable[CompactionOperation], config: CompactionConfig
) -> list[CompactionOperation]:
    large = (each for each in operations if each.metrics[LOG_BYTES] >= config.log_size_threshold)
    return sorted(large, key=lambda each: -each.metrics[LOG_BYTES])


def _bounded(operations: Iterable[CompactionOperation], most_mb: int) -> list[CompactionOperation]:
    """The first operations, up to the one with which the bound is reached."""
    chosen: list[CompactionOperation] = []
    remaining = most_mb
    for each in operations:
        remaining -= int(each.metrics[_IO_MB])
        chosen.append(each)
        if remaining <= 0:
            break
    return chosen


def _of_newest_days(
    operations: Sequence[CompactionOperation], config: CompactionConfig
) -> list[CompactionOperation]:
    days = sorted({each.partition for each in operations}, key=_day_of, reverse=True)
    ranks = {partition: rank for rank, partition in enumerate(days[: config.target_partitions])}
    chosen = [each for each in operations if each.partition in ranks]
    return sorted(chosen, key=lambda each: ranks[each.partition])


def _is_recent(partition: str, config: CompactionConfig, today: date) -> bool:
    return _day_of(partition) >= today - timedelta(days=config.target_partitions)


def _day_of(partition: str) -> date:
    """The day that a partition path names as year/month/day, with or without column names.

    Source: DayBasedCompactionStrategy.getPartitionPathWithoutPartitionKeys, Hudi 0.15.
    """
    found = _DAY.match(_PARTITION_KEY.sub(r"\1", partition))
    try:
        if found is not None:
            return date(*map(int, found.groups()))
    except ValueError:
        found = None
    raise OptionError(
        f"partition {partition!r} names no day as year/month/day; take another {STRATEGY.key}"
    )
