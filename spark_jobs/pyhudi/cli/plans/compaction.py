"""The slices that a compaction would take."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.actions.compaction import CompactionPlan
from pyhudi.cli.opening import subject_of, zone_of
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.compaction import MAX_DELTA_COMMITS
from pyhudi.config.write import WriteConfig
from pyhudi.filegroup.slices import FileSlice
from pyhudi.jobs.compaction import (
    COMPACTION_KIND,
    LOG_COMPACTION_KIND,
    CompactionRequest,
)
from pyhudi.services.compaction.job import check_compactable
from pyhudi.services.compaction.log_run import log_compaction_now
from pyhudi.services.compaction.plan import is_due, plan_compaction
from pyhudi.services.compaction.run import claimed_groups
from pyhudi.table.table import Table
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action
from pyhudi.write.encoding import full_file_bytes

_COMPACTED = (
    Column(name="partition", least=12),
    Column(name="file_id", least=20),
    Column(name="slice", kind=Kind.INSTANT),
    Column(name="base", kind=Kind.SIZE),
    Column(name="logs", kind=Kind.COUNT),
    Column(name="log_bytes", kind=Kind.SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCompaction:
    """The compaction that would be planned now; it is planned if it ``is_due``.

    Shapes: ``slices`` are those that it takes, in its order.
    """

    is_due: bool
    plan: CompactionPlan
    slices: tuple[FileSlice, ...]

    @property
    def base_bytes(self) -> int:
        """What the base files of its slices have, which it reads and writes anew.

        Of a skeleton that is also what its source has.
        """
        files = (each.base_file for each in self.slices)
        return sum(file.bytes_to_read for file in files if file is not None)

    @property
    def log_bytes(self) -> int:
        """What the log files of its slices have."""
        return sum(log.size_bytes for each in self.slices for log in each.log_files)


def plan_now(table: Table, config: WriteConfig, kind: str = COMPACTION_KIND) -> PlannedCompaction:
    """The compaction of a table, of one kind, that its options ask for at this moment.

    Raises:
        UnsupportedError: a table that cannot be compacted.
    """
    check_compactable(table.config, table.storage.uri)
    slices = table.latest_slices()
    full = full_file_bytes(config, BaseFileFormat(table.config.base_file_format))
    if kind == LOG_COMPACTION_KIND:
        plan = log_compaction_now(table, config.compaction, full)
        is_planned = bool(plan.operations)
    else:
        at = table.active.next_time(SystemClock(), table.timeline.latest_time)
        claimed = claimed_groups(table)
        plan = plan_compaction(slices, claimed, config.compaction, at=at, full_file_bytes=full)
        is_planned = is_due(table.timeline, config.compaction, at)
    by_group = {(each.partition, each.file_id): each for each in slices}
    return PlannedCompaction(
        is_due=is_planned,
        plan=plan,
        slices=tuple(by_group[each.file_group] for each in plan.operations),
    )


def compaction_plan(table: Table, request: CompactionRequest) -> Report:
    """Which slices a compaction would take now, and whether one is due."""
    config = WriteConfig.from_options(request.options())
    found = plan_now(table, config, request.kind)
    is_log = request.kind == LOG_COMPACTION_KIND
    action = Action.LOG_COMPACTION if is_log else Action.COMPACTION
    pending = [each for each in table.timeline.pending() if each.action is action]
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            Fact(name="due", value=found.is_due),
            Fact(name="slices", value=len(found.slices), kind=Kind.COUNT),
            Fact(
                name="reads",
                value=found.log_bytes + (0 if is_log else found.base_bytes),
                kind=Kind.SIZE,
            ),
            Fact(name="of_which_logs", value=found.log_bytes, kind=Kind.SIZE),
            Fact(name="pending", value=tuple(each.time for each in pending)),
        ),
        grids=(
            Grid(
                name="planned_slices",
                columns=_COMPACTED,
                rows=tuple(
                    (
                        each.partition,
                        each.file_id,
                        each.base_instant,
                        None if each.base_file is None else each.base_file.size_bytes,
                        len(each.log_files),
                        sum(log.size_bytes for log in each.log_files),
                    )
                    for each in found.slices
                ),
                empty="no slice has log files that are to be compacted",
            ),
        ),
        notes=_when_due(found, config),
    )


def _when_due(found: PlannedCompaction, config: WriteConfig) -> tuple[str, ...]:
    if found.is_due or not found.slices:
        return ()
    trigger, least = config.compaction.trigger.value, config.compaction.max_delta_commits
    return (
        f"None is due by {trigger} ({MAX_DELTA_COMMITS.key}={least}); `pyhudi compact "
        "--max-delta-commits 1` runs it all the same.",
    )
