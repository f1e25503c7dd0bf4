"""When the log files of a merge-on-read table are compacted, and which of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.config.options.logs import DEFAULT_MEMORY, MERGE_MEMORY, SPILL_FOLDER, MergeMemory
from pyhudi.errors import OptionError

_PACKAGE = "org.apache.hudi.table.action.compact.strategy."


class Trigger(Enum):
    """What makes a compaction due.

    Source: CompactionTriggerStrategy, Hudi 0.15 and 1.1.
    """

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_OR_TIME = "NUM_OR_TIME"
    NUM_AND_TIME = "NUM_AND_TIME"


class Strategy(Enum):
    """Which file slices a compaction takes, by the Java class that Hudi has for it.

    Source: the package org.apache.hudi.table.action.compact.strategy, Hudi 0.15 and 1.1.
    """

    LOG_SIZE = "LogFileSizeBasedCompactionStrategy"
    LOG_COUNT = "LogFileNumBasedCompactionStrategy"
    BOUNDED_IO = "BoundedIOCompactionStrategy"
    UNBOUNDED = "UnBoundedCompactionStrategy"
    DAYS = "DayBasedCompactionStrategy"
    DAYS_BOUNDED_IO = "DayBasedAndBoundedIOCompactionStrategy"
    RECENT_DAYS = "BoundedPartitionAwareCompactionStrategy"
    EARLIER_DAYS = "UnBoundedPartitionAwareCompactionStrategy"
    PARTITION_PATTERN = "PartitionRegexBasedCompactionStrategy"


def _strategies(text: str) -> tuple[Strategy, ...]:
    names = [name.strip().removeprefix(_PACKAGE) for name in text.split(",")]
    by_name = {strategy.value: strategy for strategy in Strategy}
    if not all(name in by_name for name in names):
        raise ValueError(f"{', '.join(by_name)}, or several of them; they may have their package")
    return tuple(by_name[name] for name in names)


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ValueError(f"a regular expression ({error})") from error


INLINE = declare("hoodie.compact.inline", option.parse_bool, default=False)
"""a write to a merge-on-read table plans a compaction when it is due, and runs it; here when it is
asked for, in Hudi's batch writes unless this is false or hoodie.datasource.compaction.async.enable
is true"""
SCHEDULE_INLINE = declare("hoodie.compact.schedule.inline", option.parse_bool, default=False)
"""a write plans a compaction when it is due, and leaves running it to another job"""
MAX_DELTA_COMMITS = declare(
    "hoodie.compact.inline.max.delta.commits", option.parse_positive, default=5
)
"""delta commits since the last compaction that make the next one due"""
MAX_DELTA_SECONDS = declare(
    "hoodie.compact.inline.max.delta.seconds", option.parse_positive, default=3600
)
"""seconds since the last compaction that make the next one due"""
TRIGGER = declare(
    "hoodie.compact.inline.trigger.strategy",
    option.parse_enum(Trigger),
    default=Trigger.NUM_COMMITS,
)
"""what makes a compaction due: delta commits, time, either or both"""
_DEFAULT_STRATEGIES: tuple[Strategy, ...] = (Strategy.LOG_SIZE,)
STRATEGY = declare("hoodie.compaction.strategy", _strategies, default=_DEFAULT_STRATEGIES)
"""which file slices a compaction takes; of several, separated by commas, each chooses from what the
one before it left"""
TARGET_IO = declare("hoodie.compaction.target.io", option.parse_int, default=512_000)
"""megabytes that a bounded compaction reads and writes, about"""
LOG_SIZE_THRESHOLD = declare(
    "hoodie.compaction.logfile.size.threshold", option.parse_size, default=0
)
"""bytes of log files below which a slice is not compacted"""
LOG_COUNT_THRESHOLD = declare(
    "hoodie.compaction.logfile.num.threshold", option.parse_int, default=0
)
"""log files below which LogFileNumBasedCompactionStrategy leaves a slice"""
TARGET_PARTITIONS = declare(
    "hoodie.compaction.daybased.target.partitions",
    option.parse_positive,
    default=10,
    aliases=("hoodie.compaction.daybased.target",),
)
"""newest partitions that a day-based compaction takes, or days before today"""
PARTITION_PATTERN = declare("hoodie.compaction.partition.path.regex", _pattern, default=None)
"""regular expression found in the partition paths that PartitionRegexBasedCompactionStrategy
takes"""
LOG_INLINE = declare("hoodie.log.compaction.inline", option.parse_bool, default=False)
"""a write to a merge-on-read table plans a log compaction when it is due, and runs it"""
LOG_BLOCKS = declare("hoodie.log.compaction.blocks.threshold", option.parse_positive, default=5)
"""log blocks of a file slice, of several writes, that a log compaction makes one of"""
MEMORY = declare(
    "hoodie.memory.compaction.max.size", option.parse_size, default=MERGE_MEMORY.default
)
"""bytes of log records that a compaction holds of one file slice; what goes beyond waits on disk"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """When a compaction is due, which file slices it takes, and the memory for each.

    A log compaction takes slices of at least ``log_blocks`` blocks.

    Units: ``target_io`` in megabytes, ``log_size_threshold`` in bytes.
    """

    is_inline: bool = setting(INLINE)
    is_scheduled_inline: bool = setting(SCHEDULE_INLINE)
    trigger: Trigger = setting(TRIGGER)
    max_delta_commits: int = setting(MAX_DELTA_COMMITS)
    max_delta_seconds: int = setting(MAX_DELTA_SECONDS)
    strategies: tuple[Strategy, ...] = setting(STRATEGY)
    target_io: int = setting(TARGET_IO)
    log_size_threshold: int = setting(LOG_SIZE_THRESHOLD)
    log_count_threshold: int = setting(LOG_COUNT_THRESHOLD)
    target_partitions: int = setting(TARGET_PARTITIONS)
    partition_pattern: re.Pattern[str] | None = setting(PARTITION_PATTERN)
    is_log_inline: bool = setting(LOG_INLINE)
    log_blocks: int = setting(LOG_BLOCKS)
    memory: MergeMemory = DEFAULT_MEMORY

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> CompactionConfig:
        """What options ask for.

        Raises:
            OptionError: a value that is not allowed, or a strategy without its pattern.
        """
        memory = MergeMemory(limit_bytes=MEMORY.read(options), folder=SPILL_FOLDER.read(options))
        found = read_settings(cls, options, memory=memory)
        needs_pattern = Strategy.PARTITION_PATTERN in found.strategies
        if needs_pattern and found.partition_pattern is None:
            raise OptionError(
                f"{STRATEGY.key} is {Strategy.PARTITION_PATTERN.value}, which needs "
                f"{PARTITION_PATTERN.key}"
            )
        return found
