"""Compaction plans, with Hudi's own records."""

import pytest

from pyhudi.actions.compaction import CompactionOperation, CompactionPlan
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container
from tests.support.golden import golden_table

TABLES = ("v6_mor_pending_compaction", "v6_mor_compacted", "v6_mor_event_time", "v9_as_v6_mor")


def body(name: str, suffix: str = ".compaction.requested") -> bytes:
    (path,) = (golden_table(name) / ".hoodie").glob(f"*{suffix}")
    return path.read_bytes()


@pytest.mark.parametrize("name", TABLES)
def test_a_plan_of_hudi_is_read_and_written_with_the_same_record(name: str) -> None:
    (record,) = read_container(body(name))
    record.pop("missingSchedulePartitions", None)  # Hudi 1.1 alone has it
    assert read_container(CompactionPlan.from_bytes(body(name)).to_bytes()) == [record]


def test_a_plan_names_files_without_folders() -> None:
    plan = CompactionPlan.from_bytes(body("v6_mor_pending_compaction"))
    first = plan.operations[0]
    assert (first.partition, first.file_group) == ("north", ("north", first.file_id))
    assert first.base_file == f"{first.file_id}_1-1005-1209_{first.base_instant}.parquet"
    assert [name.split("log.")[1][0] for name in first.log_files] == ["1", "2"]


def test_a_plan_of_our_own_reads_back_the_same() -> None:
    operation = CompactionOperation(
        partition="",
        file_id="f-0",
        base_instant="1",
        base_file=None,
        log_files=(".f-0_1.log.1_0-1-1",),
        metrics={"TOTAL_LOG_FILES": 1.0},
    )
    plan = CompactionPlan(operations=(operation,), extra_metadata={"a": "b"})
    assert CompactionPlan.from_bytes(plan.to_bytes()) == plan


def test_the_plan_of_a_log_compaction_names_its_class() -> None:
    plan = CompactionPlan.from_bytes(body("v6_mor_log_compacted", ".logcompaction.requested"))
    assert plan.compactor_class is not None
    assert plan.compactor_class.endswith("LogCompactionExecutionHelper")
    assert CompactionPlan.from_bytes(plan.to_bytes()) == plan


def test_an_empty_file_is_no_plan() -> None:
    with pytest.raises(CorruptTableError, match="0 bytes"):
        CompactionPlan.from_bytes(b"")


def test_another_record_is_no_plan() -> None:
    (path,) = (golden_table("v6_cow_rollback") / ".hoodie").glob("*.rollback.requested")
    with pytest.raises(CorruptTableError, match="a compaction plan lacks an entry"):
        CompactionPlan.from_bytes(path.read_bytes())
