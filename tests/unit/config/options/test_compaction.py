"""The options of compaction."""

import pytest

from pyhudi.config.known import check_known
from pyhudi.config.options.compaction import CompactionConfig, Strategy, Trigger
from pyhudi.errors import OptionError

STRATEGY = "hoodie.compaction.strategy"
PACKAGE = "org.apache.hudi.table.action.compact.strategy."


def test_without_options_it_is_as_hudi_has_it() -> None:
    found = CompactionConfig.from_options({})
    assert not found.is_inline
    assert (found.trigger, found.max_delta_commits) == (Trigger.NUM_COMMITS, 5)
    assert (found.strategies, found.target_io) == ((Strategy.LOG_SIZE,), 512_000)


def test_a_strategy_is_named_with_or_without_its_package() -> None:
    for name in ("UnBoundedCompactionStrategy", f"{PACKAGE}UnBoundedCompactionStrategy"):
        assert CompactionConfig.from_options({STRATEGY: name}).strategies == (Strategy.UNBOUNDED,)


def test_several_strategies_follow_each_other() -> None:
    names = f"{PACKAGE}DayBasedCompactionStrategy,LogFileNumBasedCompactionStrategy"
    found = CompactionConfig.from_options({STRATEGY: names}).strategies
    assert found == (Strategy.DAYS, Strategy.LOG_COUNT)


def test_a_strategy_of_ones_own_is_refused() -> None:
    with pytest.raises(OptionError, match="LogFileSizeBasedCompactionStrategy"):
        CompactionConfig.from_options({STRATEGY: "com.example.Mine"})


def test_partitions_by_pattern_need_a_pattern() -> None:
    asked = {STRATEGY: "PartitionRegexBasedCompactionStrategy"}
    with pytest.raises(OptionError, match=r"partition\.path\.regex"):
        CompactionConfig.from_options(asked)
    key = "hoodie.compaction.partition.path.regex"
    assert CompactionConfig.from_options({**asked, key: "2026/.*"}).partition_pattern is not None
    with pytest.raises(OptionError, match="regular expression"):
        CompactionConfig.from_options({**asked, key: "("})


def test_a_log_compaction_has_a_threshold_of_blocks() -> None:
    found = CompactionConfig.from_options({})
    assert (found.is_log_inline, found.log_blocks) == (False, 5)
    key = "hoodie.log.compaction.blocks.threshold"
    asked = {"hoodie.log.compaction.inline": "true", key: "3"}
    found = CompactionConfig.from_options(asked)
    assert (found.is_log_inline, found.log_blocks) == (True, 3)
    assert check_known(asked) == ()
    with pytest.raises(OptionError, match=r"blocks\.threshold"):
        CompactionConfig.from_options({key: "0"})
