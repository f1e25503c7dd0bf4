"""Rows of the source into files of the table, the way of a bulk insert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyhudi.config.options.bootstrap import BootstrapMode
from pyhudi.config.write import BulkInsertSortMode
from pyhudi.pipeline.batch.staging import stage
from pyhudi.pipeline.begun import Begun
from pyhudi.pipeline.bootstrap.dataset.partitions import TakenPartition
from pyhudi.pipeline.bootstrap.dataset.rows import DatasetRows, dataset_rows
from pyhudi.pipeline.bootstrap.plan import BootstrapPlan
from pyhudi.pipeline.bootstrap.progress import Progress, RowProgress, rounds
from pyhudi.pipeline.files.bulk import bulk_insert
from pyhudi.pipeline.staged import write_staged
from pyhudi.pipeline.write_run import Written, note_files
from pyhudi.runner.task import Tell


def write_full_records(begun: Begun, plan: BootstrapPlan, progress: Progress) -> Written:
    """Write the rows of the partitions whose mode asks for it, in the sort mode of the request.

    Raises: as ``bulk_insert``.
    """
    partitions, runner = plan.of(BootstrapMode.FULL_RECORD), begun.run.runner
    files = [file for partition in partitions for file in partition.files]
    is_plain = plan.write.bulk_insert.sort_mode is BulkInsertSortMode.NONE
    if begun.run.config.is_streamed and is_plain:
        return _streamed(begun, plan, progress, progress)
    # Rows are read whole before the first is written.
    table = plan.target.config.name
    read, rows = Progress(table, files, "read"), RowProgress(table, files)
    with runner.hearing(rows.hear) as tell:
        begun = replace(begun, run=replace(begun.run, tell=tell))
        if begun.run.config.is_streamed:
            written = _streamed(begun, plan, read, progress)
        else:
            written = _staged(begun, plan, read)
    progress.finish(files)
    return written


def _staged(begun: Begun, plan: BootstrapPlan, read: Progress) -> Written:
    run, partitions = begun.run, plan.of(BootstrapMode.FULL_RECORD)
    with run.runner.hearing(read.hear) as tell:
        staged = stage(_rows(begun, plan, partitions, tell), run.target.keying)
    try:
        return write_staged(replace(begun, run=run.with_failures(staged.failures)), staged)
    finally:
        staged.release()


def _streamed(begun: Begun, plan: BootstrapPlan, read: Progress, done: Progress) -> Written:
    """A bulk insert, of which ``read`` hears what is read, and ``done`` what is in files."""
    run, partitions = begun.run, plan.of(BootstrapMode.FULL_RECORD)
    written = Written()
    with run.watch.stage("write") as noted, run.runner.hearing(read.hear) as tell:
        for some in _rounds(plan, partitions, run.runner.parallelism):
            stats, failures = bulk_insert(
                _rows(begun, plan, some, tell),
                run.target.keying,
                run.config.bulk_insert,
                run.context(begun.table, begun.instant.instant),
                save_to=run.failed_storage(),
            )
            # Rows that fail are told in the one round there is then.
            written = Written(stats=(*written.stats, *stats), failures=failures)
            done.finish([file for partition in some for file in partition.files])
        note_files(noted, written.stats)
    return written


def _rows(
    begun: Begun, plan: BootstrapPlan, partitions: Sequence[TakenPartition], tell: Tell
) -> DatasetRows:
    return dataset_rows(begun.run.runner, plan.source.storage, partitions, plan.rows, tell)


def _rounds(
    plan: BootstrapPlan, partitions: Sequence[TakenPartition], parallelism: int
) -> Iterator[Sequence[TakenPartition]]:
    """Partitions at a time; all of them where rows are sorted or failures are counted together."""
    is_plain = plan.write.bulk_insert.sort_mode is BulkInsertSortMode.NONE
    if not is_plain or plan.write.failures.is_saving:
        yield partitions
        return
    yield from rounds(partitions, parallelism)
