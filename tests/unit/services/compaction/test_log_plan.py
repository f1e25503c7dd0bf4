"""Which slices a log compaction takes, and which it still finds as they were planned."""

from dataclasses import replace

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.filegroup.slices import FileSlice
from pyhudi.services.compaction.log_plan import candidates, plan_log_compaction, unchanged_slices
from tests.unit.services.compaction.test_plan import MB, made

MANY = made("p", "many", 1, 1, 1, base_mb=10)
FEW = made("q", "few", 2, 2)
NONE = made("q", "none", base_mb=10)
THREE = CompactionConfig(log_blocks=3)


def planned(*slices: tuple[FileSlice, tuple[str, ...]]) -> CompactionPlan:
    return plan_log_compaction(slices, THREE, full_file_bytes=100 * MB)


def test_slices_without_log_files_and_those_in_other_plans_are_no_candidates() -> None:
    assert candidates([MANY, FEW, NONE], ()) == (MANY, FEW)
    assert candidates([MANY, FEW, NONE], {("p", "many")}) == (FEW,)


def test_enough_blocks_of_several_writes_are_taken() -> None:
    plan = planned((MANY, ("1", "2", "2")), (FEW, ("1", "2")))
    assert [each.file_group for each in plan.operations] == [("p", "many")]
    assert (plan.compactor_class or "").endswith("LogCompactionExecutionHelper")
    assert plan.preserves_meta_columns


def test_blocks_of_one_write_stay_as_they_are() -> None:
    assert planned((MANY, ("1", "1", "1", "1"))).operations == ()


def test_a_plan_has_the_metrics_of_a_compaction() -> None:
    (operation,) = planned((FEW, ("1", "2", "3"))).operations
    assert operation.base_file is None
    assert operation.metrics["TOTAL_LOG_FILES"] == 2
    assert operation.metrics["TOTAL_IO_MB"] == 4 + 100


def test_slices_that_are_as_planned_are_found_in_the_order_of_the_plan() -> None:
    plan = planned((FEW, ("1", "2", "3")), (MANY, ("1", "2", "3")))
    assert unchanged_slices(plan, [MANY, NONE, FEW], ()) == (FEW, MANY)


def test_a_slice_that_has_changed_is_left() -> None:
    plan = planned((MANY, ("1", "2", "3")))
    assert unchanged_slices(plan, [made("p", "many", 1, 1, 1, 1, base_mb=10)], ()) == ()
    assert unchanged_slices(plan, [replace(MANY, base_instant="2")], ()) == ()
    assert unchanged_slices(plan, [MANY], {("p", "many")}) == ()
    assert unchanged_slices(plan, [NONE], ()) == ()
