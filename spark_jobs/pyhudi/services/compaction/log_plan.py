"""Which file slices a log compaction takes, and which of them it still finds so. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.filegroup.slices import FileSlice, GroupId
from pyhudi.services.compaction.plan import operation_of

_COMPACTOR: Final = "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper"


def candidates(slices: Iterable[FileSlice], claimed: Collection[GroupId]) -> tuple[FileSlice, ...]:
    """The slices with log files of file groups that are not ``claimed``."""
    return tuple(
        each for each in slices if each.log_files and (each.partition, each.file_id) not in claimed
    )


def plan_log_compaction(
    slices: Iterable[tuple[FileSlice, Sequence[str]]],
    config: CompactionConfig,
    *,
    full_file_bytes: int,
) -> CompactionPlan:
    """The plan of a log compaction; without operations when there is nothing to compact.

    It takes slices of enough blocks. Those of one write stay as they are: they are what a log
    compaction would make of them.

    Shapes: with each slice the instants of its blocks that count, one a block.
    Units: ``full_file_bytes`` is what a base file is taken to become where there is none yet.
    Source: HoodieLogCompactionPlanGenerator, Hudi 0.15. That of 1.1 takes slices of so many log
    files too, and so those again whose blocks it has just made one of.
    """
    return CompactionPlan(
        operations=tuple(
            operation_of(each, full_file_bytes)
            for each, blocks in slices
            if len(blocks) >= config.log_blocks and len(set(blocks)) > 1
        ),
        compactor_class=_COMPACTOR,
        preserves_meta_columns=True,
    )


def unchanged_slices(
    plan: CompactionPlan, slices: Iterable[FileSlice], claimed: Collection[GroupId]
) -> tuple[FileSlice, ...]:
    """The slices of a plan that are as it names them, of file groups that are not ``claimed``.

    A compacted block comes last of its slice, and readers who take blocks one after another would
    put what it holds above what came between. So a slice to which anything was added since is left
    as it is, and one that was compacted has no need.

    Shapes: ``slices`` are the latest, at least those of the plan's file groups.
    """
    latest = {(each.partition, each.file_id): each for each in candidates(slices, claimed)}
    found = []
    for operation in plan.operations:
        now = latest.get(operation.file_group)
        if now is None or now.base_instant != operation.base_instant:
            continue
        if {str(log.name) for log in now.log_files} == set(operation.log_files):
            found.append(now)
    return tuple(found)
