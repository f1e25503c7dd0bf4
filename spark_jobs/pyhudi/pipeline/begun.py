"""A write at its instant: begun, then committed, or withdrawn where there is nothing to write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyhudi.actions.commit import stats_by_partition
from pyhudi.actions.replace import requested_replace
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
from pyhudi.services.rollback import recover, writer_of
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.table import Table, load_table
from pyhudi.timeline import active
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.transaction import Transaction

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A write whose instant is requested, and the table as it was then."""

    run: WriteRun
    instant: Transaction
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
    with _begin(run) as transaction:
        table = load_table(run.target.storage)
        earlier = run.committed_meanwhile(table)
        if earlier is not None:
            transaction.withdraw()
            return run.already(earlier, table)
        if run.has_other_schema(table):
            transaction.withdraw()
            raise ConflictError(
                "another writer has changed the table's schema meanwhile; retry",
                where=table.storage.uri,
            )
        begun = Begun(run=run, instant=transaction, table=table)
        with _dropping_saved(begun):
            try:
                written = write_files(begun)
            except RequestError:
                if not transaction.is_started:
                    transaction.withdraw()
                raise
            return _commit(begun, written)


def _begin(run: WriteRun) -> Transaction:
    target = run.target
    if target.table is None:
        try:
            create_table(target.storage, target.config)
        except AlreadyExistsError as error:
            raise ConflictError(
                "another writer has just created this table; retry", where=target.storage.uri
            ) from error
    table = load_table(target.storage)
    if table.config.metadata_partitions:
        disable(table.storage, table.config)
    writer = writer_of(table, run.environment.clock, run.config.heartbeat)
    run.drop_saved(*recover(writer))
    if run.config.effect.replaces:
        return Transaction(writer, Action.REPLACE_COMMIT, requested_replace())
    is_delta = table.config.table_type is TableType.MERGE_ON_READ
    return Transaction(writer, Action.DELTA_COMMIT if is_delta else Action.COMMIT)


@contextmanager
def _dropping_saved(begun: Begun) -> Iterator[None]:
    """Records that a write saved as failed are of no use when it is not committed."""
    try:
        yield
    except Exception:
        try:
            begun.run.drop_saved(begun.instant.instant)
        except (HudiError, OSError) as failure:
            _log.warning("failed records of a write that failed stay saved: %s", failure)
        raise


def _commit(begun: Begun, written: Written) -> JobResult:
    run, transaction, table = begun.run, begun.instant, begun.table
    if run.is_nothing(written):
        # An empty source, or nothing but deletes of keys that are nowhere.
        transaction.withdraw()
        return run.nothing()
    with run.watch.stage("commit"):
        written.failures.save(run.failed_storage(), transaction.instant)
        written = replace(written, stats=written.failures.on(written.stats))
        metadata = written.metadata_of(run.metadata(stats_by_partition(written.stats)))
        paths = frozenset(stat.path for stat in written.stats if stat.path)
        transaction.complete(metadata.to_bytes(), paths)
    action = Action.REPLACE_COMMIT if run.config.effect.replaces else Action.COMMIT
    if table.config.table_type is TableType.MERGE_ON_READ and not run.config.effect.replaces:
        action = Action.DELTA_COMMIT
    done = Instant(time=transaction.instant, action=action, state=State.COMPLETED)
    return run.result("committed", transaction.instant, _completion_time(table, done), written)


def _completion_time(table: Table, done: Instant) -> str | None:
    config = table.config
    try:
        return active.completion_time(table.storage, config.version, config.timezone, done)
    except StorageError as failure:
        # The write is committed: whoever is told otherwise writes its rows again.
        _log.warning("%s: when instant %s completed is not known: %s", config.name, done, failure)
        return None
