"""Rollback plans and metadata, with Hudi's own records."""

import pytest

from pyhudi.actions.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
    RollbackPlan,
    RollbackRequest,
)
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container
from tests.support.golden import golden_table


def body(suffix: str) -> bytes:
    (path,) = (golden_table("v6_cow_rollback") / ".hoodie").glob(f"*{suffix}")
    return path.read_bytes()


def test_a_plan_of_hudi_is_read_and_written_with_the_same_record() -> None:
    data = body(".rollback.requested")
    plan = RollbackPlan.from_bytes(data)
    assert plan.instant.action == "commit"
    assert [request.partition for request in plan.requests] == ["north", "south"]
    assert read_container(plan.to_bytes()) == read_container(data)


def test_what_hudi_says_of_its_rollback_is_written_with_the_same_record() -> None:
    (record,) = read_container(body(".rollback"))
    instants = [(each["commitTime"], each["action"]) for each in record["instantsRollback"]]
    metadata = RollbackMetadata(
        start_time=record["startRollbackTime"],
        time_taken_ms=record["timeTakenInMillis"],
        instants=tuple(InstantInfo(time=time, action=action) for time, action in instants),
        partitions={
            partition: RollbackPartition(deleted=tuple(done["successDeleteFiles"]))
            for partition, done in record["partitionMetadata"].items()
        },
    )
    assert metadata.files_deleted == 2
    assert read_container(metadata.to_bytes()) == [record]


def test_a_plan_of_our_own_reads_back_the_same() -> None:
    plan = RollbackPlan(
        instant=InstantInfo(time="1", action="commit"),
        requests=(RollbackRequest(partition="p", files_to_delete=("/t/p/f.parquet",)),),
    )
    assert RollbackPlan.from_bytes(plan.to_bytes()) == plan


def test_metadata_of_our_own_tells_what_was_not_deleted_and_what_was_appended() -> None:
    logs = {"/t/p/.f.log.1": 7}
    done = RollbackPartition(deleted=("/t/p/f.parquet",), failed=("/t/p/g",), log_files=logs)
    metadata = RollbackMetadata(
        start_time="2",
        time_taken_ms=5,
        instants=(InstantInfo(time="1", action="commit"),),
        partitions={"p": done},
    )
    (record,) = read_container(metadata.to_bytes())
    assert (record["startRollbackTime"], record["timeTakenInMillis"]) == ("2", 5)
    assert (record["totalFilesDeleted"], record["commitsRollback"]) == (1, ["1"])
    assert record["instantsRollback"] == [{"commitTime": "1", "action": "commit"}]
    assert record["partitionMetadata"]["p"] == {
        "partitionPath": "p",
        "successDeleteFiles": ["/t/p/f.parquet"],
        "failedDeleteFiles": ["/t/p/g"],
        "rollbackLogFiles": logs,
        "logFilesFromFailedCommit": {},
    }


def test_another_record_is_no_plan() -> None:
    with pytest.raises(CorruptTableError, match="a rollback plan lacks an entry"):
        RollbackPlan.from_bytes(body(".rollback"))
