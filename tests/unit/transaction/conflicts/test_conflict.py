"""Which changes cannot both be made, and what is said of them."""

from dataclasses import replace

import pytest

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata, WriteStat
from pyhudi.config.options.concurrency import ConcurrencyConfig
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.conflicts.change import Change
from pyhudi.transaction.conflicts.conflict import Conflict, ConflictRules, told

OWN, OTHER = "20260101000000001", "20260101000000002"
RULES = ConflictRules()


def at(time: str, action: Action = Action.COMMIT) -> Instant:
    return Instant(time=time, action=action, state=State.COMPLETED)


def change(
    time: str,
    *groups: str,
    operation: str = "UPSERT",
    replaced: tuple[str, ...] = (),
    emptied: tuple[str, ...] = (),
    **extra: str,
) -> Change:
    """What a commit says that wrote some file groups, named ``partition/file id``."""
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for group in groups:
        partition, _, file_id = group.rpartition("/")
        path = f"{group}_0-0-0_{time}.parquet"
        stats[partition] = (*stats.get(partition, ()), WriteStat(file_id=file_id, path=path))
    commit = CommitMetadata(
        partition_to_write_stats=stats,
        operation_type=operation,
        extra_metadata={name.replace("__", "."): value for name, value in extra.items()},
    )
    if not (replaced or emptied):
        return Change.of(at(time), commit)
    hidden: dict[str, tuple[str, ...]] = dict.fromkeys(emptied, ())
    for group in replaced:
        partition, _, file_id = group.rpartition("/")
        hidden[partition] = (*hidden.get(partition, ()), file_id)
    return Change.of(
        at(time, Action.REPLACE_COMMIT),
        ReplaceCommitMetadata(commit=commit, partition_to_replaced_file_ids=hidden),
    )


def plan(time: str, *groups: str, operation: str) -> Change:
    pairs = [group.rpartition("/") for group in groups]
    action = Action.COMPACTION if operation == "COMPACT" else Action.REPLACE_COMMIT
    instant = Instant(time=time, action=action, state=State.REQUESTED)
    return Change.planned(instant, [(each[0], each[2]) for each in pairs], operation=operation)


BETWEEN = [
    pytest.param(change(OWN, "x/a"), change(OTHER, "x/a"), True, id="one file group"),
    pytest.param(change(OWN, "x/a"), change(OTHER, "x/b"), False, id="two of one partition"),
    pytest.param(change(OWN, "x/a"), change(OTHER, "y/a"), False, id="one id in two partitions"),
    pytest.param(change(OWN, "a"), change(OTHER, "a"), True, id="a table without partitions"),
    pytest.param(
        change(OWN, "x/a"),
        change(OTHER, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
        True,
        id="other replaces what is written",
    ),
    pytest.param(
        change(OWN, "x/n", operation="CLUSTER", replaced=("x/a",)),
        change(OTHER, "x/a"),
        True,
        id="own clustering of what is written",
    ),
    pytest.param(
        change(OWN, operation="DELETE_PARTITION", replaced=("x/a",)),
        change(OTHER, "x/a"),
        True,
        id="own delete of a partition (hole 2)",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
        change(OTHER, "x/new"),
        True,
        id="a file group that an overwrite did not see (hole 3)",
    ),
    pytest.param(
        change(OWN, "x/new"),
        change(OTHER, operation="DELETE_PARTITION", replaced=("x/a",)),
        True,
        id="a new file group in a partition that was deleted",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE", emptied=("x",)),
        change(OTHER, "x/m", operation="INSERT_OVERWRITE", emptied=("x",)),
        True,
        id="two overwrites of a partition that was empty",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE", emptied=("x",)),
        change(OTHER, "y/m", operation="INSERT_OVERWRITE", emptied=("y",)),
        False,
        id="overwrites of two partitions",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE_TABLE", emptied=("x",)),
        change(OTHER, "z/new"),
        True,
        id="a new partition beside an overwrite of the table",
    ),
    pytest.param(
        change(OWN, "z/new"),
        change(OTHER, "x/n", operation="INSERT_OVERWRITE_TABLE", emptied=("x",)),
        True,
        id="an overwrite of the table beside a new partition",
    ),
    pytest.param(
        change(OWN, "x/a", "y/b"),
        change(OTHER, "y/b", "z/c"),
        True,
        id="a key that moved between partitions (hole 5)",
    ),
    pytest.param(
        change(OWN, "x/a"),
        change(OTHER, "x/a", operation="COMPACT"),
        True,
        id="a compaction that was not planned when the write began",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
        change(OTHER, "x/a", operation="COMPACT"),
        False,
        id="a compaction of what an overwrite hides",
    ),
    pytest.param(
        change(OWN, "x/a", operation="LOG_COMPACT"),
        change(OTHER, "x/a"),
        True,
        id="an own log compaction of what was appended to",
    ),
    pytest.param(
        change(OWN, "x/a"),
        change(OTHER, "x/a", operation="LOG_COMPACT"),
        True,
        id="a log compaction of what is appended to",
    ),
    pytest.param(
        change(OWN, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
        change(OTHER, "x/n2", operation="CLUSTER", replaced=("x/a",)),
        True,
        id="a clustering of what an overwrite hides",
    ),
]


@pytest.mark.parametrize(("own", "other", "expected"), BETWEEN)
def test_what_two_completed_changes_mean_for_each_other(
    own: Change, other: Change, expected: bool
) -> None:
    found = RULES.between(own, other)
    assert (found is not None) is expected, found


def test_two_tries_of_one_request_are_not_both_committed() -> None:
    own = change(OWN, "x/a", pyhudi__idempotency__key="k")
    assert RULES.between(own, change(OTHER, "y/b", pyhudi__idempotency__key="k")) is not None
    assert RULES.between(own, change(OTHER, "y/b", pyhudi__idempotency__key="other")) is None


@pytest.mark.parametrize(
    ("own", "planned", "expected"),
    [
        pytest.param(
            change(OWN, "x/a"), plan(OTHER, "x/a", operation="COMPACT"), True, id="its log files"
        ),
        pytest.param(
            change(OWN, "x/b"), plan(OTHER, "x/a", operation="COMPACT"), False, id="others"
        ),
        pytest.param(
            change(OWN, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
            plan(OTHER, "x/a", operation="COMPACT"),
            False,
            id="what is hidden may be compacted",
        ),
        pytest.param(
            change(OWN, "x/n", operation="INSERT_OVERWRITE", replaced=("x/a",)),
            plan(OTHER, "x/a", operation="CLUSTER"),
            True,
            id="what is hidden may not be clustered",
        ),
    ],
)
def test_what_a_plan_means_for_a_write(own: Change, planned: Change, expected: bool) -> None:
    assert (RULES.with_plan(own, planned) is not None) is expected


def test_two_new_file_groups_of_one_bucket_are_one_place() -> None:
    """Both create bucket 3; ids of other indexes are compared whole."""
    buckets = ConflictRules(by_bucket=True)
    own, other = change(OWN, "x/00000003-1111-0"), change(OTHER, "x/00000003-2222-0")
    assert RULES.between(own, other) is None
    assert buckets.between(own, other) is not None
    assert buckets.between(own, change(OTHER, "x/00000004-2222-0")) is None
    assert buckets.between(own, change(OTHER, "y/00000003-2222-0")) is None
    named = change(OWN, "x/abcdefgh-1"), change(OTHER, "x/abcdefgh-2")
    assert buckets.between(*named) is None


def test_partitions_are_one_place_where_options_say_so() -> None:
    whole = ConflictRules(by_partition=True)
    assert whole.between(change(OWN, "x/a"), change(OTHER, "x/b")) is not None
    assert whole.between(change(OWN, "x/a"), change(OTHER, "y/b")) is None


def test_options_become_rules() -> None:
    named = "hoodie.write.lock.conflict.resolution.strategy"
    bucket = "BucketIndexConcurrentFileWritesConflictResolutionStrategy"
    found = ConcurrencyConfig.from_options(
        {named: bucket, "pyhudi.write.conflict.unit": "partition"}
    )
    assert ConflictRules.of(found) == ConflictRules(by_bucket=True, by_partition=True)
    assert ConflictRules.of(ConcurrencyConfig()) == RULES


def test_a_conflict_names_the_other_its_dag_run_and_the_first_five_file_groups() -> None:
    groups = [f"x/{letter}" for letter in "abcdefg"]
    stamp = {"airflow__dag_id": "loads", "airflow__task_id": "t", "airflow__run_id": "daily"}
    found = RULES.between(change(OWN, *groups), change(OTHER, *groups, **stamp))
    assert found is not None
    assert (found.other.time, found.partitions) == (OTHER, ("x",))
    assert str(found) == (
        f"commit {OTHER} (UPSERT by loads.t, run daily) changed what this write changes: "
        "file groups x/a, x/b, x/c, x/d, x/e and 2 more"
    )


def test_each_of_several_others_is_named_once_up_to_three() -> None:
    times = [f"2026010100000000{n}" for n in range(2, 7)]
    found = [RULES.between(change(OWN, "x/a"), change(time, "x/a")) for time in times]
    conflicts = [each for each in found if each is not None]
    keys = Conflict.with_change(change(times[0], "x/b"), "wrote keys", [("x", "b")])
    each = "commit {} (UPSERT) changed what this write changes: file group x/a"
    assert told([conflicts[0], keys]) == each.format(times[0])
    assert told(conflicts[:3]) == "; ".join(each.format(time) for time in times[:3])
    assert told(conflicts).endswith(f"{each.format(times[2])}; 2 other instants too")


def test_a_conflict_over_partitions_names_these() -> None:
    overwrite = change(OWN, operation="DELETE_PARTITION", emptied=("x",))
    assert str(RULES.between(overwrite, change(OTHER, "x/n"))) == (
        f"commit {OTHER} (UPSERT) changed what one of the two replaces: partition 'x'"
    )
    restore = Conflict(other=replace(at(OTHER), action=Action.RESTORE), what="takes it back")
    assert str(restore) == f"restore {OTHER} takes it back"
