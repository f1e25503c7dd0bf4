"""A write at its instant: begun, then committed, or withdrawn where there is nothing to write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pyhudi.actions.commit import stats_by_partition
from pyhudi.actions.replace import RequestedReplace
from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import (
    AlreadyExistsError,
    HudiError,
    RequestError,
    StorageError,
    TableChangedError,
)
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.write_run import WriteRun, Written
from pyhudi.services.recovery import recover
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.table import Table, load_made, load_table
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.instant_run import InstantRun

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write whose instant is requested, and the table as it was then.

    ``is_expected`` says whether it is the table that the write was resolved for, or one that was
    made for it.
    """

    run: WriteRun
    instant: InstantRun
    table: Table
    is_expected: bool


WriteFiles: TypeAlias = Callable[[Begun], Written]
"""Writes what a request asks for, before it is committed."""


def write_at_an_instant(run: WriteRun, write_files: WriteFiles) -> JobResult:
    """Begin the write, let its files be written, and commit them.

    The table is made if need be, other writers are waited for, and dead ones are undone.

    Raises:
        TableChangedError: the rows were prepared for another table than there is now.
        ConflictError: others were at work for too long, or took this writer for dead.
        RequestError: found before any file is written; the instant leaves no trace.
    """
    storage = run.target.storage
    with ExitStack() as held:
        begun = run.turn.take(lambda: run.writer(load_table(storage)), partial(_begin, run, held))
        earlier = run.committed_meanwhile(begun.table)
        if earlier is not None:
            begun.instant.withdraw()
            return run.already(earlier)
        with _dropping_saved(begun):
            try:
                begun = _on_table_of_now(begun)
                written = write_files(begun)
            except (RequestError, TableChangedError):
                if not begun.instant.is_started:
                    begun.instant.withdraw()
                raise
            return _commit(begun, written)


def _begin(run: WriteRun, held: ExitStack) -> Begun:
    """Request the instant, in a context that is left with ``held``."""
    table, is_expected = _prepared(run)
    action = _action(run, table)
    plan = RequestedReplace() if action is Action.REPLACE_COMMIT else None
    writer = run.writer(table)
    run.drop_saved(*recover(writer))
    instant = held.enter_context(InstantRun(writer, action, plan))
    return Begun(run=run, instant=instant, table=table.refresh(), is_expected=is_expected)


def _on_table_of_now(begun: Begun) -> Begun:
    """The write on the table as it is, which others may have made or changed meanwhile.

    Raises:
        TableChangedError: its rows would have to be read again for that.
        RequestError: rows or request do not fit the table as it is.
    """
    run, table = begun.run, begun.table
    if begun.is_expected and not run.has_other_schema(table):
        return begun
    now = run.again()
    if now.config != run.config or now.target.keying != run.target.keying:
        raise TableChangedError(
            "another writer has changed the table's schema meanwhile; retry",
            where=table.storage.uri,
        )
    return replace(begun, run=now)


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
    if table.config.metadata_partitions:
        disable(table.storage, table.config)
    return table, is_expected


def _action(run: WriteRun, table: Table) -> Action:
    if run.config.recorded_operation.replaces:
        return Action.REPLACE_COMMIT
    is_delta = table.config.table_type is TableType.MERGE_ON_READ
    return Action.DELTA_COMMIT if is_delta else Action.COMMIT


@contextmanager
def _dropping_saved(begun: Begun) -> Iterator[None]:
    """Records that a write saved as failed are of no use when it is not committed."""
    try:
        yield
    except (HudiError, OSError):
        try:
            begun.run.drop_saved(begun.instant.instant)
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
    changes = run.target.schema_changes
    if changes:
        _log.info("%s: the schema has changed: %s", table.config.name, "; ".join(changes))
    return run.result("committed", completed.time, _completion_time(table, completed), written)


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
