"""A write at its instant: begun, then committed, or withdrawn where there is nothing to write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pyhudi.actions.commit import CommitMetadata, stats_by_partition
from pyhudi.actions.replace import RequestedReplace
from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import (
    AlreadyExistsError,
    HudiError,
    MissingFileError,
    RequestError,
    StorageError,
    TableChangedError,
    WriteConflictError,
    WriterAtWorkError,
)
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.write_run import WriteRun, Written
from pyhudi.services.recovery import LeftBehind, has_nothing_pending, recover
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.table import Table, load_made, load_table
from pyhudi.timeline.clock import about
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.conflicts.conflict import ConflictRules
from pyhudi.transaction.exclusion import Alone, check_timeline_counts
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import delete_written
from pyhudi.transaction.optimistic.conditions import check_no_metadata_table
from pyhudi.transaction.optimistic.exclusion import KeySearch, PartitionSearch, Shared
from pyhudi.write.plan.kept import FilesWritten

# Between two tries; longer after each, so that several that met do not meet again.
_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """Files of an earlier try, and the partitions that others have changed since it."""

    files: FilesWritten
    changed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write whose instant is requested, and the table as it was then.

    ``is_expected`` says whether it is the table that the write was resolved for, or one that was
    made for it. ``shared`` is there where others write at the same time, and ``kept`` when an
    earlier try at this instant met a conflict.
    """

    run: WriteRun
    instant: InstantRun
    table: Table
    is_expected: bool
    shared: Shared | None = None
    kept: KeptFiles | None = None

    def start(self, plan: CommitMetadata) -> None:
        """Make the instant inflight, unless it is since an earlier try."""
        if not self.instant.is_started:
            self.instant.start(plan)

    def look_for_keys(self, search: KeySearch) -> None:
        """Say how file groups that others write meanwhile are searched for keys of this write."""
        if self.shared is not None:
            self.shared.search = search

    def empty_partitions(self, search: PartitionSearch) -> None:
        """Say which partitions are meant to be emptied, those among them that others make."""
        if self.shared is not None:
            self.shared.empties = search


WriteFiles: TypeAlias = Callable[[Begun], Written]
"""Writes what a request asks for, before it is committed."""


def write_at_an_instant(run: WriteRun, write_files: WriteFiles) -> JobResult:
    """Begin the write, let its files be written, and commit them.

    The table is made if need be, other writers are waited for, and dead ones are undone. Where
    writers go on beside each other none of this is waited for, and a write that met a conflict is
    done again, some times.

    Raises:
        TableChangedError: the rows were prepared for another table than there is now.
        ConflictError: others were at work for too long, took this writer for dead, or changed the
            same whenever it was tried.
        RequestError: found before any file is written; the instant leaves no trace.
    """
    tries = _Tries(run)
    while True:
        try:
            return replace(_attempt(run, write_files, tries), conflicts=tries.conflicts)
        except WriteConflictError as error:
            tries.take(error)
        run = _resolved_again(run)
        if run.earlier is not None:
            return run.already(run.earlier)


class _Tries:
    """How often a write has met a conflict, and may go on all the same."""

    def __init__(self, run: WriteRun) -> None:
        self._most, self._clock = run.config.concurrency.conflict_retries, run.environment.clock
        self.conflicts = 0

    def take(self, error: WriteConflictError) -> None:
        """Pause before the next try.

        Raises:
            WriteConflictError: the one given, where there is none.
        """
        if self.conflicts == self._most:
            raise error
        self.conflicts += 1
        _log.warning("%s; trying again, %d of %d", error, self.conflicts, self._most)
        self._clock.sleep(about(min(_PAUSE_S * 2**self.conflicts, _LONGEST_PAUSE_S)))


def _attempt(run: WriteRun, write_files: WriteFiles, tries: _Tries) -> JobResult:
    storage = run.target.storage
    with ExitStack() as held:
        begin = partial(_begin, run, held)
        if run.gate.is_shared:
            begun = begin()
        else:
            begun = run.turn.take(lambda: run.writer(load_table(storage)), begin)
        earlier = run.committed_meanwhile(begun.table)
        if earlier is not None:
            begun.instant.withdraw()
            return run.already(earlier)
        with dropping_saved(begun.run, begun.instant.instant):
            try:
                begun = _on_table_of_now(begun)
                with _Overtaken(begun.instant):
                    written = write_files(begun)
            except (RequestError, TableChangedError):
                if not begun.instant.is_started:
                    begun.instant.withdraw()
                raise
            return _commit_or_go_on(begun, written, write_files, tries)


def _commit_or_go_on(
    begun: Begun, written: Written, write_files: WriteFiles, tries: _Tries
) -> JobResult:
    """Commit; after a conflict with earlier instants alone, write again what they have changed.

    Those who went on from later instants need a later one too, under which every file is written
    again: files of a file group follow each other by the instants in their names.
    """
    while True:
        try:
            return _commit(begun, written)
        except WriteConflictError as error:
            following = _following(begun, written, error)
            if following is None:
                raise
            tries.take(error)
        begun = following
        with _Overtaken(begun.instant):
            written = write_files(begun)


class _Overtaken:
    """Says of a file that is gone that others took it away; tasks tell of it in their words."""

    def __init__(self, instant: InstantRun) -> None:
        self._instant = instant

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and MissingFileError.__name__ in f"{kind} {error}":
            self._instant.check_not_overtaken(error)


def _following(begun: Begun, written: Written, error: WriteConflictError) -> Begun | None:
    """The write on the table as it is now, with the files that it keeps; None without any."""
    if begun.shared is None or written.files is None:
        return None
    instant = begun.instant.instant
    changes = begun.shared.earlier_changes(instant, error)
    if changes is None:
        return None
    table, groups, partitions = changes
    if begun.run.has_other_schema(table):
        return None
    kept = written.files.beside(groups, partitions)
    if not kept.stats:
        return None
    paths = {stat.path for stat in kept.stats}
    gone = [stat.path for stat in written.files.stats if stat.path and stat.path not in paths]
    delete_written(table.storage, instant, gone)
    _log.info("%s: %d of %d files are kept", instant, len(kept.stats), len(written.files.stats))
    begun.shared.see(table, instant)
    return replace(begun, table=table, kept=KeptFiles(files=kept, changed=partitions))


def _begin(run: WriteRun, held: ExitStack) -> Begun:
    """Request the instant, in a context that is left with ``held``."""
    left = LeftBehind.of(run.target.storage)
    table, is_expected = _prepared(run)
    action = _action(run, table)
    plan = RequestedReplace() if action is Action.REPLACE_COMMIT else None
    writer = run.writer(table)
    run.drop_saved(*recover(writer, left))
    shared = Shared(ConflictRules.of(writer.concurrency)) if run.gate.is_shared else None
    alone = Alone()
    if shared is None and has_nothing_pending(table.timeline):
        # Nothing has been listed anew; whether it was too early is seen when the write begins.
        writer = replace(writer, latest=table.timeline.latest_time)
    instant = held.enter_context(InstantRun(writer, action, plan, exclusion=shared or alone))
    if shared is not None:
        now = shared.table
    else:
        now = table.refresh() if alone.seen is None else table.seen_as(alone.seen)
        _check_same_timeline(instant, table, now)
    is_expected = is_expected and now.config.version is run.target.config.version
    return Begun(run=run, instant=instant, table=now, is_expected=is_expected, shared=shared)


def _check_same_timeline(instant: InstantRun, begun: Table, now: Table) -> None:
    """Step back from a timeline that has ceased to count since the table was looked at.

    Raises:
        WriterAtWorkError: it has.
    """
    try:
        check_timeline_counts(begun, now.config)
    except WriterAtWorkError:
        instant.withdraw()
        raise


def _on_table_of_now(begun: Begun) -> Begun:
    """The write on the table as it is, which others may have made or changed meanwhile.

    Raises:
        TableChangedError: its rows would have to be read again for that.
        RequestError: rows or request do not fit the table as it is.
    """
    run, table = begun.run, begun.table
    if begun.is_expected and not run.has_other_schema(table):
        return begun
    return replace(begun, run=_resolved_again(run))


def _resolved_again(run: WriteRun) -> WriteRun:
    """The same write on the table as it is, with the rows that it has.

    Raises:
        TableChangedError: its rows would have to be read again for that.
        RequestError: rows or request do not fit the table as it is.
    """
    now = run.again()
    if now.config != run.config or now.target.keying != run.target.keying:
        raise TableChangedError(
            "another writer has changed the table's schema meanwhile; retry",
            where=run.target.storage.uri,
        )
    return now


def _prepared(run: WriteRun) -> tuple[Table, bool]:
    """The table without a metadata table that would go stale, and whether it is the one expected.

    It is made if need be; one that another writer has just made is not expected.
    """
    target, is_expected = run.target, True
    if target.table is None:
        try:
            create_table(target.storage, target.config)
        except AlreadyExistsError:
            is_expected = False
    table = load_made(target.storage) if target.table is None else target.table.refresh()
    if run.gate.is_shared:
        check_no_metadata_table(table)
    elif table.config.metadata_partitions:
        disable(table.storage, table.config)
    return table, is_expected


def _action(run: WriteRun, table: Table) -> Action:
    if run.config.recorded_operation.replaces:
        return Action.REPLACE_COMMIT
    is_delta = table.config.table_type is TableType.MERGE_ON_READ
    return Action.DELTA_COMMIT if is_delta else Action.COMMIT


@contextmanager
def dropping_saved(run: WriteRun, instant: str) -> Iterator[None]:
    """Records that a write saved as failed are of no use when it is not committed."""
    try:
        yield
    except (HudiError, OSError):
        try:
            run.drop_saved(instant)
        except (HudiError, OSError) as failure:
            _log.warning("failed records of a write that failed stay saved: %s", failure)
        raise


def _commit(begun: Begun, written: Written) -> JobResult:
    run, instant, table = begun.run, begun.instant, begun.table
    if run.is_nothing(written):
        # An empty source, or nothing but deletes of keys that are not stored.
        instant.withdraw()
        return run.nothing(_why_nothing(run, written), written.ignored or 0)
    with run.watch.stage("commit"):
        written.failures.save(run.failed_storage(), instant.instant)
        written = replace(written, stats=written.failures.on(written.stats))
        metadata = written.metadata_of(run.metadata(stats_by_partition(written.stats)))
        paths = frozenset(stat.path for stat in written.stats if stat.path)
        completed = instant.complete(metadata, paths)
    completed_at = completed.completion_time or instant.completed_at
    if completed_at is None:
        completed_at = _completion_time(table, completed)
    changes = run.target.schema_changes
    if changes:
        _log.info("%s: the schema has changed: %s", table.config.name, "; ".join(changes))
    done = run.result("committed", completed.time, completed_at, written)
    return replace(done, anomaly=instant.anomaly)


def _why_nothing(run: WriteRun, written: Written) -> str:
    """Why a write that took its rows wrote no file."""
    if written.ignored:
        return f"the stored rows are newer than all {written.ignored:,} that came"
    match run.config.operation:
        case Operation.DELETE:
            return "the table has none of the keys to delete"
        case Operation.DELETE_PARTITION:
            return "the table has none of the partitions to delete"
        case Operation.INSERT if run.config.stored_keys is StoredKeys.DROP:
            return "the table has all keys of the rows already"
        case Operation.UPSERT | Operation.INSERT:
            return "the rows only delete keys that the table has not"
        case _:
            return "the source has no rows"


def _completion_time(table: Table, completed: Instant) -> str | None:
    try:
        return table.active.completion_time(completed)
    except StorageError as failure:
        # The write is committed: whoever is told otherwise writes its rows again.
        _log.warning("when instant %s completed is not known: %s", completed.time, failure)
        return None
