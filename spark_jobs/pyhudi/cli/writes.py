"""What completed writes say, read side by side: the rows of several reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from pyhudi.actions.archived import ArchivedFile
from pyhudi.actions.commit import NO_PREVIOUS_COMMIT, CommitMetadata, WriteStat
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.table.archived import written_by
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action, Instant

_THREADS = 8
_SECONDS = "%Y%m%d%H%M%S"
_AIRFLOW = ("airflow.dag_id", "airflow.run_id")
_SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An instant and what its files tell.

    ``commit`` is None where it is no completed write, or ``problem`` says why it cannot be read.
    ``archived`` is the record of one that has left the timeline.
    """

    instant: Instant
    completed: str | None = None
    commit: CommitMetadata | None = None
    problem: str | None = None
    archived: ArchivedFile | None = None

    @property
    def state(self) -> str:
        """How far it has come, in a word."""
        return self.instant.state.name.lower() if self.archived is None else "archived"

    @property
    def seconds(self) -> float | None:
        """How long it took, from request to completion; None where nobody can tell."""
        # A savepoint has the time of the commit that it saves.
        if self.completed is None or self.instant.action.value == "savepoint":
            return None
        return seconds_between(self.instant.time, self.completed)

    @property
    def stats(self) -> tuple[WriteStat, ...]:
        """The statistics of the files that it wrote."""
        return () if self.commit is None else tuple(self.commit.write_stats)

    @property
    def operation(self) -> str | None:
        """The operation as users call it, in small letters."""
        return None if self.commit is None else self.commit.operation_type.lower()

    @property
    def is_service(self) -> bool:
        """Whether it rewrote rows and changed none."""
        return self.commit is not None and self.commit.operation_type in _SERVICES

    @property
    def size_bytes(self) -> int | None:
        """Bytes that it wrote."""
        return None if self.commit is None else sum(each.total_write_bytes for each in self.stats)

    @property
    def changes(self) -> Mapping[str, int] | None:
        """What became of rows; of a service, how many it wrote anew."""
        if self.commit is None:
            return None
        if self.is_service:
            return {"rewritten": sum(each.num_writes for each in self.stats)}
        return changes(self.stats)

    @property
    def dag_run(self) -> str | None:
        """The DAG and the run of Airflow that asked for it."""
        extra = {} if self.commit is None else self.commit.extra_metadata
        return " ".join(text for name in _AIRFLOW if (text := extra.get(name))) or None


def told_by(table: Table, instants: Iterable[Instant]) -> list[Told]:
    """What the files of these instants tell, in their order; one that is gone by now is left out.

    Guarantees: one or two small reads an instant, some at a time.
    """
    with ThreadPoolExecutor(max_workers=_THREADS) as threads:
        found = list(threads.map(lambda instant: _told(table, instant), instants))
    return [each for each in found if each is not None]


def told_in_archive(instant: Instant, record: ArchivedFile) -> Told:
    """What the record of an archived instant tells."""
    found = written_by(record)
    return Told(
        instant=instant,
        completed=record.transition_time,
        commit=None if found is None else found.commit,
        archived=record,
    )


def replaced_by(table: Table, told: Told) -> Mapping[str, Sequence[str]]:
    """The file ids that a completed replacecommit hides by partition; none of any other instant."""
    if told.instant.action is not Action.REPLACE_COMMIT:
        return {}
    if told.archived is None:
        return table.active.read_replace_commit(told.instant).partition_to_replaced_file_ids
    found = written_by(told.archived)
    return {} if found is None else found.partition_to_replaced_file_ids


def changes(stats: Sequence[WriteStat]) -> Mapping[str, int]:
    """What became of the rows that were written: inserted, updated and deleted ones."""
    return {
        "inserted": sum(each.num_inserts for each in stats),
        "updated": sum(each.num_update_writes for each in stats),
        "deleted": sum(each.num_deletes for each in stats),
    }


def kind_of(stat: WriteStat) -> str:
    """What was done to a file group: ``new``, ``rewritten`` or ``log``."""
    if stat.log_files is not None:
        return "log"
    return "new" if stat.prev_commit == NO_PREVIOUS_COMMIT else "rewritten"


def seconds_between(begin: str, end: str) -> float | None:
    """The span between two instants; None for one that ends before it begins."""
    try:
        first, last = (
            datetime.strptime(each[:14], _SECONDS)  # noqa: DTZ007 - only the difference counts
            for each in (begin, end)
        )
    except ValueError:
        return None
    milliseconds = int(end[14:17] or 0) - int(begin[14:17] or 0)
    seconds = (last - first).total_seconds() + milliseconds / 1000
    return round(seconds, 3) if seconds >= 0 else None


def _told(table: Table, instant: Instant) -> Told | None:
    active = table.active
    if not instant.is_completed:
        return Told(instant=instant)
    try:
        commit = active.read_commit(instant) if instant.action.writes_rows else None
        return Told(instant=instant, completed=active.completion_time(instant), commit=commit)
    except CorruptTableError as error:
        return Told(instant=instant, problem=str(error))
    except MissingFileError:
        return None
