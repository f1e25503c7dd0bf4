"""The two kinds of compaction: how each is planned, run and taken back, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.reading import SliceReading
from pyhudi.jobs import COMPACTION, LOG_COMPACTION, LOG_COMPACTION_KIND
from pyhudi.services.compaction import (
    CompactionRun,
    CompactionWork,
    find_compaction,
    schedule,
    unschedule,
)
from pyhudi.services.log_compaction import (
    LogCompactionRun,
    find_log_compaction,
    schedule_log_compaction,
    unschedule_log_compaction,
)
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.transaction import Writer
from pyhudi.write.context import TaskIdentity, WriteContext
from pyhudi.write.files.compact import compact_slice
from pyhudi.write.files.log_compact import log_compact_slice


class Schedule(Protocol):
    """Makes a plan, and gives its instant, or None when there is nothing to do."""

    def __call__(
        self,
        writer: Writer,
        config: CompactionConfig,
        *,
        full_file_bytes: int,
        extra: Mapping[str, str] | None = None,
    ) -> str | None:
        """Plan what ``config`` asks for."""
        ...


class Run(Protocol):
    """One run of a plan as a context."""

    def __enter__(self) -> CompactionWork:
        """Begin."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undo what is not complete."""
        ...

    def complete(self, metadata: bytes, committed: frozenset[str]) -> None:
        """Commit."""
        ...


WriteSlice = Callable[[WriteContext, TaskIdentity, FileSlice, SliceReading], list[WriteStat]]
"""What a task does with a slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionKind:
    """What a job needs to know of compactions or of log compactions.

    ``operation`` is what results call it, ``commit_name`` what commits do. ``runs_again`` says
    whether one that is inflight can be run again.
    """

    action: Action
    operation: str
    commit_name: str
    runs_again: bool
    schedule: Schedule
    unschedule: Callable[[Writer, str], None]
    find: Callable[[Timeline, str], Instant | None]
    run: Callable[[Writer, str], Run]
    write_slice: WriteSlice

    def oldest_pending(self, timeline: Timeline) -> str | None:
        """The instant of the oldest one that is planned and can be run."""
        for instant in timeline.pending():
            is_runnable = self.runs_again or instant.state is State.REQUESTED
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
            runs_again=False,
            schedule=schedule_log_compaction,
            unschedule=unschedule_log_compaction,
            find=find_log_compaction,
            run=LogCompactionRun,
            write_slice=log_compact_slice,
        )
    return CompactionKind(
        action=Action.COMPACTION,
        operation=COMPACTION,
        commit_name="COMPACT",
        runs_again=True,
        schedule=schedule,
        unschedule=unschedule,
        find=find_compaction,
        run=CompactionRun,
        write_slice=_write_base_file,
    )


def _write_base_file(
    job: WriteContext, task: TaskIdentity, found: FileSlice, merge: SliceReading
) -> list[WriteStat]:
    stat = compact_slice(job, task, found, merge)
    return [] if stat is None else [stat]
