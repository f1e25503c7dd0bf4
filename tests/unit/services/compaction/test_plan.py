"""When a compaction is due, and which slices it takes."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.errors import OptionError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.services.compaction.plan import is_due, plan_compaction
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from tests.support.slices import slice_of

MB = 1 << 20
AT = "20260131120000000"
_OPTION = "hoodie.compaction."


def made(partition: str, file_id: str, *log_mb: int, base_mb: int = 0) -> FileSlice:
    """A slice with log files of these sizes."""
    return slice_of(file_id, base_mb * MB, *(mb * MB for mb in log_mb), partition=partition)


def chosen(slices: Sequence[FileSlice], strategy: str = "", **options: Any) -> list[str]:
    """The file ids of a plan, in its order."""
    given = {f"{_OPTION}{key.replace('_', '.')}": str(value) for key, value in options.items()}
    if strategy:
        given[f"{_OPTION}strategy"] = f"{strategy}CompactionStrategy"
    config = CompactionConfig.from_options(given)
    plan = plan_compaction(slices, (), config, at=AT, full_file_bytes=100 * MB)
    return [operation.file_id for operation in plan.operations]


LOGGED = [
    made("p", "small", 1, base_mb=10),
    made("p", "none", base_mb=10),
    made("q", "many", 1, 1, 1, base_mb=10),
    made("q", "large", 9),
]
DAYS = [
    made("2026/01/01", "a", 5),
    made("2026/01/20", "b", 1),
    made("2026/01/30", "c", 3),
    made("2026/02/10", "d", 2),
]
NAMED_DAY = [made("year=2026/month=01/day=30", "x", 1)]
BY_NUMBER, PATTERN = "LogFileNumBased", "PartitionRegexBased"
BOTH = "DayBasedCompactionStrategy,LogFileSizeBased"
THREE, TEN = ({"daybased_target_partitions": days} for days in (3, 10))
# Slices, strategy, options, and what is taken of the slices.
CHOICES: dict[str, tuple[list[FileSlice], str, dict[str, Any], list[str]]] = {
    "the largest logs come first": (LOGGED, "", {}, ["large", "many", "small"]),
    "small logs can wait": (LOGGED, "", {"logfile_size_threshold": 3 * MB}, ["large", "many"]),
    "most log files come first": (LOGGED, BY_NUMBER, {}, ["many", "small", "large"]),
    "few log files can wait": (LOGGED, BY_NUMBER, {"logfile_num_threshold": 2}, ["many"]),
    # A slice without base file is taken to become a full one: 9 MB are read, 100 written.
    "a bound is passed": (LOGGED, "", {"target_io": 109}, ["large"]),
    "a bound is passed once": (LOGGED, "", {"target_io": 110}, ["large", "many"]),
    "a bound of slices as they come": (LOGGED, "BoundedIO", {"target_io": 21}, ["small"]),
    "no bound": (LOGGED, "UnBounded", {"target_io": 1}, ["small", "many", "large"]),
    "a pattern": (LOGGED, PATTERN, {"partition_path_regex": "^q"}, ["many", "large"]),
    "the newest days": (DAYS, "DayBased", {"daybased_target_partitions": 2}, ["d", "c"]),
    "days with a bound": (DAYS, "DayBasedAndBoundedIO", {**THREE, "target_io": 102}, ["c"]),
    # Days are told from the 31st.
    "ten days before today, and the future": (DAYS, "BoundedPartitionAware", TEN, ["d", "c"]),
    "what is older than ten days": (DAYS, "UnBoundedPartitionAware", TEN, ["a", "b"]),
    "column names are no part of the day": (NAMED_DAY, "BoundedPartitionAware", {}, ["x"]),
    "strategies follow each other": (DAYS, BOTH, THREE, ["c", "d", "b"]),
}


@pytest.mark.parametrize("what", CHOICES)
def test_a_strategy_takes_slices_in_its_order(what: str) -> None:
    slices, strategy, options, wanted = CHOICES[what]
    assert chosen(slices, strategy, **options) == wanted


def test_a_partition_that_is_no_day_is_refused() -> None:
    with pytest.raises(OptionError, match="names no day"):
        chosen(LOGGED, "DayBased")
    with pytest.raises(OptionError, match="names no day"):
        chosen([made("2026/13/01", "a", 1)], "DayBased")


def test_claimed_file_groups_are_left_alone() -> None:
    config = CompactionConfig()
    plan = plan_compaction(LOGGED, {("q", "large")}, config, at=AT, full_file_bytes=MB)
    assert [operation.file_id for operation in plan.operations] == ["many", "small"]


def test_an_operation_names_its_files_and_their_size() -> None:
    config = CompactionConfig()
    (_, found, _) = plan_compaction(LOGGED, (), config, at=AT, full_file_bytes=MB).operations
    assert found.base_file == "many_0-0-0_1.parquet"
    assert found.log_files == tuple(f".many_1.log.{number}_0-0-0" for number in (1, 2, 3))
    assert found.metrics == {
        "TOTAL_LOG_FILES": 3.0,
        "TOTAL_IO_MB": 23.0,
        "TOTAL_IO_READ_MB": 13.0,
        "TOTAL_LOG_FILES_SIZE": 3.0 * MB,
        "TOTAL_IO_WRITE_MB": 10.0,
    }


def timeline(*names: str) -> Timeline:
    """Instants on the 31st by their hour, and what they are: d, c (committed) or p (planned)."""
    kinds = {
        "d": (Action.DELTA_COMMIT, State.COMPLETED),
        "i": (Action.DELTA_COMMIT, State.INFLIGHT),
        "c": (Action.COMMIT, State.COMPLETED),
        "p": (Action.COMPACTION, State.REQUESTED),
    }
    found = ((f"20260131{name[1:]}0000000", *kinds[name[0]]) for name in names)
    return Timeline.of(Instant(time=at, action=action, state=state) for at, action, state in found)


def due(instants: Timeline, trigger: str, *, seconds: int = 3600) -> bool:
    options = {
        "hoodie.compact.inline.trigger.strategy": trigger,
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.compact.inline.max.delta.seconds": str(seconds),
    }
    return is_due(instants, CompactionConfig.from_options(options), AT)


def test_delta_commits_are_counted_from_the_last_compaction() -> None:
    assert due(timeline("d01", "d02"), "NUM_COMMITS")
    assert not due(timeline("d01", "i02"), "NUM_COMMITS")
    assert not due(timeline("d01", "d02", "c03", "d04"), "NUM_COMMITS")
    assert due(timeline("d01", "c03", "d04", "d05"), "NUM_COMMITS")


def test_a_plan_that_is_pending_counts_where_it_is_asked_to() -> None:
    planned = timeline("d01", "d02", "p03", "d04")
    assert due(planned, "NUM_COMMITS")
    assert not due(planned, "NUM_COMMITS_AFTER_LAST_REQUEST")
    assert due(timeline("d01", "p03", "d04", "d05"), "NUM_COMMITS_AFTER_LAST_REQUEST")


def test_time_runs_from_the_last_compaction_or_the_first_write() -> None:
    assert due(timeline("d11"), "TIME_ELAPSED")
    assert not due(timeline("d11"), "TIME_ELAPSED", seconds=3601)
    assert not due(timeline("d01", "c11"), "TIME_ELAPSED", seconds=3601)


def test_either_or_both_can_be_asked_for() -> None:
    assert due(timeline("d01"), "NUM_OR_TIME")
    assert due(timeline("d10", "d11"), "NUM_OR_TIME", seconds=10**6)
    assert not due(timeline("d01"), "NUM_AND_TIME")
    assert due(timeline("d01", "d02"), "NUM_AND_TIME")


def test_a_table_without_delta_commits_is_never_due() -> None:
    assert not due(timeline(), "TIME_ELAPSED")


def test_where_completion_times_are_known_they_tell_what_came_after_a_compaction() -> None:
    """A write that began before the compaction and ended after it lies on top of it."""
    begun, before, after = (f"202601311159599{end}" for end in ("50", "60", "99"))
    compaction = "20260131115959970"

    def timeline(ended: str) -> Timeline:
        return Timeline.of(
            Instant(time=time, action=action, state=State.COMPLETED, completion_time=at)
            for time, action, at in (
                (begun, Action.DELTA_COMMIT, ended),
                (compaction, Action.COMMIT, "20260131115959980"),
            )
        )

    config = CompactionConfig.from_options({"hoodie.compact.inline.max.delta.commits": "1"})
    assert not is_due(timeline(before), config, AT)
    assert is_due(timeline(after), config, AT)
