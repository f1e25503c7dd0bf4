"""What a write did that is completed, and whether it can be taken back without losing rows.

Source: ListingBasedRollbackStrategy and BaseRollbackActionExecutor, Hudi 0.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.actions.rollback import InstantInfo, RollbackPlan
from pyhudi.errors import MissingFileError
from pyhudi.filegroup.names import path_to_delete
from pyhudi.services.rollback_plan import PresentFiles, undo_requests, why_kept, why_not_whole
from pyhudi.table.pending import condemned_files
from pyhudi.table.savepoints import pending_restores, saved_instants
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.appended import logs_of_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an instant did, and the files in the partitions where it did it.

    ``says_files`` is whether its own file tells all that it wrote.
    """

    instant: Instant
    metadata: ReplaceCommitMetadata
    says_files: bool
    files: PresentFiles

    @classmethod
    def of(cls, table: Table, instant: Instant) -> Written:
        """What an instant of a table did, as far as its file says and its files are there."""
        metadata = _said(table.active, instant)
        stats = list(metadata.commit.write_stats)
        says_files = instant.is_completed or (bool(stats) and all(stat.path for stat in stats))
        touched = {
            *metadata.commit.partition_to_write_stats,
            *metadata.partition_to_replaced_file_ids,
        }
        partitions = sorted(touched) if says_files else None
        files = _present(table, partitions)
        if not says_files or not {stat.path for stat in stats} <= files.paths:
            # A listing that ends midway says so to nobody, and what it lacks would stay for good.
            files = files.joined(_present(table, partitions))
        return cls(instant=instant, metadata=metadata, says_files=says_files, files=files)

    def plan(self, table: Table) -> RollbackPlan:
        """The rollback that takes it back."""
        storage, instant = table.storage, self.instant
        appended = {stat.path for stat in self.metadata.commit.write_stats if stat.path}
        if not self.says_files and instant.action is not Action.COMPACTION:
            version = table.config.version
            appended.update(logs_of_write(storage, self.files.logs, instant.time, version))
        return RollbackPlan(
            instant=InstantInfo(time=instant.time, action=instant.action.value),
            requests=undo_requests(instant.time, self.files, appended, storage.absolute),
        )

    def why_not_undone(self, active: ActiveTimeline, timeline: Timeline) -> str | None:
        """What keeps it from being taken back, in words; None for nothing.

        A restore takes back what is between it and a savepoint, whose files are all there.
        """
        time = self.instant.time
        reason = why_kept(timeline, self.instant, saved_instants(active, timeline))
        if reason is not None or pending_restores(timeline):
            return reason
        return why_not_whole(
            time,
            self.metadata.commit.write_stats,
            self.metadata.partition_to_replaced_file_ids,
            _compaction_plan(active, self.instant),
            self.files.without(condemned_files(active, timeline, time)),
        )


def has_files_of(plan: RollbackPlan, commit: CommitMetadata) -> bool:
    """Whether a rollback is to delete files that a completed instant names as its own."""
    committed = {stat.path for stat in commit.write_stats if stat.path}
    return any(
        path_to_delete(file, request.partition) in committed
        for request in plan.requests
        for file in request.files_to_delete
    )


def _present(table: Table, partitions: Sequence[str] | None) -> PresentFiles:
    found = table.listing.files(partitions)
    return PresentFiles(bases=found.base_files, logs=found.log_files + found.cdc_files)


def _said(active: ActiveTimeline, instant: Instant) -> ReplaceCommitMetadata:
    """What the instant's file says; that of one which is requested says nothing of files."""
    if instant.state is not State.REQUESTED:
        try:
            return active.read_replace_commit(instant)
        except MissingFileError:
            pass
    return ReplaceCommitMetadata.from_bytes(b"")


def _compaction_plan(active: ActiveTimeline, instant: Instant) -> CompactionPlan | None:
    action = active.begun_as(instant)
    if action not in (Action.COMPACTION, Action.LOG_COMPACTION):
        return None
    return active.read_compaction_plan(replace(instant, action=action))
