"""A write at its instant: begun, then committed, or withdrawn where there is nothing to write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyhudi.actions.commit import stats_by_partition
from pyhudi.actions.replace import RequestedReplace
from pyhudi.config.options.operations import Operation, StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import (
    AlreadyExistsError,
    ConflictError,
    HudiError,
    RequestError,
    StorageError,
)
from pyhudi.jobs import JobResult
from pyhudi.pipeline.write_run import WriteRun, Written
from pyhudi.services.recovery import recover, writer_of
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.table import Table, load_table
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.instant_run import InstantRun

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write whose instant is requested, and the table as it was then."""

    run: WriteRun
    instant: InstantRun
    table: Table


WriteFiles: TypeAlias = Callable[[Begun], Written]
"""Writes what a request asks for, before it is committed."""


def write_at_an_instant(run: WriteRun, write_files: WriteFiles) -> JobResult:
    """Begin the write, let its files be written, and commit them.

    The table is made if need be, and dead writes are undone.

    Raises:
        ConflictError: the table is no longer the one that the request was held against.
        RequestError: found before any file is written; the instant leaves no trace.
    """
    table = _prepared(run)
    action = _action(run, table)
    plan = RequestedReplace() if action is Action.REPLACE_COMMIT else None
    writer = writer_of(table, run.environment.clock, run.config.heartbeat)
    run.drop_saved(*recover(writer))
    with InstantRun(writer, action, plan) as instant:
        begun = Begun(run=run, instant=instant, table=table.refresh())
        earlier = run.committed_meanwhile(begun.table)
        if earlier is not None:
            instant.withdraw()
            return run.already(earlier, begun.table)
        if run.has_other_schema(begun.table):
            instant.withdraw()
            raise ConflictError(
                "another writer has changed the table's schema meanwhile; retry",
                where=table.storage.uri,
            )
        with _dropping_saved(begun):
            try:
                written = write_files(begun)
            except RequestError:
                if not instant.is_started:
                    instant.withdraw()
                raise
            return _commit(begun, written)


def _prepared(run: WriteRun) -> Table:
    """The table as it is now, made if need be, without a metadata table that would go stale."""
    target = run.target
    if target.table is None:
        try:
            create_table(target.storage, target.config)
        except AlreadyExistsError as error:
            raise ConflictError(
                "another writer has just created this table; retry", where=target.storage.uri
            ) from error
    table = load_table(target.storage) if target.table is None else target.table.refresh()
    if table.config.metadata_partitions:
        disable(table.storage, table.config)
    return table


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
