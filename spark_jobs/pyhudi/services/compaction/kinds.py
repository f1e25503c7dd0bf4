"""The two kinds of compaction: how each is planned, run and taken back, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.reading import SliceReading
from pyhudi.jobs.compaction import COMPACTION, LOG_COMPACTION, LOG_COMPACTION_KIND
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.compaction.log_run import (
    log_compaction_run,
    schedule_log_compaction,
    unschedule_log_compaction,
)
from pyhudi.services.compaction.run import CompactionWork, compaction_run, schedule, unschedule
from pyhudi.timeline.instant import Action, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer
from pyhudi.write.context import WriteContext
from pyhudi.write.files.compact import compact_slice
from pyhudi.write.files.log_compact import log_compact_slice

WriteSlice = Callable[[WriteContext, TaskIdentity, FileSlice, SliceReading], list[WriteStat]]
"""What a task does with a slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionKind:
    """What a job needs to know of compactions or of log compactions.

    ``operation`` is what results call it, ``commit_name`` what commits do. ``schedule`` makes a
    plan, and gives its instant, or None when there is nothing to do.
    """

    action: Action
    operation: str
    commit_name: str
    schedule: Callable[..., str | None]
    unschedule: Callable[[Writer, str], None]
    run: Callable[[Writer, str], AbstractContextManager[CompactionWork]]
    write_slice: WriteSlice

    def oldest_pending(self, timeline: Timeline) -> str | None:
        """The instant of the oldest one that is planned and can be run.

        A compaction that is inflight is run again; a log compaction is rolled back with its plan.
        """
        for instant in timeline.pending():
            is_runnable = self.action is Action.COMPACTION or instant.state is State.REQUESTED
            if instant.action is self.action and is_runnable:
                return instant.time
        return None


def compaction_kind(name: str) -> CompactionKind:
    """The kind of this name in requests."""
    if name == LOG_COMPACTION_KIND:
        return CompactionKind(
            action=Action.LOG_COMPACTION,
            operation=LOG_COMPACTION,
            commit_name="LOG_COMPACT",
            schedule=schedule_log_compaction,
            unschedule=unschedule_log_compaction,
            run=log_compaction_run,
            write_slice=log_compact_slice,
        )
    return CompactionKind(
        action=Action.COMPACTION,
        operation=COMPACTION,
        commit_name="COMPACT",
        schedule=schedule,
        unschedule=unschedule,
        run=compaction_run,
        write_slice=compact_slice,
    )
