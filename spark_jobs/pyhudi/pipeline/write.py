"""The write pipeline: request, target, keys, lookup, file groups, files, commit.

Insert and overwrites skip the lookup, bulk insert skips lookup and file groups, delete brings keys
alone, and delete_partition writes nothing. A bulk insert that must know the keys of its rows needs
them together, and goes the way of an insert that leaves existing files alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pyhudi.config.options.operations import Operation
from pyhudi.errors import InvariantError, TableChangedError
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.after_commit import serve_after
from pyhudi.pipeline.batch.added import with_ordering_value
from pyhudi.pipeline.batch.source import SourceRows
from pyhudi.pipeline.batch.staging import stage
from pyhudi.pipeline.begun import Begun, WriteFiles, write_at_an_instant
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.files.bulk import bulk_insert
from pyhudi.pipeline.replacing import delete_partitions, replaced_groups, with_slot_replaced
from pyhudi.pipeline.staged import write_staged
from pyhudi.pipeline.stopwatch import with_requests
from pyhudi.pipeline.write_run import WriteRun, Written, note_files, prepare

# How often the rows are read, when others change the table's schema before they are written.
_TRIES = 10


def write_rows(
    environment: Environment,
    rows: SourceRows | None,
    path: str,
    options: Mapping[str, str],
    *,
    commit_metadata: Mapping[str, str] | None = None,
) -> JobResult:
    """The whole write, stage by stage.

    ``rows`` may be None when partitions are deleted that the options name.

    Raises:
        RequestError: options, rows and table do not fit; nothing was written.
        ConflictError: other writers were at work for too long; nothing of this write is visible.
        PlatformError: disk, network or runner failed; nothing of this write is visible.
    Guarantees: the rows are in the table whole when this returns, and not at all when it raises.
    """
    if rows is not None:
        rows = with_ordering_value(rows, options)
    schema = None if rows is None else rows.schema

    def work() -> JobResult:
        run = prepare(environment, schema, path, options, commit_metadata)
        return _write_in_turn(run, rows)

    return with_requests(work)


def _write_in_turn(run: WriteRun, rows: SourceRows | None) -> JobResult:
    if run.earlier is None and run.config.is_staged:
        run = run.after_others()
    tries = 0
    while run.earlier is None:
        try:
            result = _write(run, rows)
        except TableChangedError:  # noqa: PERF203 - the source is read again in between
            tries += 1
            if tries == _TRIES or not run.turn.may_wait:
                raise
            run = run.again()
        else:
            serve_after(run, result)
            return replace(result, seconds=run.watch.seconds(), stages=run.watch.stages())
    return run.already(run.earlier)


def _write(run: WriteRun, rows: SourceRows | None) -> JobResult:
    config, named = run.config, run.config.batch.partitions_to_delete
    if config.operation is Operation.DELETE_PARTITION and named is not None:
        return write_at_an_instant(run, partial(delete_partitions, asked=named))
    if rows is None:
        raise InvariantError("a request without a source has no rows to write")
    if config.is_streamed:
        return _write_files(run, partial(_write_streamed, rows=rows))
    with run.watch.stage("key") as noted:
        staged = stage(rows, run.target.keying)
        noted.moved(staged.count_rows, staged.size_bytes)
    run = run.with_failures(staged.failures)
    try:
        is_nothing = not staged.pieces and run.is_nothing(Written(failures=run.failures))
        if is_nothing and not config.acts_without_rows:
            return run.nothing("the source has no rows")
        if config.operation is Operation.DELETE_PARTITION:
            return write_at_an_instant(run, partial(delete_partitions, asked=staged.partitions))
        return _write_files(run, partial(write_staged, staged=staged))
    finally:
        staged.release()


def _write_files(run: WriteRun, write_files: WriteFiles) -> JobResult:
    files = with_slot_replaced(write_files) if run.config.replaces_slot else write_files
    return write_at_an_instant(run, files)


def _write_streamed(begun: Begun, rows: SourceRows) -> Written:
    run, table = begun.run, begun.table
    begun.instant.start(None)
    with run.watch.stage("write") as noted:
        context = run.context(table, begun.instant.instant)
        stats, failures = bulk_insert(
            rows,
            run.target.keying,
            run.config.bulk_insert,
            context,
            save_to=run.failed_storage(),
        )
        note_files(noted, stats)
    partitions = sorted({stat.partition_path or "" for stat in stats})
    replaced = replaced_groups(run, table, partitions)
    return Written(stats=tuple(stats), replaced=replaced, failures=failures)
