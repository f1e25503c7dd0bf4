"""A bootstrap that is planned, carried out at its instants."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pyhudi.actions.bootstrap_index import BootstrapIndex, BootstrappedPartition, SourceFile
from pyhudi.actions.commit import CommitMetadata, WriteStat, stats_by_partition
from pyhudi.config.options.bootstrap import BootstrapMode, SaveMode
from pyhudi.config.options.operations import StoredKeys
from pyhudi.config.table import TableType
from pyhudi.errors import AlreadyExistsError, HudiError, RequestError, StorageError
from pyhudi.jobs.bootstrap import BOOTSTRAP
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.begun import Begun, dropping_saved
from pyhudi.pipeline.bootstrap.duplicates import check_unique_keys
from pyhudi.pipeline.bootstrap.full_records import write_full_records
from pyhudi.pipeline.bootstrap.instants import BootstrapInstants
from pyhudi.pipeline.bootstrap.plan import BootstrapPlan
from pyhudi.pipeline.bootstrap.progress import Progress, rounds
from pyhudi.pipeline.bootstrap.skeletons import (
    Skeleton,
    SkeletonFile,
    SkeletonWork,
    write_skeletons,
)
from pyhudi.pipeline.bootstrap.table import (
    check_save_mode,
    delete_files,
    delete_table,
    existing_table,
    hadoop_uri,
    has_writes,
)
from pyhudi.pipeline.write_run import WriteRun, Written, note_files
from pyhudi.services.recovery import recover
from pyhudi.table.bootstrap_index import bootstrap_index_files
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.properties_file import replace_properties
from pyhudi.table.table import Table, load_made, load_table
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.exclusion import Writer

_log = logging.getLogger(__name__)


def carry_out(plan: BootstrapPlan, run: WriteRun) -> JobResult:
    """Make the table and take the source over; the answer of the job.

    Raises: as ``bootstrap_table``.
    Guarantees: a table that was not there before is not there afterwards where rows of the source
        are refused.
    """
    storage = run.target.storage
    return run.turn.take(lambda: _writer(run, load_table(storage)), lambda: _attempt(plan, run))


def _writer(run: WriteRun, table: Table) -> Writer:
    # Whatever a bootstrap that died has left is in the way of this one.
    return replace(run.writer(table), undoes_dead=True)


def _attempt(plan: BootstrapPlan, run: WriteRun) -> JobResult:
    table, is_made = _prepared(plan, run)
    try:
        return _at_instants(plan, run, table)
    except RequestError:
        if is_made:
            _discard(run)
        raise


def _prepared(plan: BootstrapPlan, run: WriteRun) -> tuple[Table, bool]:
    """The table, empty, with nothing pending, and whether it was made here."""
    storage, config = run.target.storage, run.target.config
    table = existing_table(storage)
    replaces = plan.config.save_mode is SaveMode.OVERWRITE
    if table is not None and replaces and has_writes(table):
        delete_table(_writer(run, table))
        table = None
    elif table is None and replaces:
        delete_files(storage)
    is_made = table is None
    if table is None:
        try:
            create_table(storage, config)
        except AlreadyExistsError:
            is_made = False
        table = load_made(storage)
    writer = _writer(run, table)
    run.drop_saved(*recover(writer))
    table = table.refresh()
    if has_writes(table):
        # Somebody was faster, or an earlier try of this one.
        check_save_mode(table, SaveMode.APPEND)
    if table.config.metadata_partitions:
        disable(table.storage, table.config)
    if table.config.bootstrap_base_path != config.bootstrap_base_path:
        replace_properties(storage, {**table.config.raw, **config.bootstrap_properties})
        table = table.refresh()
    return table, is_made


def _discard(run: WriteRun) -> None:
    """Delete the table that was made for rows that it cannot have."""
    storage = run.target.storage
    try:
        table = load_made(storage)
        if not len(table.timeline.write_instants()):
            delete_files(storage)
    except (HudiError, OSError) as failure:
        _log.warning("%s stays, an empty table: %s", storage.uri, failure)


def _at_instants(plan: BootstrapPlan, run: WriteRun, table: Table) -> JobResult:
    is_delta = table.config.table_type is TableType.MERGE_ON_READ
    action = Action.DELTA_COMMIT if is_delta else Action.COMMIT
    progress = Progress(table.config.name, plan.source.files, "taken over")
    written: dict[BootstrapMode, Written] = {}
    with ExitStack() as held:
        instants = held.enter_context(BootstrapInstants(_writer(run, table), action, plan.modes))
        for mode in plan.modes:
            instant = instants.of(mode)
            if mode is BootstrapMode.METADATA_ONLY:
                written[mode] = _skeletons(plan, run, table, instant.instant, progress)
            else:
                begun = Begun(run=run, instant=instant, table=table, is_expected=True)
                held.enter_context(dropping_saved(run, instant.instant))
                written[mode] = write_full_records(begun, plan, progress)
        if run.config.batch.stored_keys is StoredKeys.FAIL:
            _check_unique(run, table, written)
        with run.watch.stage("commit"):
            for mode, each in written.items():
                if mode is BootstrapMode.FULL_RECORD:
                    each.failures.save(run.failed_storage(), instants.of(mode).instant)
            completed = instants.complete(
                {mode: _said(run, mode, each) for mode, each in written.items()}
            )
    return _result(run, table, completed, written)


def _check_unique(run: WriteRun, table: Table, written: dict[BootstrapMode, Written]) -> None:
    stats = [stat for each in written.values() for stat in each.stats]
    is_global = run.config.index.index_type.is_global
    with run.watch.stage("unique"):
        check_unique_keys(run.runner, table.storage, stats, is_global=is_global)


def _skeletons(
    plan: BootstrapPlan, run: WriteRun, table: Table, instant: str, progress: Progress
) -> Written:
    """The skeletons of all partitions that get some, and the index that says whose they are."""
    files = [
        SkeletonFile(partition=partition, source=source)
        for partition in plan.of(BootstrapMode.METADATA_ONLY)
        for source in partition.files
    ]
    made: list[Skeleton] = []
    with run.watch.stage("skeletons") as noted, run.runner.hearing(progress.hear) as tell:
        work = SkeletonWork.of(
            plan.source.storage,
            run.context(table, instant),
            run.target.data_schema,
            plan.keying.generator,
            tell,
        )
        for some in rounds(files, run.runner.parallelism):
            made += write_skeletons(run.runner, work, some, plan.config.parallelism)
            progress.finish([each.source for each in some])
        note_files(noted, [each.stat for each in made])
    with run.watch.stage("index"):
        index = _index(plan, made, run.environment.clock.now_ms())
        for path, data in bootstrap_index_files(index).items():
            table.storage.put(path, data)
    return Written(stats=tuple(each.stat for each in made))


def _index(plan: BootstrapPlan, made: Sequence[Skeleton], now_ms: int) -> BootstrapIndex:
    storage = plan.source.storage
    by_partition: dict[str, dict[str, SourceFile]] = defaultdict(dict)
    for each in made:
        file = each.source.file
        by_partition[each.partition.path][each.stat.file_id or ""] = SourceFile(
            path=hadoop_uri(storage, file.path),
            size_bytes=file.size_bytes,
            modified_ms=file.modified_ms,
            accessed_ms=file.modified_ms,
        )
    return BootstrapIndex(
        source_base_path=hadoop_uri(storage, ""),
        created_ms=now_ms,
        partitions={
            each.path: BootstrappedPartition(
                partition_path=each.path,
                source_partition=each.source_path,
                files=by_partition[each.path],
            )
            for each in plan.of(BootstrapMode.METADATA_ONLY)
        },
    )


def _said(
    run: WriteRun, mode: BootstrapMode, written: Written
) -> tuple[CommitMetadata, frozenset[str]]:
    """What the instant of a mode says, and the paths of its files.

    Source: SparkBootstrapCommitActionExecutor, Hudi 0.15 and 1.1: rows come by a bulk insert.
    """
    stats = written.failures.on(written.stats)
    metadata = run.metadata(stats_by_partition(stats))
    if mode is BootstrapMode.METADATA_ONLY:
        metadata = replace(metadata, operation_type=BOOTSTRAP.upper())
    return metadata, frozenset(stat.path for stat in stats if stat.path)


def _result(
    run: WriteRun, table: Table, completed: Instant, written: dict[BootstrapMode, Written]
) -> JobResult:
    stats: list[WriteStat] = [stat for each in written.values() for stat in each.stats]
    failures = written[list(written)[-1]].failures
    try:
        at = table.active.completion_time(completed)
    except StorageError as failure:
        _log.warning("when instant %s completed is not known: %s", completed.time, failure)
        at = None
    return run.result(
        "committed", completed.time, at, Written(stats=tuple(stats), failures=failures)
    )
