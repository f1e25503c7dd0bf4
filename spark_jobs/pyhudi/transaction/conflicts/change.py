"""What one instant does to a table, as far as it matters to others who write at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyhudi.actions.commit import NO_PREVIOUS_COMMIT, CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.file_group import GroupId
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.timeline.instant import Instant

_WHOLE_TABLE = "INSERT_OVERWRITE_TABLE"
_OVERWRITES = (_WHOLE_TABLE, "INSERT_OVERWRITE", "DELETE_PARTITION")
_CLUSTER = "CLUSTER"
_KEEPS_ROWS = ("COMPACT", "LOG_COMPACT")
_TASK = ("airflow.dag_id", "airflow.task_id")
_RUN = "airflow.run_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an instant does to file groups and partitions.

    ``written`` are the file groups that it gives files to, ``replaced`` those that it hides, and
    ``emptied`` the partitions of which it hides whatever they have. ``bases`` are the instants that
    the names of its log files have. ``empties_all`` says that it replaces the whole table, and
    ``moves_no_row`` that every row stays as it is, in its file group. ``run`` is the DAG run that
    asked for it, where the commit tells, and ``request`` what all tries of one request share.
    ``known`` are the instants of the base files that it went on from, ``made`` the file groups
    that it began.
    """

    instant: Instant
    operation: str = "UNKNOWN"
    written: frozenset[GroupId] = frozenset()
    replaced: frozenset[GroupId] = frozenset()
    emptied: frozenset[str] = frozenset()
    bases: frozenset[str] = field(default=frozenset())
    empties_all: bool = False
    moves_no_row: bool = False
    run: str | None = None
    request: str | None = None
    known: frozenset[str] = field(default=frozenset())
    made: frozenset[GroupId] = field(default=frozenset())

    @classmethod
    def of(cls, instant: Instant, metadata: CommitMetadata | ReplaceCommitMetadata) -> Change:
        """What the metadata of an instant says that it does.

        Replaced file groups are those of every operation that replaces, and an overwrite empties
        the partitions that it names, whatever file groups they had when it began.

        Source: ConcurrentOperation, Hudi 0.15 to 1.2: of one's own change Hudi takes replaced file
            groups into account for a clustering and insert overwrites alone, and no partition.
        """
        replace = metadata if isinstance(metadata, ReplaceCommitMetadata) else None
        commit = metadata.commit if isinstance(metadata, ReplaceCommitMetadata) else metadata
        hidden = {} if replace is None else replace.partition_to_replaced_file_ids
        stats = [(path, s) for path, made in commit.partition_to_write_stats.items() for s in made]
        logs = (parse_log_file_name((s.path or "").rpartition("/")[2]) for _, s in stats)
        operation = commit.operation_type
        written = frozenset((path, s.file_id) for path, s in stats if s.file_id)
        is_overwrite = operation in _OVERWRITES
        return cls(
            instant=instant,
            operation=operation,
            written=written,
            replaced=frozenset((path, each) for path, ids in hidden.items() for each in ids),
            emptied=frozenset(hidden) if is_overwrite else frozenset(),
            bases=frozenset(log.base_instant for log in logs if log is not None),
            empties_all=operation == _WHOLE_TABLE,
            moves_no_row=commit.compacted or operation in _KEEPS_ROWS,
            run=_run_of(commit),
            request=commit.extra_metadata.get(IDEMPOTENCY_KEY.key),
            known=frozenset(s.prev_commit for _, s in stats if s.prev_commit),
            made=frozenset(
                (path, s.file_id)
                for path, s in stats
                if s.file_id and s.prev_commit == NO_PREVIOUS_COMMIT
            ),
        )

    @classmethod
    def planned(cls, instant: Instant, groups: Iterable[GroupId], *, operation: str) -> Change:
        """What a service is about to do to the file groups of its plan."""
        is_clustering, found = operation == _CLUSTER, frozenset(groups)
        return cls(
            instant=instant,
            operation=operation,
            written=found,
            replaced=found if is_clustering else frozenset(),
            moves_no_row=not is_clustering,
        )

    def has_seen(self, other: Change) -> bool:
        """Whether its files say that it was made of a table that had the other change in it.

        They do where it rewrites the other's base files or replaces file groups that it began.
        Log files say nothing: those of writes that are not committed lie beside the others.
        """
        return other.instant.time in self.known or bool(self.replaced & other.made)

    @property
    def groups(self) -> frozenset[GroupId]:
        """Every file group that is not afterwards what it was."""
        return self.written | self.replaced

    @property
    def partitions(self) -> frozenset[str]:
        """Every partition that is not afterwards what it was."""
        return self.emptied | frozenset(partition for partition, _ in self.groups)


def _run_of(commit: CommitMetadata) -> str | None:
    """The DAG run that asked for a commit, as its extra metadata tells (``commit_stamp``)."""
    extra = commit.extra_metadata
    task = ".".join(filter(None, (extra.get(key) for key in _TASK)))
    run = extra.get(_RUN)
    return f"{task}, run {run}" if task and run else task or run or None
